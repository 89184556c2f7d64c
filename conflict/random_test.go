package conflict_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// state is a graph in the model of the paper: what each target is by itself,
// and what it depends on.
type state map[string]record

type record struct {
	own  int
	deps []string
}

func (s state) edit(t *rapid.T, label string) state {
	next := maps.Clone(s)
	for range rapid.IntRange(0, 3).Draw(t, label+" edits") {
		name := drawName(t)
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			delete(next, name)
			continue
		}
		next[name] = record{rapid.IntRange(0, 3).Draw(t, "own"), drawNames(t)}
	}
	return next
}

func drawName(t *rapid.T) string { return fmt.Sprintf("t%d", rapid.IntRange(0, 6).Draw(t, "name")) }

func drawNames(t *rapid.T) []string {
	var names []string
	for range rapid.IntRange(0, 3).Draw(t, "deps") {
		names = append(names, drawName(t))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func drawState(t *rapid.T) state {
	s := state{}
	for i := range 7 {
		if rapid.Bool().Draw(t, "exists") {
			s[fmt.Sprintf("t%d", i)] = record{0, drawNames(t)}
		}
	}
	return s
}

// stateTree is a tree whose analyzer is stateAnalyzer.
type stateTree struct{ s state }

func (t stateTree) ID() queue.TreeID {
	return queue.TreeID(digest.Of(fmt.Sprint(t.s)))
}
func (t stateTree) Files(context.Context) ([]conflict.Entry, error) { return nil, nil }
func (t stateTree) Blob(context.Context, string) ([]byte, error)    { return nil, nil }
func (t stateTree) Graph(context.Context, conflict.Tree) (*conflict.Graph, error) {
	g := &conflict.Graph{}
	for name, r := range t.s {
		g.Targets = append(g.Targets, conflict.Target{Name: name, Attrs: digest.Of(fmt.Sprint(r.own)), Deps: r.deps})
	}
	return g, nil
}

// stateAnalyzer gives a tree's state the way an analyzer would.
type stateAnalyzer struct{ stateTree }

func (stateAnalyzer) ID() string { return "state/1" }

func snapshotOf(t interface{ Fatal(...any) }, s state) *conflict.Snapshot {
	tree := stateTree{s}
	snap, err := conflict.Analyze(context.Background(), stateAnalyzer{tree}, config.Analysis{}, tree)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// changed returns the closure of the records that differ over the reverse
// edges of both graphs: what Equation 5 of the paper calls affected.
func changed(main, change state) map[string]bool {
	tags := map[string]bool{}
	for _, s := range []state{main, change} {
		for name := range s {
			a, inA := main[name]
			b, inB := change[name]
			if inA != inB || a.own != b.own || !slices.Equal(a.deps, b.deps) {
				tags[name] = true
			}
		}
	}
	return spread(tags, main, change)
}

// spread closes a set over the reverse edges of the given graphs.
func spread(tags map[string]bool, graphs ...state) map[string]bool {
	for grown := true; grown; {
		grown = false
		for _, g := range graphs {
			for name, r := range g {
				if !tags[name] && slices.ContainsFunc(r.deps, func(d string) bool { return tags[d] }) {
					tags[name], grown = true, true
				}
			}
		}
	}
	return tags
}

func TestAffectedByHashIsAffectedByClosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		main := drawState(t)
		change := main.edit(t, "change")
		f := conflict.FootprintOf(snapshotOf(t, main), snapshotOf(t, change), "m")
		want := slices.Sorted(maps.Keys(changed(main, change)))
		if !slices.Equal(f.Write, want) {
			t.Fatalf("by hash %v, by closure %v", f.Write, want)
		}
		exist := slices.DeleteFunc(slices.Clone(want), func(n string) bool { _, ok := change[n]; return !ok })
		if !slices.Equal(f.Affected, exist) {
			t.Fatalf("affected %v, want %v", f.Affected, exist)
		}
	})
}

func TestClosedFormIsTheUnionGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		main := drawState(t)
		i, j := main.edit(t, "i"), main.edit(t, "j")
		base := snapshotOf(t, main)
		x := index.New()
		x.Put("i", conflict.FootprintOf(base, snapshotOf(t, i), "m"))
		x.Put("j", conflict.FootprintOf(base, snapshotOf(t, j), "m"))

		byI := spread(changed(main, i), main, i, j)
		byJ := spread(changed(main, j), main, i, j)
		want := false
		for name := range byI {
			want = want || byJ[name]
		}
		if got := x.Conflict("i", "j"); got != want {
			t.Fatalf("the closed form says %v, the union graph %v", got, want)
		}
	})
}

// The keys of main and the new keys of a change are together all keys of the
// change.
func TestKeysOfTheParentAndNewOnesAreAllKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := func(label string) []config.Step {
			all := []config.Step{{Name: "a", Scope: config.ScopeTargets}, {Name: "b", Scope: config.ScopeTargets},
				{Name: "whole", Scope: config.ScopeRepository}}
			return slices.DeleteFunc(all, func(config.Step) bool { return rapid.Bool().Draw(t, label) })
		}
		main := drawState(t)
		parent, commit := snapshotOf(t, main), snapshotOf(t, main.edit(t, "change"))
		parentSteps, commitSteps := steps("parent"), steps("commit")
		had := conflict.Keys(nil, parent, nil, parentSteps)
		var want []queue.Key
		for _, k := range conflict.Keys(nil, commit, nil, commitSteps) {
			if !slices.Contains(had, k) {
				want = append(want, k)
			}
		}
		if got := conflict.Keys(parent, commit, parentSteps, commitSteps); !slices.Equal(got, want) {
			t.Fatalf("keys %v, want %v", got, want)
		}
	})
}
