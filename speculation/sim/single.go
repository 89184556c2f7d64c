package sim

import "context"

// single is the single queue of "Keeping Master Green at Scale" (EuroSys'19,
// section 8.2) with the paper's conflict analysis: a change is built when
// no undecided change before it may conflict with it, and decided by that build. It
// does not speculate.
type single struct{}

var _ Strategy = single{}

// Name implements Strategy.
func (single) Name() string { return "single" }

// Run implements Strategy.
func (single) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	e := newEngine(ctx, w, o)
	return e.run(&singleQueue{engine: e, graph: NewGraph(w), ahead: make([]int, len(w.Changes)), started: make([]bool, len(w.Changes))})
}

type singleQueue struct {
	*engine
	graph   *Graph
	ahead   []int // by change: undecided ones before it
	started []bool
}

func (q *singleQueue) arrived(c int) {
	for _, a := range q.graph.Earlier[c] {
		if !q.decided[a] {
			q.ahead[c]++
		}
	}
}

func (q *singleQueue) ended(b *build) {
	c := b.changes[0]
	q.decide(c, !b.failed)
	for _, d := range q.graph.Later[c] {
		if d >= q.arrivals {
			break
		}
		q.ahead[d]--
	}
}

func (q *singleQueue) voided(c int) { q.started[c] = false }

func (q *singleQueue) plan() {
	for c := 0; c < q.arrivals && q.free > 0; c++ {
		if !q.decided[c] && !q.started[c] && q.ahead[c] == 0 {
			q.started[c] = true
			q.start([]int{c}, nil, 0)
		}
	}
}
