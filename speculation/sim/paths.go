package sim

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// paths enumerates the paths of changes lazily, the most needed first. A path is
// one assumption (lands, does not) for each undecided change ahead. Its needed is the
// probability that all assumptions come true, each given those before it (EuroSys'19,
// section 4.2, equations 1 to 5: a conflict with a change that is assumed to land makes
// it less likely that the next one lands).
type paths struct {
	*speculator
	heap   pathHeap
	assume []assumption // by change, valid for the walk of its stamp
	stamp  int
}

type assumption struct {
	stamp int // of the walk that took it; negative: to be taken in that walk, a flip
	lands bool
}

// path is the likeliest path of a change, except for some flips.
type path struct {
	change int
	flips  []int // places in the change's flips, ascending
	needed float64
}

// flip is a change ahead for which the other outcome may be assumed, and what that costs.
type flip struct {
	change int
	lands  bool    // on the likeliest path
	odds   float64 // of the other outcome to this one; at most 1
}

// begin starts a round with the likeliest path of each of the changes.
func (p *paths) begin(changes []int) {
	p.heap = p.heap[:0]
	for _, c := range changes {
		x := &p.changes[c]
		x.flips, x.seen = x.flips[:0], x.seen[:0]
		x.needed, x.likely = p.walk(c, nil, false)
		p.heap = append(p.heap, path{change: c, needed: x.needed})
	}
	heap.Init(&p.heap)
}

// next returns the most needed path that is left, unless its needed is below worth. key
// names its assumptions. A path comes up once in a round.
func (p *paths) next(worth float64) (best path, key uint64, ok bool) {
	for len(p.heap) > 0 && p.heap[0].needed >= worth {
		best = p.heap[0]
		p.branch(best)
		x := &p.changes[best.change]
		key = x.likely
		if len(best.flips) > 0 {
			_, key = p.walk(best.change, best.flips, false)
		}
		if !slices.Contains(x.seen, key) {
			x.seen = append(x.seen, key)
			return best, key, true
		}
	}
	return path{}, 0, false
}

// assumed returns which changes ahead a path assumes to land.
func (p *paths) assumed(x path) []int {
	p.walk(x.change, x.flips, false)
	var out []int
	for _, a := range p.changes[x.change].ahead {
		if p.assume[a].lands {
			out = append(out, a)
		}
	}
	return out
}

// branch puts a path's two children in its place: one more flip, and the next
// flip instead of the last. So each set of flips comes up once, and never before a set
// of the same change that costs less.
func (p *paths) branch(best path) {
	x := &p.changes[best.change]
	n := len(best.flips)
	at := 0
	if n > 0 {
		at = best.flips[n-1] + 1
	} else if len(x.ahead) > 0 {
		p.walk(best.change, nil, true)
		slices.SortStableFunc(x.flips, func(a, b flip) int { return cmp.Compare(b.odds, a.odds) })
	}
	if at >= len(x.flips) {
		heap.Pop(&p.heap)
		return
	}
	odds := x.flips[at].odds
	p.heap[0] = path{change: best.change, flips: append(slices.Clip(best.flips), at), needed: best.needed * odds}
	heap.Fix(&p.heap, 0)
	if n > 0 {
		heap.Push(&p.heap, path{change: best.change, flips: append(slices.Clone(best.flips[:n-1]), at),
			needed: best.needed / x.flips[at-1].odds * odds})
	}
}

// walk takes the likelier outcome of each change ahead, in order, except for flips. It
// returns the chance of all these outcomes together, and the path's key. If the change
// may bypass another, both outcomes of that one are needed alike, with the chance that
// the change ends before it (CI at Scale, 2025, the general formula of P_needed). This
// does not hold if it is next to impossible that the change ends before all that it may
// bypass. The path is in assume until the next walk. With collect it collects the
// flips.
func (p *paths) walk(c int, flips []int, collect bool) (needed float64, key uint64) {
	x := &p.changes[c]
	p.stamp++
	for _, f := range flips {
		p.assume[x.flips[f].change] = assumption{stamp: -p.stamp, lands: !x.flips[f].lands}
	}
	needed, key = 1, x.base
	first := p.firstOf(c, x.ahead)
	for _, a := range x.ahead {
		chance := p.chance(a)
		lands := chance >= 0.5
		if p.assume[a].stamp == -p.stamp {
			lands = p.assume[a].lands
		}
		p.assume[a] = assumption{stamp: p.stamp, lands: lands}
		taken := chance
		if !lands {
			taken = 1 - chance
		}
		if lands {
			key ^= label(a)
		}
		other := 1 - taken
		if first > 0 {
			if q := p.before(c, a); q > 0 {
				taken, other = q, q
			}
		}
		needed *= taken
		if collect {
			x.flips = append(x.flips, flip{change: a, lands: lands, odds: max(1e-9, min(1, other/taken))})
		}
	}
	return needed, key
}

// firstOf returns the chance that a change ends before all that it may bypass, by the
// paper's rule: the product. It is 0 if the product counts as none, or if there are too
// many of them.
func (p *paths) firstOf(c int, ahead []int) float64 {
	if !p.bypass {
		return 0
	}
	first, n := 1.0, 0
	for _, a := range ahead {
		if q := p.before(c, a); q > 0 {
			first *= q
			n++
		}
	}
	if n > p.most || first < predict.PublishedZero {
		return 0
	}
	return first
}

// chance returns how likely a change ahead is to land, given the decisions and the
// present walk's assumptions about the changes before it. If the change has been built
// on exactly these, its result is known.
func (p *paths) chance(a int) float64 {
	if !p.predict {
		return 0.5
	}
	if result, ok := p.built(a); ok {
		if result {
			return 1 - unsure
		}
		return unsure
	}
	chance := p.beliefs.good[a]
	for i, k := range p.w.Changes[a].Predicted.Conflicts {
		q := p.beliefs.pair[a][i]
		switch {
		case p.decided[k.With]:
			if p.main.Has(k.With) {
				chance *= 1 - q
			}
		case p.assume[k.With].stamp != p.stamp:
			chance *= 1 - elsewhere*q
		case p.assume[k.With].lands:
			chance *= 1 - q
		}
	}
	return chance
}

// built returns the result of a change's build on the walk's assumptions. ok is false
// if there was no such build, or if the walk does not assume an outcome of all changes
// ahead of it.
func (p *paths) built(a int) (passed, ok bool) {
	x := &p.changes[a]
	if !p.learn || len(x.known) == 0 {
		return false, false
	}
	key := x.base
	for _, k := range x.ahead {
		if p.assume[k].stamp != p.stamp {
			return false, false
		}
		if p.assume[k].lands {
			key ^= label(k)
		}
	}
	passed, ok = x.known[key]
	return passed, ok
}

const (
	unsure    = 1e-4 // the doubt that is left when a result is known
	elsewhere = 0.9  // how likely a change lands that a path says nothing about
)

// pathHeap is a heap of paths by needed, then by arrival.
type pathHeap = heaped[path]

// Before is the order of the heap.
func (a path) Before(b path) bool {
	if a.needed != b.needed {
		return a.needed > b.needed
	}
	return a.change < b.change
}
