package golang_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/golang"
)

func TestScenarios(t *testing.T) {
	mod := "module m.org/m\n\ngo 1.22\n\nrequire ext.org/x v1.0.0\n"
	pkg := func(name string, imports ...string) string {
		text := "package " + name + "\n"
		for _, i := range imports {
			text += "\nimport _ \"" + i + "\"\n"
		}
		return text
	}
	base := conflicttest.New(map[string]string{
		"go.mod": mod, "go.sum": "ext.org/x v1.0.0 h1:a\n",
		"a/a.go": pkg("a", "m.org/m/b"), "a/empty.txt": "", "a/data.txt": "data",
		"b/b.go": pkg("b"), "c/c.go": pkg("c"), "ext/ext.go": pkg("ext", "ext.org/x/y"),
		"web/web.go": pkg("web"), "web/static/page/one.html": "1", "web/static/deep/two.html": "2",
		"emb/emb.go": "package emb\n\nimport _ \"embed\"\n\n//go:embed all:files\nvar x string\n", "emb/files/one.txt": "1",
	})
	embeds := base.With("web/web.go", "package web\n\nimport _ \"embed\"\n\n//go:embed static\nvar x string\n")
	conflicttest.Suite{Base: base, Analyze: func(tree conflict.Tree) (*conflict.Snapshot, error) {
		return conflict.Analyze(t.Context(), golang.New(golang.Options{}), settings, tree)
	}, Tool: list, Given: map[string]conflicttest.Scenario{
		"a condition and its flag": {One: base.With("b/tagged.go", "//go:build extra\n\n"+pkg("b", "m.org/m/c")), Affected: "./a ./b",
			Other: base.With("c/c.go", pkg("c")+"// more\n"), Conflict: true}, // each tag counts as on and off
		"a listing and a new file":                     {One: embeds, Affected: "./web", Other: base.With("web/static/new/three.html", "3"), Conflict: true},
		"lines of a definition shift":                  {One: base.With("go.mod", "// hello\n\n"+mod+"\n"), Affected: "./ext"}, // users of another module read it as text
		"an empty file is deleted":                     {One: base.Without("a/empty.txt"), Affected: "./a"},
		"an executable bit is flipped":                 {One: base.WithMode("a/data.txt", "100755", "data"), Affected: "./a"},
		"a file moves between targets":                 {One: base.Without("a/data.txt").With("c/data.txt", "data"), Affected: "./a ./c"},
		"a dependency is reversed":                     {One: base.With("a/a.go", pkg("a")).With("b/b.go", pkg("b", "m.org/m/a")), Affected: "./a ./b", Other: base.With("a/new.txt", ""), Conflict: true},
		"a cycle of two changes":                       {One: base.With("b/b.go", pkg("b", "m.org/m/c")), Affected: "./a ./b", Other: base.With("c/c.go", pkg("c", "m.org/m/b")), Conflict: true},
		"each adds one target":                         {One: base.With("n/n.go", pkg("n")), Affected: "./n", Other: base.With("n/other.go", pkg("n")), Conflict: true},
		"one deletes what the other starts to use":     {One: base.Without("c"), Affected: "", Other: base.With("b/b.go", pkg("b", "m.org/m/c")), Conflict: true},
		"a directory that is looked into gains a file": {One: base.With("emb/files/two.txt", "2"), Affected: "./emb"},
		"a nested package appears":                     {One: base.With("emb/files/go.mod", "module m.org/n\n\ngo 1.22\n"), Affected: "*", Other: base.With("emb/files/two.txt", "2"), Conflict: true},
		"the lock file only":                           {One: base.With("go.sum", strings.ReplaceAll("ext.org/x v1.0.0 h1:a\n", "h1:a", "h1:b")), Affected: "./ext"},
		"a broken definition":                          {One: base.With("go.mod", "modul\n"), Unknown: "go.mod"},
	}}.Run(t)
}

// list asks the go command what each package is made of.
func list(t *testing.T, dir string) (map[string]string, error) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-test", "-f", "{{.Dir}}\t{{.GoFiles}} {{.Deps}} {{.EmbedFiles}} {{.Error}} {{.DepsErrors}}", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	facts := map[string]string{}
	for line := range strings.Lines(string(out)) {
		at, text, _ := strings.Cut(line, "\t")
		if rel, err := filepath.Rel(dir, at); err == nil {
			facts["./"+filepath.ToSlash(rel)] += text
		}
	}
	return facts, err
}
