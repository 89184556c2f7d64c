package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
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
	chance := n.chance
	cold := p.rules().Spare == queue.SpareAlways || p.rules().Spare != queue.SpareNever && p.model.Cold()
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
		takes[i] = !takes[i]
		odds := value * (1 - chance[i]) / chance[i]
		if late {
			odds = max(odds, bypassWorth*value)
		}
		p.spare(n, edges, takes, odds, late)
	}
	if f.status != verified || len(edges) > maxBypass || !free {
		return
	}
	for mask := range 1 << len(edges) {
		takes, odds := make([]bool, len(edges)), value
		for i := range edges {
			if takes[i] = mask&(1<<i) != 0; takes[i] != f.takes[i] {
				odds *= (1 - chance[i]) / chance[i]
			}
		}
		if odds < value {
			p.spare(n, edges, takes, odds, false)
		}
	}
}

func (p *planning) spare(n *node, edges []edge, takes []bool, value float64, late bool) {
	g := &future{spare: true}
	p.see(n, edges, takes, g)
	g.needed = resize(g.needed, len(n.x.targets))
	from := len(p.found)
	p.makeDeal(g, edges, true, &g.deal)
	p.offer(n, edges, g, &g.deal, value, func() string {
		why := "in case " + p.differs(edges, takes, n.likely.takes)
		if late {
			why += "; it would be long before that is known"
		}
		return why
	})
	for i := range p.found[from:] {
		p.found[from+i].spare = !late
	}
}

// differs says in words in what a future differs from the likeliest.
func (p *planning) differs(edges []edge, takes, from []bool) string {
	var land, not []queue.ChangeID
	for i := range edges {
		switch {
		case takes[i] == from[i]:
		case takes[i]:
			land = append(land, edges[i].to.id)
		default:
			not = append(not, edges[i].to.id)
		}
	}
	switch {
	case len(not) == 0:
		return names(land) + verb(land, " lands", " land")
	case len(land) == 0:
		return names(not) + verb(not, " does not land", " do not land")
	}
	return names(land) + verb(land, " lands", " land") + " and " + names(not) + verb(not, " does not", " do not")
}

func verb(ids []queue.ChangeID, one, many string) string {
	if len(ids) == 1 {
		return one
	}
	return many
}

// late reports whether a change ahead will be undecided for so long that the
// one behind it has both its results well before. A build that has run for
// longer than was predicted is taken to need half as long again as it has: what
// is late tends to stay so.
func (p *planning) late(ahead, n *node) bool {
	mine, rest := n.ch.Predicted, ahead.ch.Predicted
	if mine <= 0 || rest < lateFactor*mine && (ahead.busyIn != p.plans || ahead.began == 0) || p.verified[ahead.id] {
		return false
	}
	if ahead.busyIn == p.plans && ahead.began != 0 {
		elapsed := p.now.Sub(ahead.began)
		p.wakeAt(ahead.began.Add(2 * lateFactor * mine))
		rest = max(rest-elapsed, elapsed/2)
	}
	return rest >= lateFactor*mine
}
