package golang_test

import (
	"slices"
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
