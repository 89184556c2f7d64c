package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/conflict/synth"
	"github.com/submitqueue/submitqueue/queue"
)

// benchIndex measures what it costs to know which of many pending changes of a
// large repository conflict: conflict/index against the union graph that the
// paper makes of each pair.
type benchIndex struct {
	Nodes    int     `default:"1000000" help:"Nodes of the graph."`
	Edges    int     `default:"6400000" help:"Edges of the graph, about."`
	Pending  int     `default:"1000" help:"Changes that are pending when one is added."`
	Added    int     `default:"1000" help:"Changes to add, each to the same pending ones."`
	Alterers float64 `default:"0" help:"Share of the changes that alter the graph."`
	Rounds   int     `default:"1" help:"Add them all again; of each change the fastest counts."`
	Pairs    int     `default:"20" help:"Pairs to make the union graph of."`
	Seed     uint64  `default:"1" help:"Another seed, another graph."`
	JSON     string  `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path"`
}

// indexFigures are the figures of `bench index`. Times are CPU times of the
// thread, where the system tells them: other work lengthens them less.
type indexFigures struct {
	Nodes    int       `json:"nodes"`
	Edges    int       `json:"edges"`
	Pending  int       `json:"pending"`
	Alterers float64   `json:"alterers"`
	Affected sizes     `json:"affected"`  // names that a change writes
	Add      microtime `json:"add"`       // put it and ask for its conflicts
	Again    microtime `json:"add_again"` // the same at once, while all is in the cache
	Put      microtime `json:"put"`
	Ask      microtime `json:"conflicts"`
	Explain  microtime `json:"explain"` // with the witnesses of each, for people
	Remove   microtime `json:"remove"`
	Density  float64   `json:"density"`     // share of the pairs that conflict
	Names    int       `json:"names"`       // that the pending changes mention, each as often as it is
	Memory   float64   `json:"memory_mb"`   // of the index of the pending changes
	Union    microtime `json:"union_graph"` // of one pair
	Machine  machine   `json:"machine"`
}

// microtime is how a short time is distributed, in microseconds.
type microtime struct {
	P50 float64 `json:"p50_us"`
	P90 float64 `json:"p90_us"`
	P99 float64 `json:"p99_us"`
	Max float64 `json:"max_us"`
}

func microtimeOf[T any](of []T, cost func(T) time.Duration) microtime {
	all := make([]time.Duration, len(of))
	for i, one := range of {
		all[i] = cost(one)
	}
	at := ranks(all)
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	return microtime{us(at[0]), us(at[1]), us(at[2]), us(at[3])}
}

// sizes is how a count is distributed.
type sizes struct {
	P50 int `json:"p50"`
	P90 int `json:"p90"`
	P99 int `json:"p99"`
	Max int `json:"max"`
}

// ranks returns the 50th, 90th and 99th of a hundred, and the last.
func ranks[T time.Duration | int](all []T) (at [4]T) {
	if len(all) == 0 {
		return at
	}
	all = slices.Sorted(slices.Values(all))
	for i, percent := range []int{50, 90, 99, 100} {
		at[i] = all[max(0, (len(all)*percent+99)/100-1)]
	}
	return at
}

// indexCost is what one change costs.
type indexCost struct {
	affected                  int
	put, ask, explain, remove time.Duration
}

func (c indexCost) add() time.Duration { return c.put + c.ask }

// measureAdd adds a change to the pending ones for as long as it asks.
func measureAdd(x *index.Index, id queue.ChangeID, p queue.Footprint) (c indexCost, found int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.affected = len(p.Write)
	t0 := threadCPU()
	x.Put(id, p)
	t1 := threadCPU()
	found = len(x.With(id))
	t2 := threadCPU()
	explained := len(x.Conflicts(id))
	t3 := threadCPU()
	x.Remove(id)
	c.put, c.ask, c.explain, c.remove = t1-t0, t2-t1, t3-t2, threadCPU()-t3
	if explained != found {
		panic("bench index: as many conflicts are found as are explained")
	}
	return c, found
}

// Run implements the command.
func (b *benchIndex) Run(ctx context.Context) error {
	if b.Nodes < 100 || b.Edges < b.Nodes || b.Pending < 2 || b.Added < 1 || b.Rounds < 1 || b.Alterers < 0 || b.Alterers > 1 {
		return errors.New("--nodes is at least 100, --edges at least as many, --pending at least 2, --added and --rounds at least 1, and --alterers is from 0 to 1")
	}
	say := progress(os.Stderr)
	say("making a graph of %d nodes", b.Nodes)
	w := newIndexWorld(synth.New(b.Nodes, b.Edges, b.Seed))
	f := indexFigures{Nodes: w.graph.Len(), Edges: w.graph.Edges(), Pending: b.Pending, Alterers: b.Alterers, Machine: machineOf(os.TempDir())}
	changes := synth.Changes(w.graph, b.Pending+b.Added, b.Alterers, b.Seed)

	before := heap()
	x := index.New()
	for i := range b.Pending {
		if i%100 == 0 {
			say("%d of %d are pending", i, b.Pending)
		}
		p := w.footprint(&changes[i])
		f.Names += mentions(p)
		x.Put(benchChange(i), p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	f.Memory = float64(int64(heap())-int64(before)) / (1 << 20)

	costs, again := make([]indexCost, b.Added), make([]indexCost, b.Added)
	pairs := 0
	for round := range b.Rounds {
		for i := range b.Added {
			if i%100 == 0 {
				say("%d of %d are added, round %d of %d", i, b.Added, round+1, b.Rounds)
			}
			id, p := benchChange(b.Pending+i), w.footprint(&changes[b.Pending+i])
			cost, found := measureAdd(x, id, p)
			if round == 0 || cost.add() < costs[i].add() {
				costs[i] = cost
			}
			if cost, _ = measureAdd(x, id, p); round == 0 || cost.add() < again[i].add() {
				again[i] = cost
			}
			pairs += found
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	affected := make([]int, b.Added)
	for i, c := range costs {
		affected[i] = c.affected
	}
	at := ranks(affected)
	f.Affected = sizes{at[0], at[1], at[2], at[3]}
	f.Put = microtimeOf(costs, func(c indexCost) time.Duration { return c.put })
	f.Ask = microtimeOf(costs, func(c indexCost) time.Duration { return c.ask })
	f.Add, f.Again = microtimeOf(costs, indexCost.add), microtimeOf(again, indexCost.add)
	f.Explain = microtimeOf(costs, func(c indexCost) time.Duration { return c.explain })
	f.Remove = microtimeOf(costs, func(c indexCost) time.Duration { return c.remove })
	f.Density = float64(pairs) / float64(b.Rounds*b.Added*b.Pending)
	runtime.KeepAlive(x)

	say("making the union graphs of %d pairs", b.Pairs)
	var union []time.Duration
	for i := range min(b.Pairs, len(changes)-1) {
		took, err := w.compare(&changes[i], &changes[i+1])
		if err != nil {
			return err
		}
		union = append(union, took)
	}
	f.Union = microtimeOf(union, func(d time.Duration) time.Duration { return d })
	f.print(os.Stdout)
	return print.Figures(b.JSON, f)
}

// progress says what goes on, to somebody who waits.
func progress(to io.Writer) func(format string, args ...any) {
	begun := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(to, "%6.1f s  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
	}
}

// heap is the memory that is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func benchChange(i int) queue.ChangeID { return queue.NewChangeID(i, "head", "command") }

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

func (f indexFigures) print(to io.Writer) {
	fmt.Fprintf(to, "a graph of %d nodes and %d edges, %d pending changes, %.0f %% of which alter it\n%s\n",
		f.Nodes, f.Edges, f.Pending, f.Alterers*100, f.Machine)
	fmt.Fprintf(to, "  %-30s%12s%12s%12s%12s\n", "", "P50", "P90", "P99", "max")
	fmt.Fprintf(to, "  %-30s%12d%12d%12d%12d\n", "names that a change affects", f.Affected.P50, f.Affected.P90, f.Affected.P99, f.Affected.Max)
	for _, row := range []struct {
		name string
		m    microtime
	}{{"add a change, CPU in µs", f.Add}, {"  the same again at once", f.Again}, {"  put it", f.Put}, {"  ask for its conflicts", f.Ask}, {"say why each is one", f.Explain}, {"remove it", f.Remove}, {"union graph of a pair", f.Union}} {
		fmt.Fprintf(to, "  %-30s%12.1f%12.1f%12.1f%12.1f\n", row.name, row.m.P50, row.m.P90, row.m.P99, row.m.Max)
	}
	fmt.Fprintf(to, "  %.1f %% of the pairs conflict\n", f.Density*100)
	fmt.Fprintf(to, "  %.0f MB for the %d pending, %.1f million names\n", f.Memory, f.Pending, float64(f.Names)/1e6)
}
