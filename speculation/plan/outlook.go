package plan

import (
	"math"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

const weakShare = 0.9 // part of a weak pair's chance that counts while the change ahead is undecided

const unmergeable = 0.05 // chance of a change that does not merge on its likeliest base

const proven = 0.98 // chance of a change that has passed on it

const doubtful = 0.1 // chance of a change that has failed on it, and will be run again before that decides

// hear takes the results of a change's likeliest future into the chance that the change
// lands. sure is the chance that an outcome there is the change's outcome.
func (m *Mind) hear(sure float64) {
	switch {
	case m.Likely.Status == derived.Verified:
		m.Odds = max(m.Odds, sure)
	case m.Likely.Status == derived.Failed:
		m.Odds = min(m.Odds, 1-sure)
	case m.Deal.Doubted:
		m.Odds = min(m.Odds, doubtful)
	}
}

// Expect returns the chance that a change lands, without strong pairs: that it is green
// on its own, and with each other change that it is weakly suspected to break with and
// that no build has cleared.
func (p *Planner) Expect(n *derived.Node, edges []derived.Edge) float64 {
	if n.Fair {
		return MindOf(n).Base
	}
	q := p.facts.Beliefs.Good(n.ID)
	MindOf(n).strong = MindOf(n).strong[:0]
	for i := range edges {
		if e := &edges[i]; e.Q <= strong {
			q *= 1 - weakShare*e.Q
		} else {
			MindOf(n).strong = append(MindOf(n).strong, *e)
		}
	}
	if b := p.s.Beliefs[n.ID]; b != nil {
		for _, other := range derived.SortedIf(b.Pairs, func(other queue.ChangeID, _ float64) bool {
			ch := p.s.Changes[other]
			return ch != nil && (ch.Phase == queue.Landed || ch.Phase == queue.Landing)
		}) {
			q *= 1 - p.facts.Beliefs.PairChance(other, n.ID)
		}
	}
	n.Fair, MindOf(n).Base = true, derived.ClampChance(q)
	return MindOf(n).Base
}

// likeliest goes through the changes ahead in order and takes for each the
// likelier outcome, given the outcomes taken before: chance[i] of its Mind is that of
// the outcome taken at edge i. It returns when the last of them is expected to be
// decided, and the build that ends then.
func (p *planning) likeliest(n *derived.Node, edges []derived.Edge) (need queue.Instant, last derived.Stretch) {
	if len(MindOf(n).Takes) != len(edges) {
		MindOf(n).Takes, MindOf(n).chance = derived.Resize(MindOf(n).Takes, len(edges)), derived.Resize(MindOf(n).chance, len(edges))
		n.Shape, n.Needed, n.Dealt = false, false, false
	}
	p.stamp++
	for i := range edges {
		to := edges[i].To
		q := p.oddsOf(to)
		pairs := MindOf(to).strong
		if !to.Fair {
			pairs = to.Edges // this plan does not look at it
		}
		for j := range pairs {
			if e := &pairs[j]; e.Q > strong && MindOf(e.To).taken == p.stamp {
				q *= 1 - e.Q
			}
		}
		take, chance := q >= 0.5, max(q, 1-q)
		if len(p.facts.Order.Stacked) > 0 {
			take, chance = p.stackTake(n, edges, i, q)
		}
		if take != MindOf(n).Takes[i] {
			MindOf(n).Takes[i], n.Shape = take, false
		}
		if chance != MindOf(n).chance[i] {
			MindOf(n).chance[i], n.Needed, n.Dealt = chance, false, false
		}
		if MindOf(to).Plan == p.Plans {
			if MindOf(to).End > need {
				need, last = MindOf(to).End, MindOf(to).last
			}
			if take {
				MindOf(to).taken = p.stamp
			}
		}
	}
	return need, last
}

func (p *planning) oddsOf(n *derived.Node) float64 {
	if MindOf(n).Plan != p.Plans {
		return p.facts.Beliefs.Good(n.ID) // too far back to be looked at
	}
	return MindOf(n).Odds
}

// need fills in the chance that a future's result for each target decides the
// change: the product over only those changes ahead that affect this target. It also
// fills in the mean of these by share of work, and the shares of work that the changes ahead affect.
func (f *Future) need(edges []derived.Edge, chance []float64) {
	f.Needed = derived.Resize(f.Needed, len(f.N.X.Targets))
	for i := range f.Needed {
		f.Needed[i] = 1
	}
	rows := derived.Resize(MindOf(f.N).rows, len(edges))
	MindOf(f.N).rows = rows
	for i := range edges {
		row := 0.0
		for _, at := range edges[i].Shared {
			f.Needed[at] *= chance[i]
			row += f.N.Share[at]
		}
		rows[i] = row
	}
	f.average()
}

func (f *Future) average() {
	f.mean = 0
	for i, q := range f.Needed {
		f.mean += q * f.N.Share[i]
	}
	f.mean = math.Round(f.mean*1e9) / 1e9 // so that the order of the targets does not matter
	if len(f.Needed) == 0 {
		f.mean = 1
	}
}

// ends says when the results of a change's builds are expected to be known, and by which build.
func (p *planning) ends(n *derived.Node, f *Future) (queue.Instant, derived.Stretch) {
	if f.Status != derived.Unknown {
		return p.facts.Now, derived.Stretch{From: p.facts.Now}
	}
	if until := p.until(n); until > p.facts.Now {
		return until, MindOf(n).busy
	}
	took := n.Span(MindOf(n).Deal.unknown)
	return p.facts.Now.Add(took), derived.Stretch{From: p.facts.Now, Took: took}
}
