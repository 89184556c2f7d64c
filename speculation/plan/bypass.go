package plan

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

const MaxBypass = 3 // undecided changes ahead of which all outcomes are followed as whole paths: 2^MaxBypass

const bypassWorth = 0.8 // part of the likeliest future's value that the other outcome of a late change gets: both are needed

const lateChance = 0.75 // chance that a build ends before a change ahead is decided, from which both its outcomes are built for

const spareChance = 0.4 // chance of a spare build to be of use, at least

const spareNeed = 0.5 // mean chance of the likeliest future's targets to be needed, below which its neighbours are not built for free slots

const spareSpent = 1.5 // whole builds of a change after which only its likely futures are built

// spares considers builds for free slots if the model knows only an average of changes.
// It considers the other outcome of the first undecided change ahead, and of changes
// that will be undecided for longer than the build takes. Once the likeliest
// outcome is proven, it considers all outcomes of a few changes ahead, so that the
// change may land before them ("Bypassing Large Diffs", 2023). A spare build is of use
// if the other outcome comes, or if it ends before the change ahead is decided: then this
// change need not wait. With a predictor this costs half as many builds again and gains nothing.
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
		p.spare(n, edges, takes, value, to, edges[i:i+1])
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
			p.spare(n, edges, takes, value, aim{kind: queue.WorthSpare, odds: odds}, edges)
		}
	}
}

// spare considers the future of takes, in which the outcome of one or more of the changes of
// other is not the likeliest.
func (p *planning) spare(n *derived.Node, edges []derived.Edge, takes []bool, value float64, aim aim, other []derived.Edge) {
	if rounded(aim.odds) == 0 {
		return // this future is assumed not to come, and its build would be worth nothing
	}
	g := &Future{spare: true}
	p.See(n, edges, takes, g)
	g.Needed = derived.Resize(g.Needed, len(n.X.Targets))
	from := len(p.found)
	p.makeDeal(g, edges, true, &g.deal)
	if aim.kind == queue.WorthSpare && p.facts.Rules().Spare != config.SpareAlways && p.ofUse(n.Span(g.deal.asked), aim.odds, other) < spareChance {
		return
	}
	p.offer(n, edges, g, &g.deal, value*aim.odds, aim)
	for i := range p.found[from:] {
		p.found[from+i].spare = aim.kind == queue.WorthSpare
	}
}

// ofUse returns the chance that a spare build which takes so long is of use: that its outcomes
// come, or that it ends before one of the other changes is decided.
func (p *planning) ofUse(took time.Duration, odds float64, other []derived.Edge) float64 {
	first := 0.0
	for i := range other {
		first = max(first, p.outruns(took, other[i].To))
	}
	return 1 - (1-first)/(1+odds)
}

// late reports whether a change ahead will probably be undecided until the change behind it has
// both its results.
func (p *planning) late(ahead, n *derived.Node) bool {
	return p.outruns(n.Ch.Predicted, ahead) >= lateChance
}
