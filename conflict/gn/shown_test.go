package gn_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// A definition file is loaded under its own name only: what it needs is known for that
// name, and the command of a tool may be in a file that it imports.
func TestImportsThroughAFolderThatIsALink(t *testing.T) {
	p := mustOpen(t, 1)
	main := shop().With("real/tools.gni", "import(\"//real/flags.gni\")\n").With("real/flags.gni", "copy_command = \"cp\"\n").
		WithMode("link", conflict.ModeLink, "real").
		With("d/BUILD.gn", "import(\"//real/flags.gni\")\nassert(copy_command != \"\")\nstatic_library(\"d\") {\n  sources = [ \"d.cc\" ]\n}\n")
	for name, want := range map[string]string{"real": "//:all //a:a //b:act //b:b //c:c //d:d", "link": ""} {
		main := main.With("build/BUILD.gn", "import(\"//"+name+"/tools.gni\")\n"+strings.Replace(toolchain, "command = \"cp {{source}}", "command = \"$copy_command {{source}}", 2))
		before, after := analyze(t, p, main), analyze(t, p, main.With("real/flags.gni", "copy_command = \"false\"\n"))
		if want == "" {
			if !strings.Contains(before.Unknown, "//link: it is a link to a folder with definition files, such as //real/flags.gni") {
				t.Errorf("unknown %q", before.Unknown)
			}
			continue
		}
		f := conflict.FootprintOf(mustKnow(t, before), mustKnow(t, after), "main")
		if got := strings.Join(slices.Sorted(slices.Values(f.Affected)), " "); got != want {
			t.Errorf("%s: affected %q", name, got)
		}
	}
}

// Nothing outside of the tree is read into a message: not by a relative name in a
// template, which is relative to the file that uses it, or in a file that a link gives
// another name, and not by a label that leads out of the tree.
func TestMessagesShowNothingOfTheServer(t *testing.T) {
	p := mustOpen(t, 1)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "BUILD.gn"), []byte("password = \"hush_hush\"\n"), 0o600))
	up, deep := strings.Repeat("../", 30), strings.Repeat("d/", 31)
	read := "assert(false, read_file(\"" + up + strings.TrimPrefix(dir, "/") + "/BUILD.gn\", \"string\"))"
	user := "static_library(\"d\") {\n  sources = [ \"d.cc\" ]\n}\n"
	for name, tree := range map[string]*conflicttest.Tree{
		"a template":  shop().With(deep+"x.gni", "template(\"t\") {\n"+read+"\n}\n").With("d/BUILD.gn", "import(\"//"+deep+"x.gni\")\nt(\"d\") {}\n"),
		"a link":      shop().With(deep+"x.gni", read+"\n").WithMode("link", conflict.ModeLink, strings.TrimSuffix(deep, "/")).With("d/BUILD.gn", "import(\"//link/x.gni\")\n"+user),
		"a label":     shop().With("d/BUILD.gn", user+"group(\"e\") { deps = [ \""+dir+":x\" ] }\n"),
		"up":          shop().With("d/BUILD.gn", user+"group(\"e\") { deps = [ \"//"+up+strings.TrimPrefix(dir, "/")+":x\" ] }\n"),
		"a long tail": shop().With("d/BUILD.gn", user+"group(\"e\") { deps = [ \""+dir+":x\" ] } #"+strings.Repeat("x", 5000)+"\n"),
	} {
		if s := analyze(t, p, tree); s.Unknown == "" || strings.Contains(s.Unknown, "hush") {
			t.Errorf("%s: unknown %q", name, s.Unknown)
		} else {
			t.Logf("%s: %s", name, s.Unknown)
		}
	}
}
