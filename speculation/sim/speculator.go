package sim

import (
	"slices"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// speculator is SubmitQueue: for each change it builds all of the change's targets, on
// several paths, and decides by the path that came true. Results of one change's builds
// say nothing of another's.
type speculator struct {
	*engine
	graph *Graph
	rules
	changes []spec
	pending []int // undecided, by arrival
	paths   *paths
	beliefs *beliefs
}

// rules are the points in which the published variants differ.
type rules struct {
	predict   bool    // use predictions; otherwise every change lands with chance 1/2
	learn     bool    // results change how likely a change is to land
	bypass    bool    // decide a change when all paths that are left agree
	first     float64 // least chance to end before a change ahead with which a change may bypass it
	most      int     // how many it may bypass at once: each doubles its paths
	threshold float64 // least needed of a build that is worth running
	horizon   int     // only so many pending changes for each worker are looked at
}

// spec is the speculator's record of a change.
type spec struct {
	ahead  []int           // undecided changes that arrived before, in order
	base   uint64          // key of the landed changes
	known  map[uint64]bool // results by path
	likely uint64          // the likeliest path of this round, and its needed
	needed float64
	flips  []flip
	seen   []uint64 // paths of this round
}

func runSpeculator(e *engine, r rules) (*Outcome, error) {
	n := len(e.w.Changes)
	s := &speculator{engine: e, graph: NewGraph(e.w), rules: r, changes: make([]spec, n)}
	s.beliefs = newBeliefs(e.w)
	s.paths = &paths{speculator: s, assume: make([]assumption, n)}
	return e.run(s)
}

func (s *speculator) arrived(c int) {
	s.pending = append(s.pending, c)
	x := &s.changes[c]
	x.known = map[uint64]bool{}
	for _, a := range s.graph.Earlier[c] {
		switch {
		case !s.decided[a]:
			x.ahead = append(x.ahead, a)
		case s.main.Has(a):
			x.base ^= label(a)
		}
	}
}

func (s *speculator) ended(b *build) {
	s.changes[b.changes[0]].known[b.key] = !b.failed
	if s.learn {
		s.beliefs.result(b.changes[0], b.assumed, b.failed)
	}
}

func (s *speculator) voided(c int) { clear(s.changes[c].known) }

// before returns the chance that a change's builds end before those of a change ahead,
// by the published rule, or 0 if it may not bypass that change.
func (s *speculator) before(c, ahead int) float64 {
	if !s.bypass {
		return 0
	}
	if p := predict.PublishedBefore(s.arrival(c), s.arrival(ahead)); p >= s.first {
		return p
	}
	return 0
}

func (s *speculator) arrival(c int) predict.Arrival {
	x := &s.w.Changes[c]
	return predict.Arrival{At: x.ArriveMin, Mean: x.Predicted.DurationMin, SD: x.Predicted.DurationSDMin}
}

func (s *speculator) plan() {
	s.settle()
	look := s.pending
	if most := s.horizon * s.o.Workers; most > 0 && len(look) > most {
		look = look[:most]
	}
	s.paths.begin(look)
	keep, start := map[*build]bool{}, []path(nil)
	for len(keep)+len(start) < s.o.Workers {
		best, key, ok := s.paths.next(s.threshold)
		if !ok {
			break
		}
		x := &s.changes[best.change]
		if _, known := x.known[key]; known {
			continue
		}
		if b := s.building(best.change, key); b != nil {
			keep[b] = true
			continue
		}
		start = append(start, best)
	}
	s.preempt(keep, start)
}

// preempt stops builds that are not among the best, and starts those that are new
// there.
func (s *speculator) preempt(keep map[*build]bool, start []path) {
	for _, b := range slices.Clone(s.running) {
		if !b.stopped && !keep[b] {
			s.stop(b)
		}
	}
	for _, x := range start {
		assumed := s.paths.assumed(x)
		key := s.changes[x.change].base
		for _, a := range assumed {
			key ^= label(a)
		}
		s.start([]int{x.change}, assumed, key)
	}
}

func (s *speculator) building(c int, key uint64) *build {
	for _, b := range s.current[c] {
		if b.key == key {
			return b
		}
	}
	return nil
}

// settle decides, in order of arrival, the changes that can be decided.
func (s *speculator) settle() {
	kept := s.pending[:0]
	for _, c := range s.pending {
		lands, ok := s.verdict(c)
		if !ok {
			kept = append(kept, c)
			continue
		}
		s.decide(c, lands)
		for _, d := range s.graph.Later[c] {
			if d >= s.arrivals {
				break
			}
			x := &s.changes[d]
			if i, found := slices.BinarySearch(x.ahead, c); found {
				x.ahead = slices.Delete(x.ahead, i, i+1)
				if lands {
					x.base ^= label(c)
				}
			}
		}
	}
	s.pending = kept
}

// mostBypassed is how many changes a change may bypass at once.
const mostBypassed = 10

// verdict says whether a change's outcome is known. With no change ahead its one path
// decides. Otherwise, if bypassing is on, it is known when the results of all paths are
// known and agree.
func (s *speculator) verdict(c int) (lands, ok bool) {
	x := &s.changes[c]
	m := len(x.ahead)
	if m > 0 && (!s.bypass || m > mostBypassed || len(x.known) < 1<<m) {
		return false, false
	}
	for mask := range 1 << m {
		key := x.base
		for i, a := range x.ahead {
			if mask>>i&1 == 1 {
				key ^= label(a)
			}
		}
		result, known := x.known[key]
		if !known || mask > 0 && result != lands {
			return false, false
		}
		lands = result
	}
	return lands, true
}
