package golang_test

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/golang"
)

// The folder that `go work vendor` writes beside a go.work may be a link, and so may a package
// in it, where no go.mod is beside them: what is there is built by all modules of the workspace.
func TestLinksOfAWorkspacesVendoredFiles(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"go.work": "go 1.22\n\nuse ./m\nuse ./copies\n", "vendor/modules.txt": "## workspace\n", "copies/go.mod": "module copies\n", "copies/x/x.go": "package x\n",
		"m/go.mod":       "module m.org/m\n\ngo 1.22\n\nrequire ext.org/x v1.0.0\n",
		"m/user/user.go": "package user\n\nimport _ \"ext.org/x\"\n",
	})
	for link, from := range map[string]*conflicttest.Tree{
		"vendor/ext.org/x": base.WithMode("vendor/ext.org/x", conflict.ModeLink, "../../copies/x"),
		"vendor":           base.Without("vendor/modules.txt").With("copies/ext.org/x/x.go", "package x\n").WithMode("vendor", conflict.ModeLink, "copies"),
	} {
		edit := "copies/x/x.go"
		if link == "vendor" {
			edit = "copies/ext.org/x/x.go"
		}
		snapshot := func(tree *conflicttest.Tree) *conflict.Snapshot {
			s, err := conflict.Analyze(t.Context(), golang.New(golang.Options{}), settings, tree)
			must(t, err)
			return s
		}
		to := from.With(edit, "package x\n\n// more\n")
		keys := conflict.DeltaOf(snapshot(from), snapshot(to))
		if !slices.Contains(keys.Changed, "./m/user") && !slices.Contains(keys.Changed, "tree") {
			t.Errorf("%s: an edit of %s changes %q", link, edit, keys.Changed)
		}
		for _, x := range [][2]*conflicttest.Tree{{from, to}, {base, from}} {
			near, err := conflict.Advance(t.Context(), golang.New(golang.Options{}), settings, nil, x[0], nil)
			must(t, err)
			next, err := conflict.Advance(t.Context(), golang.New(golang.Options{}), settings, near, x[1], conflicttest.Changes(x[0], x[1]))
			must(t, err)
			if !slices.Equal(next.Targets(), snapshot(x[1]).Targets()) {
				t.Errorf("%s: followed, it is another tree", link)
			}
		}
	}
}
