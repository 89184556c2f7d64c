package sim

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// paths enumerates the paths of changes lazily, the most needed first. A path is
// one assumption (lands, does not) for each undecided change ahead; its needed is
// the probability that all of them come true, each given those before it
// (EuroSys'19, section 4.2, equations 1 to 5: a conflict with a change that is
// assumed to land makes it less likely that the next one lands).
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

// path is the likeliest path of a change but for some flips.
type path struct {
	change int
	flips  []int // places in the change's flips, ascending
	needed float64
}

// flip is a change ahead that may be assumed the other way, and what that costs.
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

// next returns the most needed path that is left, unless it is worth less; key
// names what it assumes. A path comes up once in a round.
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
// flip instead of the last. So each set of flips comes up once, and not before
// one of the same change that costs less.
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

// walk takes the likelier outcome of each change ahead, in order, but for flips,
// and returns how likely all that is together and the path's key. Of one that the
// change may bypass, both outcomes are needed as much: as likely as it is that the
// change ends before it (CI at Scale, 2025, the general formula of P_needed), unless it
// is next to impossible that it ends before all of them. The path is in assume until
// the next walk. With collect it collects the flips.
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

// firstOf returns the chance that a change ends before all that it may bypass, as the
// paper has it: the product; 0 where that counts as none, and where they are too many.
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

// chance returns how likely a change ahead is to land, given what is decided and
// what the present walk assumes of those before it. If it has been built on just
// that, its result is known.
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

// built returns the result of a change's build on what the walk assumes, if it
// assumes something of all that is ahead of it, and there was one.
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
	unsure    = 1e-4 // what is left of doubt where a result is known
	elsewhere = 0.9  // how likely a change is to land of which a path says nothing
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
