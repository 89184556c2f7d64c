package index_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/conflict/synth"
	"github.com/submitqueue/submitqueue/queue"
)

// The index says of changes of a large graph what the union graph of each pair says.
func TestIndexIsTheUnionGraph(t *testing.T) {
	for _, alterers := range []float64{0, 0.4} {
		w := newIndexWorld(synth.New(3000, 19_000, 1))
		changes := synth.Changes(w.graph, 100, alterers, 1)
		for i := range changes[1:] {
			w.compare(t, &changes[i], &changes[i+1])
		}
	}
}

// BenchmarkWorld is what it costs to know which of 1,000 pending changes of a large
// repository conflict with one that is added, with none and with 40 % of the changes
// altering the graph, and what the union graph that the paper makes of each pair
// costs. Run it with -benchtime 1x; -bench World/nodes=100000$ is the small one.
func BenchmarkWorld(b *testing.B) {
	for _, size := range []struct{ nodes, edges int }{{100_000, 640_000}, {1_000_000, 6_400_000}} {
		b.Run(fmt.Sprintf("nodes=%d", size.nodes), func(b *testing.B) {
			w := newIndexWorld(synth.New(size.nodes, size.edges, 1))
			for _, alterers := range []float64{0, 0.4} {
				b.Run(fmt.Sprintf("alterers=%v", alterers), func(b *testing.B) {
					for b.Loop() {
						w.measure(b, alterers)
					}
				})
			}
		})
	}
}

// cost is what one change costs.
type cost struct{ put, ask, explain, remove time.Duration }

func (c cost) add() time.Duration { return c.put + c.ask }

// measure adds changes to pending ones, each to the same, twice at once: the second
// time all is in the processor's cache.
func (w *indexWorld) measure(b *testing.B, alterers float64) {
	const pending, added, pairs = 1000, 1000, 20
	changes := synth.Changes(w.graph, pending+added, alterers, 1)
	id := func(i int) queue.ChangeID { return queue.NewChangeID(i, "head", "command") }
	before := heap()
	x, names := index.New(), 0
	for i := range pending {
		p := w.footprint(&changes[i])
		names += mentions(p)
		x.Put(id(i), p)
	}
	b.ReportMetric(float64(int64(heap())-int64(before))/(1<<20), "MB")
	b.ReportMetric(float64(names), "names")
	var first, again []cost
	var affected []int
	met := 0
	for i := pending; i < pending+added; i++ {
		p := w.footprint(&changes[i])
		c, found := measureAdd(b, x, id(i), p)
		first, affected, met = append(first, c), append(affected, len(p.Write)), met+found
		c, _ = measureAdd(b, x, id(i), p)
		again = append(again, c)
	}
	runtime.KeepAlive(x)
	for name, of := range map[string]struct {
		costs []cost
		part  func(cost) time.Duration
	}{
		"add": {first, cost.add}, "again": {again, cost.add}, "put": {first, func(c cost) time.Duration { return c.put }},
		"ask": {first, func(c cost) time.Duration { return c.ask }}, "explain": {first, func(c cost) time.Duration { return c.explain }},
		"remove": {first, func(c cost) time.Duration { return c.remove }},
	} {
		all := make([]time.Duration, len(of.costs))
		for i, c := range of.costs {
			all[i] = of.part(c)
		}
		reportRanks(b, name, all)
	}
	slices.Sort(affected)
	b.ReportMetric(float64(affected[len(affected)/2]), "affected-p50")
	b.ReportMetric(float64(affected[len(affected)*90/100]), "affected-p90")
	b.ReportMetric(float64(affected[len(affected)*99/100]), "affected-p99")
	b.ReportMetric(100*float64(met)/(pending*added), "%-of-pairs")
	var union []time.Duration
	for i := range pairs {
		union = append(union, w.compare(b, &changes[i], &changes[i+1]))
	}
	reportRanks(b, "union", union)
}

func reportRanks(b *testing.B, name string, all []time.Duration) {
	slices.Sort(all)
	us := func(percent int) float64 { return float64(all[(len(all)-1)*percent/100].Nanoseconds()) / 1000 }
	b.ReportMetric(us(50), name+"-p50-µs")
	b.ReportMetric(us(90), name+"-p90-µs")
	b.ReportMetric(us(99), name+"-p99-µs")
}

// measureAdd adds a change to the pending ones for as long as it asks.
func measureAdd(b *testing.B, x *index.Index, id queue.ChangeID, p queue.Footprint) (c cost, found int) {
	t0 := time.Now()
	x.Put(id, p)
	t1 := time.Now()
	found = len(x.With(id))
	t2 := time.Now()
	explained := len(x.Conflicts(id))
	t3 := time.Now()
	x.Remove(id)
	c = cost{t1.Sub(t0), t2.Sub(t1), t3.Sub(t2), time.Since(t3)}
	if explained != found {
		b.Fatalf("%d conflicts are found, %d are explained", found, explained)
	}
	return c, found
}

// heap is the memory that is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// mentions is how many names a footprint has, those above a tail once.
func mentions(p queue.Footprint) int {
	n := len(p.Write) + len(p.Read)
	for i, e := range p.Edges {
		if i == 0 || len(e.Up) != len(p.Edges[i-1].Up) {
			n += len(e.Up)
		}
	}
	return n
}
