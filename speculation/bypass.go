package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Of futures beyond the likeliest.
const (
	maxBypass   = 3   // undecided changes ahead over all of whose outcomes whole paths are followed: 2^maxBypass
	bypassWorth = 0.8 // of the likeliest future's value, for the other outcome of one that is late: both are needed
	lateFactor  = 2   // how many times longer than the bypassing change the other still takes
)

// spares considers what free slots are good for where nothing is known of
// changes but an average: the other outcome of the first undecided change
// ahead, and of those that will be undecided for much longer than the build
// takes, and all outcomes of a few once the likeliest is proven, so that the
// change may land before them ("Bypassing Large Diffs", 2023). Where changes are
// predicted it costs half as many builds again and gains nothing.
func (p *planning) spares(n *node, edges []edge, f *future, value float64) {
	chance := mindOf(n).chance
	cold := p.rules().Spare == config.SpareAlways || p.rules().Spare != config.SpareNever && p.model.Cold()
	if !cold {
		return
	}
	free := p.s.Slots > len(p.s.Builds)
	for i := range edges {
		late := p.late(edges[i].to, n)
		if !late && (i > 0 || !free) {
			continue
		}
		takes := slices.Clone(f.takes)
		if takes[i] = !takes[i]; !p.sound(edges, takes) {
			continue
		}
		to := aim{kind: queue.WorthSpare, odds: (1 - chance[i]) / chance[i]}
		if late {
			to = aim{kind: queue.WorthLate, odds: max(to.odds, bypassWorth)}
		}
		p.spare(n, edges, takes, value, to)
	}
	if f.status != verified || len(edges) > maxBypass || !free {
		return
	}
	for mask := range 1 << len(edges) {
		takes, odds := make([]bool, len(edges)), 1.0
		for i := range edges {
			if takes[i] = mask&(1<<i) != 0; takes[i] != f.takes[i] {
				odds *= (1 - chance[i]) / chance[i]
			}
		}
		if odds < 1 && p.sound(edges, takes) {
			p.spare(n, edges, takes, value, aim{kind: queue.WorthSpare, odds: odds})
		}
	}
}

func (p *planning) spare(n *node, edges []edge, takes []bool, value float64, aim aim) {
	if rounded(aim.odds) == 0 {
		return // it is taken not to come, and its build would be worth nothing
	}
	g := &future{spare: true}
	p.see(n, edges, takes, g)
	g.needed = resize(g.needed, len(n.x.targets))
	from := len(p.found)
	p.makeDeal(g, edges, true, &g.deal)
	p.offer(n, edges, g, &g.deal, value*aim.odds, aim)
	for i := range p.found[from:] {
		p.found[from+i].spare = aim.kind == queue.WorthSpare
	}
}

// late reports whether a change ahead will be undecided for so long that the
// one behind it has both its results well before. A build that has run for
// longer than was predicted is taken to need half as long again as it has: what
// is late tends to stay so.
func (p *planning) late(ahead, n *node) bool {
	mine, rest := n.ch.Predicted, ahead.ch.Predicted
	if mine <= 0 || rest < lateFactor*mine && (mindOf(ahead).busyIn != p.plans || mindOf(ahead).began == 0) || p.verified[ahead.id] {
		return false
	}
	if mindOf(ahead).busyIn == p.plans && mindOf(ahead).began != 0 {
		elapsed := p.now.Sub(mindOf(ahead).began)
		p.lookAt(mindOf(ahead).began.Add(2 * lateFactor * mine))
		rest = max(rest-elapsed, elapsed/2)
	}
	return rest >= lateFactor*mine
}

// maxOpen bounds the undecided changes ahead that affect one target over whose
// outcomes it is followed: 2^maxOpen futures of the target.
const maxOpen = 8

// regardless reports whether a change has one outcome whatever becomes of the
// undecided changes ahead that a train does not hold: verified if each of its
// targets passes in all futures, failed if one fails in all (BLRD, "Bypassing
// Large Diffs", 2023, taken per target: planner.md 9, rule 5). Futures that
// cannot be the final one count as well: the commits in between need them.
func (c *Core) regardless(n *node, in map[queue.ChangeID]bool) status {
	if len(c.firstAhead(n.id)) > maxDepth {
		return unknown // there may be others ahead than there are edges
	}
	if !c.upheld(n.ch, in) {
		return unknown // what it is on top of has to land first, whatever else becomes of it
	}
	edges := c.edges(n)
	size := len(n.x.targets)
	for len(c.opens) < size {
		c.opens = append(c.opens, nil)
	}
	open := c.opens[:size]
	for i := range open {
		open[i] = open[i][:0]
	}
	for _, e := range edges {
		if !in[e.to.id] {
			for _, p := range e.shared {
				open[p] = append(open[p], e.to.x.mark)
			}
		}
	}
	c.scratch = resize(c.scratch, size)
	marks := c.scratch
	for i, t := range n.x.targets {
		marks[i] = c.assumed.at(t) ^ n.x.mark
	}
	for id := range in { // some may be behind it in the order
		if x := c.affectedBy(id); x != nil && id != n.id {
			for i, t := range n.x.targets {
				if x.touches(t) {
					marks[i] ^= x.mark
				}
			}
		}
	}
	all := verified
	for i, m := range marks {
		switch c.inAll(m, open[i]) {
		case failed:
			return failed
		case unknown:
			all = unknown
		}
	}
	return all
}

// inAll returns what a target shows in all futures over the given changes, or
// unknown.
func (c *Core) inAll(m mark, open []mark) status {
	if len(open) > maxOpen || len(open) > 0 && c.without(config.IngredientBypass) {
		return unknown
	}
	first := unknown
	for mask := range 1 << len(open) {
		at := m
		for i, x := range open {
			if mask&(1<<i) != 0 {
				at ^= x
			}
		}
		st, _ := c.look(at)
		switch {
		case st == unknown, mask > 0 && st != first:
			return unknown
		}
		first = st
	}
	return first
}
