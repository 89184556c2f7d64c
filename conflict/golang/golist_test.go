package golang_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/golang"
)

// workspace is a repository with what is easy to get wrong.
var workspace = map[string]string{
	"go.mod":                     "module example.com/mod\n\ngo 1.22\n\nrequire example.com/nested v0.0.0\n\nreplace example.com/nested => ./nested\n",
	"root.go":                    "package mod\n\nimport _ \"example.com/mod/a\"\n",
	"Makefile":                   "all:\n",
	"a/a.go":                     "package a\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/mod/b\"\n)\n\n//go:embed data/*.txt\nvar X string\n\nvar _ = b.B\n",
	"a/data/one.txt":             "1",
	"a/data/skip.bin":            "0",
	"a/a_test.go":                "package a_test\n\nimport (\n\t\"testing\"\n\n\t_ \"example.com/mod/a\"\n\t\"example.com/mod/c\"\n)\n\nfunc TestA(t *testing.T) { _ = c.C }\n",
	"a/testdata/in.json":         "{}",
	"a/notes.txt":                "n",
	"b/b.go":                     "package b\n\nvar B = 1\n",
	"b/b_windows.go":             "package b\n\nimport _ \"example.com/mod/win\"\n",
	"b/gen.go":                   "//go:build ignore\n\npackage main\n\nimport _ \"example.com/mod/c\"\n\nfunc main() {}\n",
	"win/win_windows.go":         "package win\n",
	"c/c.go":                     "package c\n\nimport (\n\t_ \"example.com/mod/b\"\n\t_ \"example.com/nested/n\"\n)\n\nvar C = 1\n",
	"c/internal_test.go":         "package c\n\nimport _ \"example.com/mod/d\"\n",
	"d/d.go":                     "package d\n",
	"d/testdata/src/x/broken.go": "not go",
	"nested/go.mod":              "module example.com/nested\n\ngo 1.22\n",
	"nested/n/n.go":              "package n\n\nimport _ \"example.com/nested/m\"\n",
	"nested/m/m.go":              "package m\n",
	"alone/go.mod":               "module example.com/alone\n\ngo 1.22\n",
	"alone/alone.go":             "package alone\n",
	"config/prod.yaml":           "port: 1\n",
}

// listed is what `go list -test -deps -json` says of a package.
type listed struct {
	ImportPath, ForTest, Dir string
	Imports                  []string
	Standard                 bool
	GoFiles, EmbedFiles      []string
	Module                   struct{ Main bool }
}

func TestNoEdgeOfGoListIsMissing(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	dir := t.TempDir()
	for name, content := range workspace {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(content), 0o644))
	}
	edges, files := compare(t, dir, conflicttest.New(workspace), "./...", "example.com/nested/...")
	if edges < 8 || files < 1 {
		t.Fatalf("only %d edges and %d embedded files were compared", edges, files)
	}
}

// compare holds the graph of a tree against what the go command lists in a
// folder with the same files. It returns what it has compared.
func compare(t *testing.T, dir string, tree conflict.Tree, patterns ...string) (edges, files int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-test", "-deps", "-json"}, patterns...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	must(t, err)

	nodes, aliases := map[string]conflict.Target{}, map[string]string{}
	for _, n := range mustGraph(t, tree).Targets {
		nodes[n.Name] = n
		if n.Alias != "" {
			aliases[n.Alias] = n.Name
		}
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listed
		must(t, dec.Decode(&p))
		path, _, _ := strings.Cut(p.ImportPath, " ")
		target, ok := aliases[strings.TrimSuffix(path, "_test")]
		if !ok {
			if !p.Standard && p.Module.Main && len(p.GoFiles) > 0 && !strings.HasSuffix(path, ".test") && !strings.Contains(path, "/testdata/") {
				t.Errorf("no target for the package %s", p.ImportPath)
			}
			continue
		}
		from := "lib:" + target
		if p.ForTest != "" {
			from = target
		}
		below := closure(nodes, from)
		for _, imp := range p.Imports {
			imp, _, _ = strings.Cut(imp, " ")
			if to, ok := aliases[imp]; ok {
				edges++
				if !below["lib:"+to] {
					t.Errorf("%s imports %s: no path from %s to lib:%s", p.ImportPath, imp, from, to)
				}
			}
		}
		for _, f := range p.EmbedFiles {
			files++
			rel, err := filepath.Rel(dir, filepath.Join(p.Dir, f))
			must(t, err)
			if !owns(nodes[from], filepath.ToSlash(rel)) && !owns(nodes["lib:"+target], filepath.ToSlash(rel)) {
				t.Errorf("%s does not own the embedded file %s", from, rel)
			}
		}
	}
	return edges, files
}

func closure(nodes map[string]conflict.Target, from string) map[string]bool {
	seen := map[string]bool{}
	for todo := []string{from}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[n] {
			seen[n] = true
			todo = append(todo, nodes[n].Deps...)
		}
	}
	return seen
}

func owns(n conflict.Target, path string) bool {
	for _, e := range n.Sources {
		if e.Path == path {
			return true
		}
	}
	return false
}

func mustGraph(t testing.TB, tree conflict.Tree) *conflict.Graph {
	t.Helper()
	g, err := golang.New(golang.Options{}).Graph(context.Background(), tree)
	must(t, err)
	return g
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
