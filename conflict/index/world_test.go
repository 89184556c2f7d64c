package index_test

import (
	"maps"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/conflict/synth"
	"github.com/submitqueue/submitqueue/queue"
)

// indexWorld turns changes of a synthetic graph into footprints.
type indexWorld struct {
	graph  *synth.Graph
	off    []uint32 // reverse rows
	up     []uint32
	byName []uint32 // nodes, sorted by name
	place  []uint32 // of a node there
	seen   []uint64 // by place
	todo   []uint32
}

func newIndexWorld(g *synth.Graph) *indexWorld {
	w := &indexWorld{graph: g, byName: make([]uint32, g.Len()), place: make([]uint32, g.Len()), seen: make([]uint64, (g.Len()+63)/64)}
	w.off, w.up = g.Dependents()
	for i := range w.byName {
		w.byName[i] = uint32(i)
	}
	slices.SortFunc(w.byName, func(a, b uint32) int { return strings.Compare(g.Name(a), g.Name(b)) })
	for i, node := range w.byName {
		w.place[node] = uint32(i)
	}
	return w
}

// closure returns the names of nodes and of all that depend on them on main,
// sorted, in memory of their own as those that were read from a store are. A
// change adds nothing to this but its new targets: whatever is above the tail
// of an edge that it adds or removes is above it on main.
func (w *indexWorld) closure(from []uint32) []string {
	clear(w.seen)
	n, size := 0, 0
	for w.todo = append(w.todo[:0], from...); len(w.todo) > 0; {
		node := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		at := w.place[node]
		if w.seen[at/64]>>(at%64)&1 != 0 {
			continue
		}
		w.seen[at/64] |= 1 << (at % 64)
		n++
		size += len(w.graph.Name(node))
		w.todo = append(w.todo, w.up[w.off[node]:w.off[node+1]]...)
	}
	var text strings.Builder
	text.Grow(size)
	list := make([]string, 0, n+2)
	for i, word := range w.seen {
		for ; word != 0; word &= word - 1 {
			from := text.Len()
			text.WriteString(w.graph.Name(w.byName[i*64+bits.TrailingZeros64(word)]))
			list = append(list, text.String()[from:])
		}
	}
	return list
}

// footprint is what conflict.FootprintOf says of a change.
func (w *indexWorld) footprint(c *synth.Change) queue.Footprint {
	changed := slices.Clone(c.Edited)
	changed = append(changed, c.Gone...)
	tails := map[uint32][]string{}
	for _, e := range slices.Concat(c.Added, c.Removed) {
		changed = append(changed, e.From)
	}
	f := queue.Footprint{Write: w.closure(changed)}
	if !c.Alters() {
		return f
	}
	for _, e := range c.Added {
		tails[e.From] = nil
	}
	var fresh []string
	for _, t := range c.New {
		fresh = append(fresh, t.Name)
	}
	for tail := range tails {
		tails[tail] = w.closure([]uint32{tail})
		for _, t := range c.New {
			if slices.Contains(t.Deps, tail) {
				tails[tail] = append(tails[tail], t.Name)
			}
		}
		slices.Sort(tails[tail])
	}
	for _, e := range c.Added {
		f.Edges = append(f.Edges, queue.AddedEdge{To: w.graph.Name(e.To), Up: tails[e.From]})
	}
	for _, t := range c.New {
		for _, d := range t.Deps {
			f.Edges = append(f.Edges, queue.AddedEdge{To: w.graph.Name(d), Up: []string{t.Name}})
		}
	}
	for _, e := range f.Edges {
		f.Read = append(f.Read, e.To)
	}
	slices.Sort(f.Read)
	f.Read = slices.Compact(f.Read)
	definitions := map[string]bool{}
	for _, e := range slices.Concat(c.Added, c.Removed) {
		definitions[conflict.DefinitionPrefix+strings.TrimSuffix(w.graph.Name(e.From), ":lib")+"/BUILD"] = true
	}
	f.Write = slices.Concat(f.Write, fresh, slices.Collect(maps.Keys(definitions)))
	slices.Sort(f.Write)
	f.Write = slices.Compact(f.Write)
	return f
}

// compare makes the union graph of two changes with main, as the paper does,
// and fails unless the index of the two says the same.
func (w *indexWorld) compare(t testing.TB, a, b *synth.Change) time.Duration {
	t.Helper()
	begun := time.Now()
	met := w.unionGraph(a, b)
	took := time.Since(begun)
	x := index.New()
	x.Put("a", w.footprint(a))
	x.Put("b", w.footprint(b))
	if got := x.Conflict("a", "b"); got != met {
		t.Fatalf("of the changes %+v and %+v the index says %v, the union graph %v", *a, *b, got, met)
	}
	return took
}

// unionGraph reports whether two changes affect a target of main ∪ main+a ∪
// main+b. It goes through the whole graph from what depends on nothing to what
// nothing depends on; the graph is not even copied.
func (w *indexWorld) unionGraph(a, b *synth.Change) bool {
	n := w.graph.Len()
	tags := make([]byte, n)
	added := map[uint32][]uint32{}
	fresh := map[string]byte{}
	for bit, c := range []*synth.Change{a, b} {
		tag := byte(1) << bit
		for _, node := range slices.Concat(c.Edited, c.Gone) {
			tags[node] |= tag
		}
		for _, e := range c.Removed {
			tags[e.From] |= tag
		}
		for _, e := range c.Added {
			tags[e.From] |= tag
			added[e.From] = append(added[e.From], e.To)
		}
		for _, t := range c.New {
			fresh[t.Name] |= tag
		}
	}
	met := false
	for node := range uint32(n) {
		tag := tags[node]
		for _, d := range w.graph.Deps(node) {
			tag |= tags[d]
		}
		if len(added) > 0 {
			for _, d := range added[node] {
				tag |= tags[d]
			}
		}
		tags[node] = tag
		met = met || tag == 3
	}
	for _, c := range []*synth.Change{a, b} {
		for _, t := range c.New {
			for _, d := range t.Deps {
				fresh[t.Name] |= tags[d]
			}
			met = met || fresh[t.Name] == 3
		}
	}
	return met
}
