package golang_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/golang"
)

// The places and contents of random trees: few enough that they meet.
var (
	randomDirs = []string{"", "a", "a/b", "a/b/c", "d", "n", "n/a", "n/m", "n/m/a", "a/testdata", "a/testdata/x", "a/_t", "_t", "vendor/v.org/v",
		"n/vendor/v.org/v", "a/vendor", "e", "e/e", "sp ace", "a/b/testdata", "testdata/y"}
	randomNames = []string{"a.go", "b.go", "a_test.go", "w_windows.go", "x.h", "x.s", "l.so", "t.txt", ".dot", "_u.go", "go.sum", "link", "link.go", "b"}
	randomPaths = []string{"m.org/m", "m.org/m/a", "m.org/m/a/b", "m.org/m/d", "m.org/m/new", "m.org/m/a/testdata/x", "m.org/m/_t", "m.org/m/link", "m.org/m/link/a",
		"m.org/m/a/b/c", "m.org/m/vendor/v.org/v", "m.org/m/testdata/y", "n.org/n", "n.org/n/a", "n.org/n/m", "o.org/o", "o.org/o/a", "v.org/v", "plain/x", "fmt", "C", "embed", "e.org/x"}
	randomEmbeds  = []string{"t.txt", "b", "*.txt", "testdata", "all:.", "b/*", "../x", "nothing", "x*/t.txt", "testdata/*/t.txt", "link"}
	randomHeads   = []string{"", "", "", "//go:build ignore\n\n", "//go:build windows\n\n", "//go:build linux || ignore\n\n"}
	randomLinks   = []string{"a.go", "../a", "..", "/etc", "link", "b/t.txt", "../d/a.go", "x/../a.go", "../../out", "testdata", "go.mod"}
	randomModules = []string{"m.org/m", "m.org/m", "n.org/n", "n.org/n", "o.org/o", "m.org/m/a"}
	randomLines   = []string{"go 1.22\n", "go 1.23\n", "require e.org/x v1.0.0\n", "require e.org/x v1.0.1\n", "require plain v1.0.0\n", "require n.org/n v0.0.0\n",
		"replace n.org/n => ./n\n", "replace o.org/o => ../n/m\n", "replace e.org/x => f.org/x v1.0.0\n", "exclude e.org/x v1.0.2\n", "replace m.org/m/a => ./a\n", "tool m.org/m/a\n"}
	randomWorks = []string{"use .\n", "use ./n\n", "use ./n/m\n", "replace o.org/o => ./n/m\n", "go 1.22\n", "broken\n"}
)

func draw(r *rapid.T, what string, from []string) string {
	return rapid.SampledFrom(from).Draw(r, what)
}

func some(r *rapid.T, what string, from []string, most int) []string {
	return rapid.SliceOfN(rapid.SampledFrom(from), 0, most).Draw(r, what)
}

func randomGo(r *rapid.T) string {
	if rapid.IntRange(0, 19).Draw(r, "broken") == 0 {
		return "pack age"
	}
	s := draw(r, "head", randomHeads) + "package p\n\nimport (\n"
	embeds := some(r, "embeds", randomEmbeds, 1)
	for _, imp := range some(r, "imports", randomPaths, 3) {
		s += fmt.Sprintf("\t_ %q\n", imp)
	}
	if len(embeds) > 0 {
		s += "\t_ \"embed\"\n"
	}
	s += ")\n"
	for _, e := range embeds {
		s += "\n//go:embed " + e + "\nvar X string\n"
	}
	return s
}

func randomMod(r *rapid.T) string {
	if rapid.IntRange(0, 19).Draw(r, "broken") == 0 {
		return "modul"
	}
	return "module " + draw(r, "module", randomModules) + "\n" + strings.Join(some(r, "lines", randomLines, 3), "")
}

// randomFile puts a file of any kind somewhere.
func randomFile(r *rapid.T, tree *conflicttest.Tree) *conflicttest.Tree {
	at := path.Join(draw(r, "dir", randomDirs), draw(r, "name", randomNames))
	if tree.Content(at) == "" {
		tree = tree.Without(at)
	}
	for d := path.Dir(at); d != "."; d = path.Dir(d) { // nothing is below a file
		for _, p := range tree.Paths() {
			if p == d {
				tree = tree.Without(d)
			}
		}
	}
	content := fmt.Sprint(rapid.IntRange(0, 3).Draw(r, "content"))
	switch rapid.IntRange(0, 11).Draw(r, "mode") {
	case 0:
		return tree.WithMode(at, conflict.ModeLink, draw(r, "goal", randomLinks))
	case 1:
		return tree.WithMode(at, conflict.ModeSubmodule, content)
	case 2:
		return tree.WithMode(at, "100755", content)
	}
	if strings.HasSuffix(at, ".go") {
		content = randomGo(r)
	}
	return tree.With(at, content)
}

// randomTree has modules in some of three places, and files anywhere.
func randomTree(r *rapid.T) *conflicttest.Tree {
	tree := conflicttest.New(map[string]string{"go.mod": "module m.org/m\n\nreplace n.org/n => ./n\n", "n/go.mod": "module n.org/n\n"})
	for range rapid.IntRange(0, 3).Draw(r, "modules") {
		tree = randomModule(r, tree)
	}
	for range rapid.IntRange(0, 25).Draw(r, "files") {
		tree = randomFile(r, tree)
	}
	return tree
}

func randomModule(r *rapid.T, tree *conflicttest.Tree) *conflicttest.Tree {
	at := draw(r, "module at", []string{"go.mod", "n/go.mod", "n/m/go.mod", "a/b/go.mod", "a/testdata/go.mod", "go.work", "n/go.work", "go.work.sum"})
	switch {
	case rapid.IntRange(0, 5).Draw(r, "gone") == 0:
		return tree.Without(at)
	case path.Base(at) == "go.mod":
		return tree.With(at, randomMod(r))
	}
	return tree.With(at, strings.Join(some(r, "work", randomWorks, 3), ""))
}

// randomEdit makes a tree near another one.
func randomEdit(r *rapid.T, tree *conflicttest.Tree) *conflicttest.Tree {
	for range rapid.IntRange(1, 3).Draw(r, "edits") {
		paths := tree.Paths()
		if len(paths) == 0 {
			return tree.With("go.mod", "module m.org/m\n")
		}
		at := draw(r, "at", paths)
		switch rapid.IntRange(0, 9).Draw(r, "edit") {
		case 0:
			tree = tree.Without(at)
		case 1:
			tree = tree.Without(path.Dir(at))
		case 2: // a directory moves
			to := draw(r, "to", randomDirs)
			for _, p := range paths {
				if rest, ok := strings.CutPrefix(p, path.Dir(at)+"/"); ok && to != "" && !strings.HasPrefix(to+"/", path.Dir(at)+"/") {
					tree = tree.Without(p).With(to+"/"+rest, tree.Content(p))
				}
			}
		case 3:
			if at == "go.mod" || strings.HasSuffix(at, "/go.mod") {
				tree = tree.With(at, tree.Content(at)+draw(r, "line", randomLines))
			}
		case 4:
			tree = randomModule(r, tree)
		case 5:
			tree = tree.WithMode(at, draw(r, "mode", []string{"100644", "100755", conflict.ModeLink}), tree.Content(at))
		default:
			tree = randomFile(r, tree)
		}
	}
	return tree
}

// followed applies what Follow says to a graph, which must make it the tree's
// own. It returns the graph with the memo to go on from.
func followed(t rapid.TB, a *golang.Analyzer, g *conflict.Graph, from, to *conflicttest.Tree) (next *conflict.Graph, patched bool) {
	t.Helper()
	want, wrong := golang.New(golang.Options{}).Graph(context.Background(), to)
	patch, err := a.Follow(context.Background(), g.Memo, conflicttest.Changes(from, to), noFiles{to})
	if err != nil && wrong == nil {
		t.Fatalf("Follow fails where Graph does not: %v", err)
	}
	if patch == nil {
		if wrong != nil {
			return nil, false
		}
		return conflicttest.Ordered(want), false
	}
	if wrong != nil {
		t.Fatalf("Follow has a graph where Graph says: %v", wrong)
	}
	got, err := conflicttest.Apply(g, patch)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(conflicttest.Ordered(want), got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(conflict.Graph{}, "Memo")); d != "" {
		t.Fatalf("%v\n%s", conflicttest.Changes(from, to), d)
	}
	return got, true
}

// noFiles is a tree that must not be listed.
type noFiles struct{ *conflicttest.Tree }

func (noFiles) Files(context.Context) ([]conflict.Entry, error) { return nil, errListed }

var errListed = errors.New("the tree was listed")

func TestFollowIsGraph(t *testing.T) {
	patches, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		a := golang.New(golang.Options{})
		tree := randomTree(r)
		g, err := a.Graph(t.Context(), tree)
		if err != nil {
			return
		}
		g = conflicttest.Ordered(g)
		for range 6 {
			next := randomEdit(r, tree)
			made, patched := followed(r, a, g, tree, next)
			if all++; patched {
				patches++
			}
			// Some trees have several that follow from them.
			if made != nil && rapid.Bool().Draw(r, "go on") {
				tree, g = next, made
			}
		}
	})
	t.Logf("%d of %d trees were followed", patches, all)
	if patches < all/3 {
		t.Errorf("only %d of %d trees were followed", patches, all)
	}
}
