package conflict_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/paths"
	"github.com/submitqueue/submitqueue/queue/config"
)

func describe(t interface{ Fatal(...any) }, a conflict.Analyzer, s config.Analysis, tree conflict.Tree) *conflict.Description {
	d, err := conflict.Describe(context.Background(), a, s, tree)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func areas(t *testing.T, s config.Analysis, tree conflict.Tree) *conflict.Description {
	t.Helper()
	a, err := paths.New(s.Areas)
	if err != nil {
		t.Fatal(err)
	}
	return describe(t, a, s, tree)
}

var shop = config.Analysis{
	Areas: []config.Area{
		{Name: "api", Files: []string{"api/**"}},
		{Name: "cart", Files: []string{"cart/**"}, Needs: []string{"api"}},
		{Name: "web", Files: []string{"web/**"}, Needs: []string{"cart"}},
	},
	Ignore: []string{"*.md"},
}

func shopTree() *conflicttest.Tree {
	return conflicttest.New(map[string]string{"api/a.go": "", "cart/c.go": "", "web/w.go": "", "Makefile": "",
		"README.md": "", ".gitattributes": ""})
}

func TestDescribeSaysWhereEachFileIs(t *testing.T) {
	d := areas(t, shop, shopTree())
	pathsOf := func(list []conflict.Entry) (out []string) {
		for _, e := range list {
			out = append(out, e.Path)
		}
		return out
	}
	got := map[string][]string{"barrier": pathsOf(d.Barrier), "unowned": pathsOf(d.Unowned), "ignored": pathsOf(d.Ignored),
		"api": pathsOf(d.Node("api").Sources), "above": d.Above(d.Holding("cart/c.go"))}
	want := map[string][]string{"barrier": {".gitattributes"}, "unowned": {"Makefile"}, "ignored": {"README.md"},
		"api": {"api/a.go"}, "above": {"cart", "web"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i, target := range d.Targets() {
		if d.Nodes[i].Name != target.Target || d.Nodes[i].Hash != target.Hash {
			t.Errorf("node %d is %s, the target %s", i, d.Nodes[i].Name, target.Target)
		}
	}
	if d.Node("nobody") != nil {
		t.Error("there is a node that nobody has named")
	}
}

func TestCauses(t *testing.T) {
	other := shop
	other.Ignore = nil
	tests := []struct {
		name   string
		tree   *conflicttest.Tree
		s      config.Analysis
		target string
		want   *conflict.Cause
	}{
		{"nothing", shopTree(), shop, "web", nil},
		{"its own file", shopTree().With("web/w.go", "x"), shop, "web",
			&conflict.Cause{Kind: conflict.CauseFile, Through: []string{"web"}, Path: "web/w.go", Mark: "changed"}},
		{"a file two below", shopTree().With("api/new.go", "x"), shop, "web",
			&conflict.Cause{Kind: conflict.CauseFile, Through: []string{"web", "cart", "api"}, Path: "api/new.go", Mark: "added"}},
		{"a change before what is gone", shopTree().Without("api/a.go").With("api/b.go", "").With("cart/c.go", "x"), shop, "web",
			&conflict.Cause{Kind: conflict.CauseFile, Through: []string{"web", "cart"}, Path: "cart/c.go", Mark: "changed"}},
		{"a barrier file", shopTree().With(".gitattributes", "x"), shop, "api",
			&conflict.Cause{Kind: conflict.CauseBarrier, Path: ".gitattributes", Mark: "changed"}},
		{"a file of nobody", shopTree().Without("Makefile"), shop, "api",
			&conflict.Cause{Kind: conflict.CauseUnowned, Path: "Makefile", Mark: "removed"}},
	}
	for _, c := range tests {
		causes := conflict.NewCauses(areas(t, shop, shopTree()), areas(t, c.s, c.tree))
		if diff := cmp.Diff(c.want, causes.Of(c.target)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
	if got := conflict.NewCauses(areas(t, shop, shopTree()), describe(t, nil, shop, shopTree())).Of("tree"); got.Kind != conflict.CauseAnalyzer {
		t.Errorf("another analyzer: %+v", got)
	}
	plain := conflicttest.New(map[string]string{"api/a.go": "", "cart/c.go": "", "web/w.go": ""})
	if got := conflict.NewCauses(areas(t, shop, plain), areas(t, other, plain)).Of("api"); got.Kind != conflict.CauseSettings {
		t.Errorf("other settings: %+v", got)
	}
	if got := conflict.NewCauses(describe(t, nil, shop, plain), describe(t, nil, shop, plain.With("x", ""))).Of("tree"); got != nil {
		t.Errorf("a tree that is one target: %+v", got)
	}
}

// An affected target has a cause at the end of a real chain, and any other has
// none.
func TestEveryAffectedTargetHasACause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		main := drawState(t)
		change := main.edit(t, "change")
		from := describe(t, stateAnalyzer{stateTree{main}}, config.Analysis{}, stateTree{main})
		to := describe(t, stateAnalyzer{stateTree{change}}, config.Analysis{}, stateTree{change})
		affected := conflict.FootprintOf(from.Snapshot, to.Snapshot, "main").Affected
		delta := conflict.DeltaOf(from.Snapshot, to.Snapshot)
		if got := slices.Sorted(slices.Values(slices.Concat(delta.Added, delta.Changed))); !slices.Equal(got, affected) {
			t.Fatalf("the delta has %v, the footprint %v", got, affected)
		}
		causes := conflict.NewCauses(from, to)
		for _, target := range to.Targets() {
			cause := causes.Of(target.Target)
			if (cause != nil) != slices.Contains(affected, target.Target) {
				t.Fatalf("%s: cause %+v, affected %v", target.Target, cause, affected)
			}
			if cause == nil {
				continue
			}
			for i, name := range cause.Through[1:] {
				if !slices.Contains(to.Node(cause.Through[i]).Deps, name) {
					t.Fatalf("%s does not depend on %s: %v", cause.Through[i], name, cause.Through)
				}
			}
		}
		shape := conflict.ShapeOf(from, to)
		if shape.Nodes != (len(delta.Added)+len(delta.Removed) > 0) {
			t.Fatalf("%+v of %+v", shape, delta)
		}
		for _, e := range shape.Added {
			if slices.Contains(main[e.From].deps, e.To) || !slices.Contains(change[e.From].deps, e.To) {
				t.Fatalf("%+v is not new", e)
			}
		}
	})
}
