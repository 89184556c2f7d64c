package synth_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict/synth"
)

func TestGraph(t *testing.T) {
	const nodes, edges = 20_000, 128_000
	g := synth.New(nodes, edges, 1)
	if g.Len() != nodes || g.Edges() < edges*95/100 || g.Edges() > edges {
		t.Errorf("%d nodes and %d edges", g.Len(), g.Edges())
	}
	names := map[string]bool{}
	depth := make([]int, g.Len())
	rules := 0
	for i := range uint32(nodes) {
		names[g.Name(i)] = true
		deps := g.Deps(i)
		switch {
		case g.Rule(i):
			rules++
		case len(deps) > 0:
			t.Errorf("file %d has dependencies", i)
		}
		for k, d := range deps {
			if d >= i || k > 0 && deps[k-1] >= d {
				t.Fatalf("dependencies of %d: %v", i, deps)
			}
			depth[i] = max(depth[i], depth[d]+1)
		}
	}
	if len(names) != nodes || rules != nodes*36/100 {
		t.Errorf("%d names, %d rules", len(names), rules)
	}
	if d := slices.Max(depth); d != 31 {
		t.Errorf("depth %d", d)
	}
	off, up := g.Dependents()
	if len(up) != g.Edges() {
		t.Errorf("%d reverse edges", len(up))
	}
	for i := range uint32(nodes) {
		for _, u := range up[off[i]:off[i+1]] {
			if !slices.Contains(g.Deps(u), i) {
				t.Fatalf("%d is no dependency of %d", i, u)
			}
		}
	}
}

func TestSmallGraphs(t *testing.T) {
	for _, size := range [][2]int{{0, 0}, {1, 0}, {31, 100}, {40, 5}, {100, 100}, {100, 100_000}} {
		g := synth.New(size[0], size[1], 1)
		if g.Len() < size[0] || g.Edges() > max(size[1], size[0]*size[0]) {
			t.Errorf("%v: %d nodes, %d edges", size, g.Len(), g.Edges())
		}
		synth.Changes(g, 10, 1, 1)
	}
}

func TestSameSeedSameGraph(t *testing.T) {
	a, b, other := synth.New(5000, 30_000, 1), synth.New(5000, 30_000, 1), synth.New(5000, 30_000, 2)
	same := func(a, b *synth.Graph) bool {
		for i := range uint32(5000) {
			if a.Name(i) != b.Name(i) || !slices.Equal(a.Deps(i), b.Deps(i)) {
				return false
			}
		}
		return true
	}
	if !same(a, b) || same(a, other) {
		t.Error("the seed does not decide")
	}
	if d := cmp.Diff(synth.Changes(a, 100, 0.4, 1), synth.Changes(b, 100, 0.4, 1)); d != "" {
		t.Error(d)
	}
}

func TestChanges(t *testing.T) {
	g := synth.New(20_000, 128_000, 1)
	plain, mixed := synth.Changes(g, 1000, 0, 1), synth.Changes(g, 1000, 0.4, 1)
	altering := 0
	for i := range mixed {
		if plain[i].Alters() || len(plain[i].Edited) == 0 {
			t.Errorf("a change that only edits: %+v", plain[i])
		}
		if !mixed[i].Alters() {
			if d := cmp.Diff(plain[i], mixed[i]); d != "" {
				t.Error(d)
			}
			continue
		}
		altering++
		for _, e := range mixed[i].Added {
			if e.To >= e.From || slices.Contains(g.Deps(e.From), e.To) {
				t.Errorf("the edge %v is added", e)
			}
		}
		for _, e := range mixed[i].Removed {
			if !slices.Contains(g.Deps(e.From), e.To) {
				t.Errorf("the edge %v is removed", e)
			}
		}
		for _, n := range mixed[i].Gone {
			if g.Rule(n) || !slices.ContainsFunc(mixed[i].Removed, func(e synth.Edge) bool { return e.To == n }) {
				t.Errorf("%d is deleted", n)
			}
		}
	}
	if altering < 350 || altering > 450 {
		t.Errorf("%d of 1,000 changes alter the graph", altering)
	}
}
