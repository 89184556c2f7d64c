package gn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/gn"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue/config"
)

// includes is a shop in which d includes nothing yet, and e has what it may include.
func includes() *conflicttest.Tree {
	return shop().With("BUILD.gn", `group("all") { deps = [ "//a", "//b:act", "//c", "//d", "//e", "//f" ] }`).
		With("e/BUILD.gn", "config(\"dirs\") {\n  include_dirs = [ \"api\" ]\n}\nstatic_library(\"e\") {\n  sources = [ \"api/e.h\", \"deep.h\", \"e.cc\" ]\n  inputs = [ \"e.proto\", \"table.inc\" ]\n}\n").
		With("e/api/e.h", "#include \"../deep.h\"\n").With("e/deep.h", "").With("e/e.cc", "").With("e/e.proto", "").With("e/table.inc", "").
		With("f/BUILD.gn", "static_library(\"f\") {\n  sources = [ \"f.cc\", \"f.h\" ]\n  deps = [ \"//e\" ]\n}\n").With("f/f.cc", "").With("f/f.h", "#include \"e/deep.h\"\n").
		WithMode("way", conflict.ModeLink, "e")
}

// A source that includes a file of a target on which its own does not depend is compiled with
// it all the same, where the compiler looks into the folder: GN says so only in `gn check`.
func TestWhatIsIncludedWithoutADependency(t *testing.T) {
	p := mustOpen(t, 1)
	main := includes()
	const all = "//:all "
	for name, x := range map[string]struct{ text, build, edit, want string }{
		"from the root":             {text: "#include \"e/deep.h\"\n", edit: "e/deep.h", want: "//d:d //e:e //f:f"},
		"beside":                    {text: "  #  include <../e/deep.h>\n", edit: "e/deep.h", want: "//d:d //e:e //f:f"},
		"in turn":                   {text: "#import \"e/api/e.h\"\n", edit: "e/deep.h", want: "//d:d //e:e //f:f"},
		"by a folder":               {text: "#include <e.h>\n", build: "configs = [ \"//e:dirs\" ]", edit: "e/api/e.h", want: "//d:d //e:e //f:f"},
		"by a flag":                 {text: "#include <e.h>\n", build: "cflags = [ \"-I\" + rebase_path(\"//e/api\", root_build_dir) ]", edit: "e/api/e.h", want: "//d:d //e:e //f:f"},
		"by two flags":              {text: "#include <e.h>\n", build: "cflags = [ \"-isystem\", rebase_path(\"//e/api\") ]", edit: "e/api/e.h", want: "//d:d //e:e //f:f"},
		"a part of a list":          {text: "int x[] = {\n#include \"e/table.inc\"\n};\n", edit: "e/table.inc", want: "//d:d //e:e //f:f"},
		"into an assembler's":       {text: "  .incbin \"e/table.inc\"\n", edit: "e/table.inc", want: "//d:d //e:e //f:f"},
		"an interface":              {text: "import public \"e/e.proto\";\n", edit: "e/e.proto", want: "//d:d //e:e //f:f"},
		"through a link":            {text: "#include \"way/deep.h\"\n", edit: "e/deep.h", want: "//d:d //e:e //f:f"},
		"of a dependency's":         {text: "#include \"f/f.h\"\n", build: "deps = [ \"//f\" ]", edit: "e/deep.h", want: "//d:d //e:e //f:f"},
		"no source of the other":    {text: "#include \"e/deep.h\"\n", edit: "e/e.cc", want: "//e:e //f:f"},
		"no other header":           {text: "#include \"e/deep.h\"\n", edit: "e/api/e.h", want: "//e:e //f:f"},
		"nothing that is not there": {text: "#include <vector>\n#include \"e/none.h\"\n#include \"../../../x.h\"\n", edit: "e/deep.h", want: "//e:e //f:f"},
	} {
		tree := main.With("d/d.cc", x.text).With("d/BUILD.gn", "static_library(\"d\") {\n  sources = [ \"d.cc\" ]\n  "+x.build+"\n}\n")
		before := mustKnow(t, analyze(t, p, tree))
		f := conflict.FootprintOf(before, mustKnow(t, analyze(t, p, tree.With(x.edit, tree.Content(x.edit)+"// 2\n"))), "main")
		if got := strings.Join(slices.Sorted(slices.Values(f.Affected)), " "); got != all+x.want {
			t.Errorf("%s: affected %q, want %q", name, got, all+x.want)
		}
	}
}

// One change includes a header, another edits it.
func TestAnIncludeAndAnEditMeet(t *testing.T) {
	p, main := mustOpen(t, 1), includes().With("BUILD.gn", `group("d") { deps = [ "//d" ] }
group("rest") { deps = [ "//a", "//b:act", "//c", "//e", "//f" ] }`)
	before := mustKnow(t, analyze(t, p, main))
	x := index.New()
	x.Put("includes", conflict.FootprintOf(before, mustKnow(t, analyze(t, p, main.With("d/d.cc", "#include \"e/deep.h\"\n"))), "main"))
	x.Put("edits", conflict.FootprintOf(before, mustKnow(t, analyze(t, p, main.With("e/deep.h", "// 2\n"))), "main"))
	x.Put("edits another", conflict.FootprintOf(before, mustKnow(t, analyze(t, p, main.With("e/e.cc", "// 2\n"))), "main"))
	if !x.Conflict("includes", "edits") || x.Conflict("includes", "edits another") {
		t.Errorf("conflicts of the include: %+v", x.Conflicts("includes"))
	}
}

// A text that cannot be read is an error, and so is nothing else that is included.
func TestIncludesThatCannotBeRead(t *testing.T) {
	p := mustOpen(t, 1)
	tree := includes().With("d/d.cc", "#include \"gone.h\"\n#include \"round\"\n").WithMode("round", conflict.ModeLink, "round").WithMode("sub", conflict.ModeSubmodule, "1").
		WithMode("d/l.cc", conflict.ModeLink, "../e/e.cc").With("d/BUILD.gn", "static_library(\"d\") {\n  sources = [ \"d.cc\", \"l.cc\", \"//sub/x.cc\" ]\n  inputs = [ \"//round\" ]\n}\n")
	mustKnow(t, analyze(t, p, tree))
}

// A tree whose sources include more than anybody writes is one target. Folders that are not
// there cost nothing.
func TestSourcesThatIncludeTooMuch(t *testing.T) {
	p := mustOpen(t, 1)
	text := ""
	for i := range 50 {
		text += fmt.Sprintf("#include \"none%d.h\"\n", i)
	}
	dirs := func(prefix string) string {
		list := ""
		for i := range 20 {
			list += fmt.Sprintf("\"%s%d\", ", prefix, i)
		}
		return "static_library(\"d\") {\n  sources = [ \"d.cc\" ]\n  include_dirs = [ " + list + "]\n}\n"
	}
	main := includes().With("d/d.cc", text)
	for i := range 20 {
		main = main.With(fmt.Sprintf("dirs/x%d/x.txt", i), "")
	}
	a := gn.New(20*time.Second, p)
	a.Bound(500)
	for prefix, want := range map[string]string{"//dirs/x": "include too many files", "//none/x": ""} {
		s, err := conflict.Analyze(t.Context(), a, config.Analysis{}, main.With("d/BUILD.gn", dirs(prefix)))
		if err != nil || !strings.Contains(s.Unknown, want) || (s.Unknown == "") != (want == "") {
			t.Errorf("in folders %s: unknown %q, %v; want %q", prefix, s.Unknown, err, want)
		}
	}
}
