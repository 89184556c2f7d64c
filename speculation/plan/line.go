package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// train considers the keys on the whole tree of the links about to land, of the changes
// tried beside them, and of changes checked before they board. A link is worth the
// chance that no link before it on the train fails. It is worth more, the shorter the
// steps are compared with the change's own build, which has been spent already.
func (p *planning) train() {
	if !p.facts.TreeSteps.HasTreeSteps() && len(p.s.Train) == 0 {
		return
	}
	at := p.facts.Links.Front()
	chance := 1.0
	chanceAt := map[queue.CommitID]float64{at: 1}
	for i, n := 0, 0; i < len(p.s.Train); i += n {
		var l *queue.Link
		if l, n = p.facts.Order.NextLink(at, p.s.Train[i:]); l == nil || l.Outcome != queue.Merged {
			break
		}
		id, st := l.Change, p.facts.Links.State(l)
		if st.Status == derived.TreeKeysOnly {
			p.consider(candidate{link: l, change: id, also: slices.Clone(l.With), chain: p.s.Train[:i], value: p.trainValue(id, chance),
				aim: aim{kind: queue.WorthTrain}, always: chance == 1}, st.Tree)
		}
		if st.Status == derived.Unknown { // it boards early
			chance *= p.facts.Beliefs.Good(id)
			if chance >= p.worth {
				p.consider(candidate{link: l, change: id, chain: p.s.Train[:i], value: chance, spare: true,
					aim: aim{kind: queue.WorthEarly}}, st.Tree)
			}
		}
		if len(st.Tree) > 0 {
			for _, each := range l.Changes() {
				chance *= 1 - p.facts.TreeSteps.Breaks(each)
			}
		}
		at = l.Commit
		chanceAt[at] = chance
	}
	for _, t := range p.facts.TreeSteps.Trials() {
		l := p.s.Links[queue.LinkOf(t.At, t.ID)]
		if st := p.facts.Links.State(l); st.Status == derived.TreeKeysOnly {
			_, chain := p.facts.Links.Under(l)
			p.consider(candidate{link: l, change: t.ID, chain: chain, value: p.trainValue(t.ID, chanceAt[t.At]), always: chanceAt[t.At] == 1,
				aim: aim{kind: queue.WorthTrial}}, st.Tree)
		}
	}
	p.probe()
}

// trainValue is the value of a build on the train.
func (p *planning) trainValue(id queue.ChangeID, chance float64) float64 {
	ch := p.s.Changes[id]
	value := chance * p.facts.Benefit(ch)
	if !p.facts.Without(config.IngredientAging) {
		value *= 1 + p.facts.Now.Sub(ch.Arrival).Hours()
	}
	return value * max(minGain, min(valueTrain, ch.Predicted.Seconds()/max(p.facts.TreeSteps.TreeTime().Seconds(), 1)))
}

// minGain is the least factor by which a build on the train is worth more than a first
// build: enough to get its slot.
const minGain = preemptGain

// probe considers checking changes alone while their first build runs. A change
// that fails on the train has all changes behind it built again. So to know that before
// is worth its chance to fail, once for each change behind it.
func (p *planning) probe() {
	if p.facts.Without(config.IngredientTrials) || !p.facts.TreeSteps.HasTreeSteps() {
		return
	}
	follow := float64(p.following())
	for _, live := range p.facts.Builds.Building {
		b := live.Build
		l := p.s.Links[b.Link]
		if _, pending := p.facts.Order.Rank[b.Change]; !pending || b.Cancel || l == nil || p.Aboard[b.Change] || !p.onLine(l) {
			continue
		}
		st := p.facts.Links.State(l)
		if len(st.Tree) == 0 || st.Status == derived.Failed || p.facts.TreeSteps.Shown(b.Change) != derived.Unknown {
			continue
		}
		p.consider(candidate{link: l, change: b.Change, value: min(1, p.facts.TreeSteps.Breaks(b.Change)*follow),
			aim: aim{kind: queue.WorthProbe}}, st.Tree)
	}
}

// onLine reports whether a link stands on main as it is or was.
func (p *planning) onLine(l *queue.Link) bool {
	return l.Since.Epoch == p.s.Main.Line.Epoch && len(l.Chain) == 0
}

// following is how many changes come behind another on the train while its step runs:
// as many as are on the train now, or have arrived within the time of a step, whichever
// is more.
func (p *planning) following() int {
	n, from := 0, p.facts.Now.Add(-p.facts.TreeSteps.TreeTime())
	for _, id := range p.facts.Order.IDs {
		if p.s.Changes[id].Arrival > from {
			n++
		}
	}
	return max(n, len(p.s.Train))
}
