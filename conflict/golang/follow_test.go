package golang_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
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
	randomNames = []string{"a.go", "b.go", "a_test.go", "w_windows.go", "x.h", "x.s", "l.so", "t.txt", ".dot", "_u.go", "go.sum", "link", "link", "link.go", "b"}
	randomPaths = []string{"m.org/m", "m.org/m/a", "m.org/m/a/b", "m.org/m/d", "m.org/m/new", "m.org/m/a/testdata/x", "m.org/m/_t", "m.org/m/link", "m.org/m/link/a", "m.org/m/d/link",
		"m.org/m/a/b/c", "m.org/m/vendor/v.org/v", "m.org/m/testdata/y", "n.org/n", "n.org/n/a", "n.org/n/m", "o.org/o", "o.org/o/a", "v.org/v", "plain/x", "fmt", "testing", "C", "embed", "e.org/x"}
	randomEmbeds = []string{"t.txt", "b", "*.txt", "testdata", "all:.", "b/*", "../x", "nothing", "x*/t.txt", "testdata/*/t.txt", "link"}
	randomAways  = []string{"../t.txt", "../testdata", "../b", "../link/b", "../../d", "../x/%s.txt", "../../../out", "..",
		"b/t.txt", "./b", "a/b/%d", "link/a", "m.org/m/a/b", "m.org/m/...", "./d/...", "../d/...", "m.org/m/a/testdata/x"}
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
	for _, away := range some(r, "away", randomAways, 1) {
		s += fmt.Sprintf("\nvar _ = %s(%q, \"a\")\n", draw(r, "call", []string{"join", "Join", "f"}), away)
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

func TestFollow(t *testing.T) {
	base := conflicttest.New(workspace).
		With("broken/b.go", "pack age").
		With("cgo/cgo.go", "package cgo\n\nimport \"C\"\n").With("cgo/x.h", "1").
		With("via/via.go", "package via\n\nimport (\n\t_ \"example.com/mod/link/x\"\n\t_ \"example.com/mod/new\"\n)\n").
		With("lnk/lnk.go", "package lnk\n").WithMode("lnk/f.txt", conflict.ModeLink, "../config/prod.yaml").
		With("far/far.go", "package far\n\nimport _ \"example.com/mod/a/testdata/x\"\n").
		With("a/testdata/x/x.go", "package x\n\nimport _ \"example.com/mod/c\"\n")
	graph, err := golang.New(golang.Options{}).Graph(t.Context(), base)
	must(t, err)
	many := base.With("new/n.go", "package n")
	for i := range 9 {
		many = many.With(fmt.Sprintf("m%d/m.go", i), "package m")
	}
	tests := []struct {
		name string
		to   *conflicttest.Tree
		want string // the targets of the patch beside the broken package, and those that are gone
	}{
		{"nothing", base, ""},
		{"a library", base.With("b/b.go", "package b // 2"), "./b lib:./b"},
		{"a test", base.With("a/a_test.go", "package a"), "./a lib:./a"},
		{"a plain file that nobody has", base.With("config/prod.json", "2"), ""},
		{"a new package", base.With("e/e.go", "package e"), "./e lib:./e"},
		{"a new package that was imported", base.With("new/n.go", "package n"), "./new ./via lib:./new lib:./via"},
		{"many new packages", many, "./m0 ./m1 ./m2 ./m3 ./m4 ./m5 ./m6 ./m7 ./m8 ./new ./via lib:./m0 lib:./m1 lib:./m2 lib:./m3 lib:./m4 lib:./m5 lib:./m6 lib:./m7 lib:./m8 lib:./new lib:./via"},
		{"a package is gone", base.Without("d/d.go"), "./c lib:./c -./d -lib:./d"},
		{"a package is no target any more", base.Without("b/b.go").Without("b/gen.go"), "lib:./b -./b"},
		{"test data", base.With("d/testdata/src/y/z", ""), "./d lib:./d"},
		{"what is embedded", base.With("a/data/two.txt", ""), "./a lib:./a"},
		{"beside what is embedded", base.With("a/other/two.txt", ""), ""},
		{"what a link leads to", base.With("config/prod.yaml", "2"), "./lnk lib:./lnk"},
		{"a link on the way of an import", base.WithMode("link", conflict.ModeLink, "a"), ". ./via lib:. lib:./via"},
		{"a submodule on the way of an import", base.WithMode("link", conflict.ModeSubmodule, "1"), ". ./via lib:. lib:./via"},
		{"the last importer of test data is gone", base.Without("far"), "-./far -lib:./a/testdata/x -lib:./far"},
		{"test data that is imported", base.With("a/testdata/x/x.go", "package x"), "./a lib:./a lib:./a/testdata/x"},
		{"checksums", base.With("go.sum", "x"), ". ext:. lib:."},
		{"versions", base.With("alone/go.mod", workspace["alone/go.mod"]+"\nexclude x.org/x v1.0.0\n"), "./alone ext:./alone lib:./alone"},
		{"vendored", base.With("alone/vendor/x/x.go", "package x"), "ext:./alone"},
		{"native files", base.With("include/x.h", "1"), "native"},
		{"the last native package", base.Without("cgo/cgo.go"), "-./cgo -lib:./cgo -native"},
		{"a go.mod in test data", base.With("d/testdata/go.mod", "x"), "./d lib:./d"},

		{"a workspace", base.With("go.work", "use ."), "all"},
		{"a new module", base.With("d/go.mod", "module d"), "all"},
		{"a module is gone", base.Without("alone/go.mod"), "all"},
		{"the language version", base.With("alone/go.mod", "module example.com/alone\n\ngo 1.23\n"), "all"},
		{"a requirement", base.With("alone/go.mod", workspace["alone/go.mod"]+"\nrequire x.org/x v1.0.0\n"), "all"},
		{"a module that does not parse", base.With("alone/go.mod", "modul"), "all"},
		{"a module without a name", base.With("alone/go.mod", "go 1.22\n"), "all"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := golang.New(golang.Options{})
			patch, err := a.Follow(t.Context(), graph.Memo, conflicttest.Changes(base, tt.to), noFiles{tt.to})
			must(t, err)
			got := "all"
			if patch != nil {
				var names, gone []string
				for _, target := range patch.Targets {
					if target.Name != "./broken" && target.Name != "lib:./broken" {
						names = append(names, target.Name)
					}
				}
				for _, name := range patch.Gone {
					gone = append(gone, "-"+name)
				}
				slices.Sort(names)
				slices.Sort(gone)
				got = strings.Join(append(names, gone...), " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			followed(t, a, conflicttest.Ordered(graph), base, tt.to)
		})
	}
}

func TestFollowLeavesToGraphWhatItCannotKnow(t *testing.T) {
	a, base := golang.New(golang.Options{}), conflicttest.New(workspace)
	graph, err := a.Graph(t.Context(), base)
	must(t, err)
	next := base.With("b/b.go", "package b // 2")
	changes := conflicttest.Changes(base, next)
	wrong := slices.Clone(changes)
	wrong[0].From.OID = wrong[0].To.OID
	many := slices.Clone(changes)
	for i := range 5000 {
		file := fmt.Sprintf("z/%05d", i)
		many = append(many, conflict.FileChange{Path: file, To: conflict.Entry{Path: file, Mode: "100644", OID: changes[0].To.OID}})
	}
	for name, f := range map[string]func() (*conflict.Patch, error){
		"a memo of another":       func() (*conflict.Patch, error) { return a.Follow(t.Context(), "memo", changes, next) },
		"no memo":                 func() (*conflict.Patch, error) { return a.Follow(t.Context(), nil, changes, next) },
		"changes of another tree": func() (*conflict.Patch, error) { return a.Follow(t.Context(), graph.Memo, wrong, next) },
		"very many changes":       func() (*conflict.Patch, error) { return a.Follow(t.Context(), graph.Memo, many, next) },
		"what was removed already": func() (*conflict.Patch, error) {
			return a.Follow(t.Context(), graph.Memo, conflicttest.Changes(base.With("n", ""), base), next)
		},
	} {
		if patch, err := f(); patch != nil || err != nil {
			t.Errorf("%s: %v, %v", name, patch, err)
		}
	}
}

func TestFollowFailsToRead(t *testing.T) {
	base := conflicttest.New(workspace)
	graph, err := golang.New(golang.Options{}).Graph(t.Context(), base)
	must(t, err)
	gone := errors.New("gone")
	for _, next := range []*conflicttest.Tree{
		base.With("b/b.go", "package b // 2"),
		base.With("go.mod", workspace["go.mod"]+"\n"),
		base.WithMode("a/l.txt", conflict.ModeLink, "a.go"),
	} {
		_, err := golang.New(golang.Options{}).Follow(t.Context(), graph.Memo, conflicttest.Changes(base, next), next.Failing(gone))
		if !errors.Is(err, gone) {
			t.Errorf("%v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	next := base.With("a/notes.txt", "2")
	if _, err := golang.New(golang.Options{}).Follow(ctx, graph.Memo, conflicttest.Changes(base, next), next); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A package that was repaired costs nothing any more.
func TestFollowForgetsWhatWasBroken(t *testing.T) {
	a, base := golang.New(golang.Options{}), conflicttest.New(workspace).With("broken/b.go", "pack age")
	graph, err := a.Graph(t.Context(), base)
	must(t, err)
	repaired := base.With("broken/b.go", "package broken")
	patch, err := a.Follow(t.Context(), graph.Memo, conflicttest.Changes(base, repaired), repaired)
	must(t, err)
	next := repaired.With("config/prod.yaml", "2")
	patch, err = a.Follow(t.Context(), patch.Memo, conflicttest.Changes(repaired, next), next)
	must(t, err)
	if len(patch.Targets) > 0 {
		t.Errorf("%v", patch.Targets)
	}
}

// Many trees follow from one memo, at the same time.
func TestFollowFromOneMemoAtOnce(t *testing.T) {
	a, base := golang.New(golang.Options{}), conflicttest.New(workspace)
	graph, err := a.Graph(t.Context(), base)
	must(t, err)
	before := conflicttest.Ordered(graph)
	for i := range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			from, g := base, before
			for k := range 5 {
				to := from.With(fmt.Sprintf("%s/f%d.go", []string{"a", "b", "new", "d/testdata"}[(i+k)%4], i), fmt.Sprintf("package p // %d\n\nimport \"C\"\n", k))
				to = to.Without([]string{"c", "a/data", "b/gen.go", "nested/m"}[(i+2*k)%4])
				g, _ = followed(t, a, g, from, to)
				from = to
			}
		})
	}
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
