package golang_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/golang"
)

// A file that a package reads through a link is in its hash, however many links
// are on the way, and whether they are links to the file or to a folder above it.
func TestFilesBehindLinks(t *testing.T) {
	base := conflicttest.New(workspace).With("d/testdata/plain", "").With("b/fix/in.json", "1").With("b/fix/fix.go", "package fix\n")
	tests := map[string]struct{ links map[string]string }{
		"a link to a file":                {map[string]string{"d/testdata/x.json": "../../b/fix/in.json"}},
		"a link through a linked folder":  {map[string]string{"d/testdata/x.json": "../../shared/in.json", "shared": "b/fix"}},
		"a link to a folder with links":   {map[string]string{"d/testdata/x": "../../all", "all/in.json": "../b/fix/in.json"}},
		"a link beside the package":       {map[string]string{"d/x.json": "../shared/in.json", "shared": "all", "all": "b/fix"}},
		"a folder through linked folders": {map[string]string{"d/testdata/x": "../../shared/fix", "shared": "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			from := base
			for at, to := range tt.links {
				from = from.WithMode(at, conflict.ModeLink, to)
			}
			to := from.With("b/fix/in.json", "2")
			if got := affected(t, settings, from, to); !slices.Contains(got, "./d") {
				t.Errorf("an edit of the file affects %q", got)
			}
			graph, err := golang.New(golang.Options{}).Graph(t.Context(), from)
			must(t, err)
			followed(t, golang.New(golang.Options{}), conflicttest.Ordered(graph), from, to)
		})
	}
}

// Many links of a package may lead to one large folder: each file of it is an input once,
// for each half and for plain files of a package with C.
func TestManyLinksToOneFolder(t *testing.T) {
	const links, files = 40, 50
	tree := conflicttest.New(map[string]string{"go.mod": "module m.org/m\n", "a/a.go": "package a\n", "a/a.c": ""})
	for i := range files {
		tree = tree.With(fmt.Sprintf("big/%d.txt", i), "")
	}
	code := "package a\n"
	for i := range links {
		for _, at := range []string{"a/testdata/l%d", "a/l%d", "other/l%d"} {
			tree = tree.WithMode(fmt.Sprintf(at, i), conflict.ModeLink, strings.Repeat("../", strings.Count(at, "/"))+"big")
		}
		code += fmt.Sprintf("\nvar _ = open(\"../other/l%d\")\n", i)
	}
	graph, err := golang.New(golang.Options{}).Graph(t.Context(), tree.With("a/a_test.go", code))
	must(t, err)
	for _, n := range graph.Targets {
		if len(n.Inputs) > 4*files+4*links {
			t.Errorf("%s has %d inputs", n.Name, len(n.Inputs))
		}
		if n.Kind == "go package" || n.Kind == "go library" {
			if !slices.ContainsFunc(n.Inputs, func(e conflict.Entry) bool { return e.Path == "big/7.txt" }) {
				t.Errorf("%s has not the files that its links lead to", n.Name)
			}
		}
	}
}

// A link that led to nothing leads to a file once a folder on its way is a link.
func TestALinkOnTheWayAppears(t *testing.T) {
	from := conflicttest.New(workspace).WithMode("d/testdata/x.json", conflict.ModeLink, "../../shared/one.txt")
	to := from.WithMode("shared", conflict.ModeLink, "a/data")
	graph, err := golang.New(golang.Options{}).Graph(t.Context(), from)
	must(t, err)
	followed(t, golang.New(golang.Options{}), conflicttest.Ordered(graph), from, to)
	if got := affected(t, settings, from, to); !slices.Contains(got, "./d") {
		t.Errorf("affected are %q", got)
	}
}

// A go.sum or vendor folder may be a link to another module's: an edit
// there must not leave what it has proven as it is.
func TestSumsAndCopiesBehindLinks(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"one/go.mod": "module one\n\ngo 1.22\n\nrequire ext.org/x v1.0.0\n", "one/go.sum": "ext.org/x v1.0.0 h1:a=\n", "one/one.go": "package one\n\nimport _ \"ext.org/x\"\n",
		"two/go.mod": "module two\n\ngo 1.22\n\nrequire ext.org/x v1.0.0\n", "two/two.go": "package two\n\nimport _ \"ext.org/x\"\n",
		"one/copies/ext.org/x/x.go": "package x\n",
	})
	for link, x := range map[string]struct{ goal, edit string }{
		"two/go.sum": {"../one/go.sum", "one/go.sum"}, "two/vendor": {"../one/copies", "one/copies/ext.org/x/x.go"},
	} {
		from := base.WithMode(link, conflict.ModeLink, x.goal)
		snapshot := func(tree *conflicttest.Tree) *conflict.Snapshot {
			s, err := conflict.Analyze(t.Context(), golang.New(golang.Options{}), settings, tree)
			must(t, err)
			return s
		}
		keys := conflict.DeltaOf(snapshot(from), snapshot(from.With(x.edit, from.Content(x.edit)+"\n// more")))
		if !slices.Contains(keys.Changed, "./two") && !slices.Contains(keys.Changed, "tree") {
			t.Errorf("%s: an edit of %s changes %q", link, x.edit, keys.Changed)
		}
		near, err := conflict.Advance(t.Context(), golang.New(golang.Options{}), settings, nil, base, nil)
		must(t, err)
		next, err := conflict.Advance(t.Context(), golang.New(golang.Options{}), settings, near, from, conflicttest.Changes(base, from))
		must(t, err)
		if !slices.Equal(next.Targets(), snapshot(from).Targets()) {
			t.Errorf("%s: followed, it is another tree", link)
		}
	}
}
