package golang

import (
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScan(t *testing.T) {
	linux, windows := newPlatform("linux", "amd64"), newPlatform("windows", "arm64")
	tests := []struct {
		name, src string
		want      scan
		windows   bool // builds there
	}{
		{"plain", "package p\n\nimport (\n\t\"fmt\"\n\tx \"m/x\"\n)\n", scan{imports: []string{"fmt", "m/x"}, builds: true}, true},
		{"broken", "packag p\n", scan{broken: true, builds: true}, true},
		{"broken below the imports", "package p\n\nimport \"m/x\"\n\nfunc {", scan{imports: []string{"m/x"}, builds: true}, true},
		{"a script", "//go:build ignore\n\npackage main\n", scan{script: true}, false},
		{"a script for some", "// A comment.\n\n//go:build (ignore && linux) || (ignore && darwin)\n\npackage main\n", scan{script: true}, false},
		{"not a script", "//go:build ignore || linux\n\npackage p\n", scan{builds: true}, false},
		{"no script", "//go:build !ignore\n\npackage p\n", scan{builds: true}, true},
		{"a tool", "//go:build tools\n\npackage p\n", scan{}, false},
		{"unix", "//go:build unix && go1.99 && gc && cgo\n\npackage p\n", scan{builds: true}, false},
		{"a broken constraint", "//go:build (\n\npackage p\n", scan{builds: true}, true},
		{"a constraint too late", "package p\n\n//go:build ignore\n\nimport \"C\"\n", scan{imports: []string{"C"}, builds: true}, true},
		{"an old script", "// A comment.\n\n// +build ignore\n\npackage main\n", scan{script: true}, false},
		{"old lines", "// +build windows,arm64 darwin\n// +build gc\n\n// Package p.\npackage p\n", scan{}, true},
		{"a new line over old ones", "//go:build linux\n// +build windows\n\npackage p\n", scan{builds: true}, false},
		{"an old line too late", "// +build windows\npackage p\n", scan{builds: true}, true},
		{"an old line under a comment of another kind", "/* x */\n\n// +build windows\n\npackage p\n", scan{builds: true}, true},
		{"embeds", "package p\n\nimport _ \"embed\"\n\n//go:embed a b/*.c \"d e\" `f`\n\t//go:embed all:g\n//go:embedded no\n//go:embed\n//go:embed \"open\n//go:embed \"x\\q\" y\nvar x string\n",
			scan{imports: []string{"embed"}, embeds: []string{"a", "b/*.c", "d e", "f", "all:g"}, builds: true}, true},
		{"strings that lead away", "package p\n\nvar x = f(\"../a/b.txt\", `../c`, join(\"..\", \"..\"), join(\"../..\", \"d\",\n\t\"e.txt\"), \"../f/g-%s.txt\", \"../*.h\", \"../i\\n\", \"j/../k\", \"..\", y...)\n",
			scan{away: []string{"..", "../..", "../../d/e.txt", "../a/b.txt", "../c", "../f", "e.txt", "k/"}, builds: true}, true},
		{"strings that lead down", "package p\n\nimport \"net/http\"\n\nvar x = f(\"a/b.txt\", `./c`, filepath.Join(x, y(1), \"d\", \"e\"), \"f/%d\", \"g\", \"h.txt\", \"http://i/j\", \"k l/m\", \"n/o\\n\", \"./...\", \"/p\")\n",
			scan{imports: []string{"net/http"}, away: []string{"a/b.txt", "c/", "d/e", "f/"}, builds: true}, true},
		{"names behind a string that leads up", "package p\n\nvar x = f(\"..\", y, \"h.txt\", \"g\", \"/p/q\")\n",
			scan{away: []string{"..", "h.txt", "p/q"}, builds: true}, true},
		{"no embeds without the import", "package p\n\n//go:embed a\nvar x string\n", scan{builds: true}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := linux.scan([]byte(tt.src), true)
			if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(scan{})); d != "" {
				t.Error(d)
			}
			if on := windows.scan([]byte(tt.src), false).builds; on != tt.windows {
				t.Errorf("builds on Windows: %v", on)
			}
		})
	}
}

func TestTags(t *testing.T) {
	for os, tags := range map[string][]string{
		"android": {"android", "linux", "unix"}, "ios": {"ios", "darwin", "unix"}, "js": {"js"},
	} {
		p := newPlatform(os, "arm64")
		for _, tag := range tags {
			if !p.tag(tag) {
				t.Errorf("%s: no tag %s", os, tag)
			}
		}
		if os == "js" && p.tag("unix") || p.tag("windows") {
			t.Errorf("%s: a tag too many", os)
		}
		if !p.named("x_"+os+".go") || p.named("x_windows.go") {
			t.Errorf("%s: a file's name is not honoured", os)
		}
	}
}

// FuzzScan holds that no input breaks the scanner, and that it finds every
// import of a file that parses whole, and every pattern.
func FuzzScan(f *testing.F) {
	for _, src := range []string{
		"package p\n\nimport \"fmt\"\n",
		"//go:build ignore\n\npackage p\n\nimport _ \"embed\"\n\n//go:embed a \"b\" `c`\nvar x string\n",
		"\ufeffpackage p; import ( . \"a\"; b `b` )",
		"package p\n/*\n//go:embed x\n*/\n",
		"",
	} {
		f.Add(src)
	}
	p := newPlatform("linux", "amd64")
	f.Fuzz(func(t *testing.T, src string) {
		got := p.scan([]byte(src), true)
		file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
		if err != nil {
			return
		}
		if got.broken {
			t.Fatalf("a file that parses is broken: %q", src)
		}
		var want []string
		for _, i := range file.Imports {
			imp, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return
			}
			want = append(want, imp)
		}
		if d := cmp.Diff(want, got.imports); d != "" {
			t.Fatal(d)
		}
		for _, e := range got.embeds {
			if !strings.Contains(src, "//go:embed") || e == "" && !strings.Contains(src, `""`) && !strings.Contains(src, "``") {
				t.Fatalf("a pattern from nowhere: %q", e)
			}
		}
	})
}
