package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

const MaxBypass = 3 // undecided changes ahead of which all outcomes are followed as whole paths: 2^MaxBypass

const bypassWorth = 0.8 // part of the likeliest future's value that the other outcome of a late change gets: both are needed

const lateFactor = 2 // how many times longer than the bypassing change the other still takes

const spareNeed = 0.5 // mean chance of the likeliest future's targets to be needed, below which its neighbours are not built for free slots

const spareSpent = 1.5 // whole builds of a change after which only its likely futures are built

// spares considers builds for free slots if the model knows only an average of changes.
// It considers the other outcome of the first undecided change ahead, and of changes
// that will be undecided for much longer than the build takes. Once the likeliest
// outcome is proven, it considers all outcomes of a few changes ahead, so that the
// change may land before them ("Bypassing Large Diffs", 2023). With a predictor this
// costs half as many builds again and gains nothing.
func (p *planning) spares(n *derived.Node, edges []derived.Edge, f *Future, value float64) {
	chance := MindOf(n).chance
	cold := p.facts.Rules().Spare == config.SpareAlways || n.Ch.Spent < spareSpent && p.facts.Rules().Spare != config.SpareNever && p.facts.Beliefs.Model.Cold() && p.facts.Busy() <= derived.IdleShare
	if !cold {
		return
	}
	free := p.s.Slots > len(p.s.Builds)
	for i := range edges {
		late := p.late(edges[i].To, n)
		if !late && (i > 0 || !free || f.mean < spareNeed) {
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
	if f.Status != derived.Verified || len(edges) > MaxBypass || !free {
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

func (p *planning) spare(n *derived.Node, edges []derived.Edge, takes []bool, value float64, aim aim) {
	if rounded(aim.odds) == 0 {
		return // this future is assumed not to come, and its build would be worth nothing
	}
	g := &Future{spare: true}
	p.See(n, edges, takes, g)
	g.Needed = derived.Resize(g.Needed, len(n.X.Targets))
	from := len(p.found)
	p.makeDeal(g, edges, true, &g.deal)
	p.offer(n, edges, g, &g.deal, value*aim.odds, aim)
	for i := range p.found[from:] {
		p.found[from+i].spare = aim.kind == queue.WorthSpare
	}
}

// late reports whether a change ahead will be undecided for so long that the
// change behind it has both its results well before. A build that has run for longer
// than was predicted is assumed to need half of that time again: a late build tends to
// stay late.
func (p *planning) late(ahead, n *derived.Node) bool {
	mine, rest := n.Ch.Predicted, ahead.Ch.Predicted
	if mine <= 0 || rest < lateFactor*mine && (MindOf(ahead).busyIn != p.Plans || MindOf(ahead).began == 0) || p.facts.Futures.Verified[ahead.ID] {
		return false
	}
	if MindOf(ahead).busyIn == p.Plans && MindOf(ahead).began != 0 {
		elapsed := p.facts.Now.Sub(MindOf(ahead).began)
		p.lookAt(MindOf(ahead).began.Add(2 * lateFactor * mine))
		rest = max(rest-elapsed, elapsed/2)
	}
	return rest >= lateFactor*mine
}
