package conflict_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/synth"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// large is an analyzer of a generated graph: a target for each node, files
// included. Its Follow is told what has changed.
type large struct {
	graph *conflict.Graph
	next  *conflict.Patch
}

func (large) ID() string                                                       { return "large/1" }
func (l *large) Graph(context.Context, conflict.Tree) (*conflict.Graph, error) { return l.graph, nil }
func (l *large) Follow(context.Context, any, []conflict.FileChange, conflict.Tree) (*conflict.Patch, error) {
	return l.next, nil
}

func targetOf(g *synth.Graph, node uint32, content string) conflict.Target {
	t := conflict.Target{Name: g.Name(node), Kind: "rule", Attrs: queue.Digest(content)}
	if !g.Rule(node) {
		t.Kind, t.Internal = "file", true
		return t
	}
	for _, d := range g.Deps(node) {
		t.Deps = append(t.Deps, g.Name(d))
	}
	return t
}

func wholeOf(g *synth.Graph) *conflict.Graph {
	out := &conflict.Graph{Targets: make([]conflict.Target, g.Len()), Memo: g}
	for i := range uint32(g.Len()) {
		out.Targets[i] = targetOf(g, i, "0123456789abcdef0123456789abcdef01234567")
	}
	return out
}

// patchOf is what a change makes of the targets that it touches.
func patchOf(g *synth.Graph, c *synth.Change) *conflict.Patch {
	p := &conflict.Patch{Memo: g}
	touched := map[uint32]*conflict.Target{}
	at := func(node uint32, content string) *conflict.Target {
		if touched[node] == nil {
			t := targetOf(g, node, content)
			touched[node] = &t
		}
		return touched[node]
	}
	const before, after = "0123456789abcdef0123456789abcdef01234567", "edited6789abcdef0123456789abcdef01234567"
	for _, node := range c.Edited {
		at(node, after)
	}
	for _, e := range c.Added {
		t := at(e.From, before)
		t.Deps = append(t.Deps, g.Name(e.To))
	}
	for _, e := range c.Removed {
		t := at(e.From, before)
		t.Deps = slices.DeleteFunc(t.Deps, func(d string) bool { return d == g.Name(e.To) })
	}
	for _, node := range c.Gone {
		p.Gone = append(p.Gone, g.Name(node))
		delete(touched, node)
	}
	for _, t := range touched {
		p.Targets = append(p.Targets, *t)
	}
	for _, n := range c.New {
		t := conflict.Target{Name: n.Name, Kind: "rule"}
		for _, d := range n.Deps {
			t.Deps = append(t.Deps, g.Name(d))
		}
		p.Targets = append(p.Targets, t)
	}
	return p
}

// In a large graph hashes are kept, searched and computed in other ways than in
// a small one: in one list where most of them move, on several processors, and
// by components only where there is a cycle.
func TestLargeGraphs(t *testing.T) {
	g := synth.New(6_000, 36_000, 7)
	s, tree := config.Analysis{Unowned: config.UnownedTarget}, conflicttest.New(nil)
	for _, cyclic := range []bool{false, true} {
		a := &large{graph: wholeOf(g)}
		if cyclic { // two units, one of which most depend on
			at := slices.IndexFunc(a.graph.Targets, func(t conflict.Target) bool { return len(t.Deps) > 0 })
			t := &a.graph.Targets[at]
			below := slices.IndexFunc(a.graph.Targets, func(d conflict.Target) bool { return d.Name == t.Deps[0] })
			a.graph.Targets[below].Deps = append(slices.Clone(a.graph.Targets[below].Deps), t.Name)
		}
		main := mustAdvance(t, a, s, nil, tree, nil)
		if cyclic != (len(main.Cycles) > 0) {
			t.Fatalf("the cycles are %v", main.Cycles)
		}
		most := 0
		for _, c := range synth.Changes(g, 8, 0.4, 2) {
			a.next = patchOf(g, &c)
			got := mustAdvance(t, a, s, main, tree, []conflict.FileChange{})
			want := mustAdvance(t, &large{graph: patched(a.graph, a.next)}, s, nil, tree, nil)
			same(t, got, want, main)
			most = max(most, len(conflict.FootprintOf(main, got, "m").Write))
		}
		if most < 1_000 {
			t.Errorf("no change affects more than %d targets", most)
		}
	}
}

// Many targets of one level are hashed on several processors.
func TestWideGraphs(t *testing.T) {
	target := func(i int, content string) conflict.Target {
		t := conflict.Target{Name: fmt.Sprintf("t%04d", i), Kind: "rule", Attrs: queue.Digest(content)}
		if i >= 10 {
			t.Deps = []string{fmt.Sprintf("t%04d", i%10), "absent"}
		}
		return t
	}
	a := &large{graph: &conflict.Graph{Memo: 1}}
	for i := range 5_000 {
		a.graph.Targets = append(a.graph.Targets, target(i, "before"))
	}
	s, tree := config.Analysis{Unowned: config.UnownedTarget}, conflicttest.New(nil)
	main := mustAdvance(t, a, s, nil, tree, nil)
	a.next = &conflict.Patch{Memo: 1}
	for i := range 5 { // of which half of all the others depend
		a.next.Targets = append(a.next.Targets, target(i, "after"))
	}
	got := mustAdvance(t, a, s, main, tree, []conflict.FileChange{})
	same(t, got, mustAdvance(t, &large{graph: patched(a.graph, a.next)}, s, nil, tree, nil), main)
	if n := len(conflict.FootprintOf(main, got, "m").Write); n != 2_500 {
		t.Errorf("it affects %d targets", n)
	}
}

// patched is the graph after a patch, in another order.
func patched(g *conflict.Graph, p *conflict.Patch) *conflict.Graph {
	out := &conflict.Graph{Targets: slices.Clone(p.Targets), Memo: g.Memo}
	skip := map[string]bool{}
	for _, t := range p.Targets {
		skip[t.Name] = true
	}
	for _, name := range p.Gone {
		skip[name] = true
	}
	for _, t := range g.Targets {
		if !skip[t.Name] {
			out.Targets = append(out.Targets, t)
		}
	}
	return out
}

// BenchmarkEngine is the engine on a graph of a million nodes and 6.4 million
// edges:
//
//	hash     all hashes from the targets, once they have numbers
//	analyze  the snapshot from a graph as an analyzer returns it
//	change   affected targets and their hashes for one of 1,000 changes
//
// Run it with -benchtime 1x.
func BenchmarkEngine(b *testing.B) {
	g := synth.New(1_000_000, 6_400_000, 1)
	a := &large{graph: wholeOf(g)}
	s := config.Analysis{Unowned: config.UnownedTarget}
	tree := conflicttest.New(nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	main := mustAdvance(b, a, s, nil, tree, nil)
	analyzed := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Run("analyze", func(b *testing.B) {
		for b.Loop() {
		}
		b.ReportMetric(analyzed.Seconds(), "s")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
	})
	b.Run("hash", func(b *testing.B) {
		again := conflict.HashAgain(main, a.graph.Targets)
		for b.Loop() {
			if !again() {
				b.Fatal("another hash")
			}
		}
	})
	for _, alterers := range []float64{0, 0.4} {
		b.Run(fmt.Sprintf("change/alterers=%v", alterers), func(b *testing.B) {
			changes := synth.Changes(g, 1000, alterers, 2)
			for b.Loop() {
				var took, made []time.Duration
				affected := []int{}
				for i := range changes {
					a.next = patchOf(g, &changes[i])
					began := time.Now()
					snap := mustAdvance(b, a, s, main, conflicttest.New(nil), []conflict.FileChange{})
					took = append(took, time.Since(began))
					f := conflict.FootprintOf(main, snap, "m")
					made = append(made, time.Since(began))
					affected = append(affected, len(f.Write))
				}
				slices.Sort(took)
				slices.Sort(made)
				slices.Sort(affected)
				b.ReportMetric(float64(took[500].Nanoseconds())/1e3, "p50-µs")
				b.ReportMetric(float64(took[990].Microseconds())/1e3, "p99-ms")
				b.ReportMetric(float64(made[500].Nanoseconds())/1e3, "footprint-p50-µs")
				b.ReportMetric(float64(made[990].Microseconds())/1e3, "footprint-p99-ms")
				b.ReportMetric(float64(affected[500]), "p50-affected")
				b.ReportMetric(float64(affected[990]), "p99-affected")
			}
		})
	}
}
