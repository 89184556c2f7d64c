package speculation

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// outlook is what the plan expects of one pending change.
type outlook struct {
	base  float64       // chance that it lands, but for strong pairs
	end   queue.Instant // when its fate is expected to be known
	stamp int           // of the last future that took it
}

// Of the value of a build (planner.md 9, "Recommended defaults").
const (
	weakShare   = 0.9  // of a weak pair's chance, while the one ahead is undecided
	unmergeable = 0.05 // chance of a change that does not merge on its likeliest base
	proven      = 0.98 // chance of one that has passed on it
)

// expect returns the chance that a change lands, but for strong pairs: it is
// green on its own, and with each of the others that it is only weakly
// suspected to break with and that no build has cleared (planner.md 9, rule 4).
func (p *planning) expect(n *node, edges []edge) float64 {
	q := p.good(n.id)
	for i := range edges {
		if e := &edges[i]; e.q <= strong {
			q *= 1 - weakShare*e.q
		}
	}
	if b := p.s.Beliefs[n.id]; b != nil {
		for _, other := range sorted(b.Pairs) {
			if ch := p.s.Changes[other]; ch != nil && (ch.Phase == queue.Landed || ch.Phase == queue.Landing) {
				q *= 1 - b.Pairs[other]
			}
		}
	}
	return clampChance(q)
}

// likeliest goes through the changes ahead in order and takes for each the
// likelier outcome, given those taken before: chance[i] is that of the branch
// taken at edge i.
func (p *planning) likeliest(edges []edge, takes []bool, chance []float64) {
	p.stamp++
	for i := range edges {
		to := edges[i].to
		o := p.outlooks[to.id]
		q := p.base(to, o)
		for j := range to.edges {
			if e := &to.edges[j]; e.q > strong {
				if k := p.outlooks[e.to.id]; k != nil && k.stamp == p.stamp {
					q *= 1 - e.q
				}
			}
		}
		takes[i] = q >= 0.5
		chance[i] = max(q, 1-q)
		if takes[i] && o != nil {
			o.stamp = p.stamp
		}
	}
}

func (p *planning) base(n *node, o *outlook) float64 {
	if o == nil {
		return p.good(n.id) // too far back to be looked at
	}
	return o.base
}

// need fills in the chance that a future's result for each target decides the
// change: the product over those changes ahead alone that affect this target
// (planner.md 6.5), and the mean of it by share of work.
func (f *future) need(edges []edge, chance []float64) {
	f.needed = resize(f.needed, len(f.n.x.targets))
	for i := range f.needed {
		f.needed[i] = 1
	}
	for i := range edges {
		for _, at := range edges[i].shared {
			f.needed[at] *= chance[i]
		}
	}
	f.mean = 0
	for i, q := range f.needed {
		f.mean += q * f.n.share[i]
	}
	if len(f.needed) == 0 {
		f.mean = 1
	}
}

// ends says when a change's fate is expected to be known: when its builds are
// through, and those ahead are decided.
func (p *planning) ends(n *node, edges []edge, f *future) (end, need queue.Instant) {
	for i := range edges {
		if o := p.outlooks[edges[i].to.id]; o != nil {
			need = max(need, o.end)
		}
	}
	own := p.now
	if f.status == unknown {
		open := 0.0
		for i, st := range f.by {
			if st == unknown {
				open += n.share[i]
			}
		}
		own = p.now.Add(p.span(n, open))
		if until := p.until[n.id]; until > p.now {
			own = until
		}
	}
	return max(own, need), need
}

// span predicts how long building a share of a change takes: less than the
// whole, but not less than its targets take one after the other, as far as that
// is known, because those of one area often are.
func (p *planning) span(n *node, share float64) time.Duration {
	whole := p.s.Changes[n.id].Predicted.Seconds()
	part := max((1-fixedShare)*share*whole, share*n.cost)
	return time.Duration(min(whole, fixedShare*whole+part) * float64(time.Second))
}

// fixedShare is the share of a build's time that does not shrink with its
// targets: fetching, setting up.
const fixedShare = 0.12
