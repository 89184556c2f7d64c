package golang_test

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/golang"
)

// A vendored package may be a link to a folder of the tree: the go command builds what is
// there.
func TestVendoredLinkToAFolderOfTheTree(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"one/go.mod": "module one\n\ngo 1.22\n\nrequire ext.org/x v1.0.0\n", "one/one.go": "package one\n\nimport _ \"ext.org/x\"\n",
		"one/vendor/modules.txt": "# ext.org/x v1.0.0\n## explicit\next.org/x\n",
		"go.mod":                 "module top\n\ngo 1.22\n", "copies/x/x.go": "package x\n",
	}).WithMode("one/vendor/ext.org/x", conflict.ModeLink, "../../../copies/x")
	next := base.With("copies/x/x.go", "package x\n\nbroken")
	d := conflict.DeltaOf(mustAnalyze(t, settings, base), mustAnalyze(t, settings, next))
	if !slices.Contains(d.Changed, "./one") {
		t.Errorf("changed are %q", d.Changed)
	}
	graph, err := golang.New(golang.Options{}).Graph(t.Context(), base)
	must(t, err)
	followed(t, golang.New(golang.Options{}), conflicttest.Ordered(graph), base, next)
	other := base.WithMode("one/vendor/ext.org/x", conflict.ModeLink, "../../../copies/y")
	followed(t, golang.New(golang.Options{}), conflicttest.Ordered(graph), base, other)
	// A module in the place of the requirement is a dependency, and no more than that.
	replaced := base.With("copies/x/go.mod", "module ext.org/x\n").With("one/two/two.go", "package two\n\nimport _ \"ext.org/q\"\n").
		With("one/go.mod", base.Content("one/go.mod")+"\nrequire ext.org/q v1.0.0\n\nreplace ext.org/x => ../copies/x\n")
	d = conflict.DeltaOf(mustAnalyze(t, settings, replaced), mustAnalyze(t, settings, replaced.With("copies/x/x.go", "package x\n\n// more\n")))
	if !slices.Contains(d.Changed, "./one") || slices.Contains(d.Changed, "./one/two") {
		t.Errorf("replaced, changed are %q", d.Changed)
	}
}

// The go command builds the vendored copy of a module, though a go.mod puts a module of the
// tree in its place.
func TestVendoredCopyOfAModuleOfTheTree(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"go.mod":    "module top\n\ngo 1.22\n\nrequire m.org/api v1.0.0\n\nreplace m.org/api => ./api\n",
		"use/u.go":  "package use\n\nimport _ \"m.org/api/x\"\n",
		"none/n.go": "package none\n", "api/go.mod": "module m.org/api\n", "api/x/x.go": "package x\n",
	})
	vendored := base.With("vendor/modules.txt", "# m.org/api v1.0.0 => ./api\n").With("vendor/m.org/api/x/x.go", "package x\n")
	next := vendored.With("vendor/m.org/api/x/x.go", "package x\n\n// more\n")
	if got := affected(t, settings, vendored, next); !slices.Equal(got, []string{"./use"}) {
		t.Errorf("affected are %q", got)
	}
	for _, to := range []*conflicttest.Tree{next, base} {
		graph, err := golang.New(golang.Options{}).Graph(t.Context(), vendored)
		must(t, err)
		followed(t, golang.New(golang.Options{}), conflicttest.Ordered(graph), vendored, to)
	}
	graph, err := golang.New(golang.Options{}).Graph(t.Context(), base)
	must(t, err)
	followed(t, golang.New(golang.Options{}), conflicttest.Ordered(graph), base, vendored)
}
