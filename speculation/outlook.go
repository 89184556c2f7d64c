package speculation

import (
	"math"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Of the value of a build (planner.md 9, "Recommended defaults").
const (
	weakShare   = 0.9  // of a weak pair's chance, while the one ahead is undecided
	unmergeable = 0.05 // chance of a change that does not merge on its likeliest base
	proven      = 0.98 // chance of one that has passed on it
)

// expect returns the chance that a change lands, but for strong pairs: it is
// green on its own, and with each of the others that it is only weakly
// suspected to break with and that no build has cleared (planner.md 9, rule 4).
func (c *Core) expect(n *node, edges []edge) float64 {
	if n.fair {
		return mindOf(n).base
	}
	q := c.good(n.id)
	mindOf(n).strong = mindOf(n).strong[:0]
	for i := range edges {
		if e := &edges[i]; e.q <= strong {
			q *= 1 - weakShare*e.q
		} else {
			mindOf(n).strong = append(mindOf(n).strong, *e)
		}
	}
	if b := c.s.Beliefs[n.id]; b != nil {
		for _, other := range sorted(b.Pairs) {
			if ch := c.s.Changes[other]; ch != nil && (ch.Phase == queue.Landed || ch.Phase == queue.Landing) {
				q *= 1 - c.pairChance(other, n.id)
			}
		}
	}
	n.fair, mindOf(n).base = true, clampChance(q)
	return mindOf(n).base
}

// likeliest goes through the changes ahead in order and takes for each the
// likelier outcome, given those taken before: n.chance[i] is that of the branch
// taken at edge i. It returns when the last of them is expected to be decided.
func (p *planning) likeliest(n *node, edges []edge) (need queue.Instant) {
	if len(mindOf(n).takes) != len(edges) {
		mindOf(n).takes, mindOf(n).chance = resize(mindOf(n).takes, len(edges)), resize(mindOf(n).chance, len(edges))
		n.shape, n.dealt = false, false
	}
	p.stamp++
	for i := range edges {
		to := edges[i].to
		q := p.oddsOf(to)
		pairs := mindOf(to).strong
		if !to.fair {
			pairs = to.edges // it is not looked at in this plan
		}
		for j := range pairs {
			if e := &pairs[j]; e.q > strong && mindOf(e.to).taken == p.stamp {
				q *= 1 - e.q
			}
		}
		take, chance := q >= 0.5, max(q, 1-q)
		if len(p.stacked) > 0 {
			take, chance = p.stackTake(n, edges, i, q)
		}
		if take != mindOf(n).takes[i] {
			mindOf(n).takes[i], n.shape = take, false
		}
		if chance != mindOf(n).chance[i] {
			mindOf(n).chance[i], n.dealt = chance, false
		}
		if mindOf(to).plan == p.plans {
			if need = max(need, mindOf(to).end); take {
				mindOf(to).taken = p.stamp
			}
		}
	}
	return need
}

func (p *planning) oddsOf(n *node) float64 {
	if mindOf(n).plan != p.plans {
		return p.good(n.id) // too far back to be looked at
	}
	return mindOf(n).odds
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
	f.average()
}

func (f *future) average() {
	f.mean = 0
	for i, q := range f.needed {
		f.mean += q * f.n.share[i]
	}
	f.mean = math.Round(f.mean*1e9) / 1e9 // whatever the order of the targets
	if len(f.needed) == 0 {
		f.mean = 1
	}
}

// ends says when what a change's builds show is expected to be known.
func (p *planning) ends(n *node, f *future) queue.Instant {
	own := p.now
	if f.status == unknown {
		own = p.now.Add(n.span(mindOf(n).deal.unknown))
		if until := p.until(n); until > p.now {
			own = until
		}
	}
	return own
}

// span predicts how long building a part of a change takes: less than the
// whole, but not less than what is built in a row takes, as far as that is known.
func (n *node) span(part work) time.Duration {
	whole := n.ch.Predicted.Seconds()
	took := max((1-fixedShare)*part.share*whole, part.row*n.cost)
	return time.Duration(math.Round(min(whole, fixedShare*whole+took)*1e3)) * time.Millisecond
}

// fixedShare is the share of a build's time that does not shrink with its
// targets: fetching, setting up.
const fixedShare = 0.12
