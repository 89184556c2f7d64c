package plan

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// valueTry is the value of a build of a try: less than any build of the queue, which
// can take its slot.
const valueTry = 0.001

// tryouts considers the keys that tries have still to build.
func (p *probes) tryouts() {
	for _, ch := range p.facts.Tries() {
		if ch.Would != nil {
			continue
		}
		l := p.s.Links[queue.LinkOf(ch.On, ch.ID)]
		if l == nil {
			p.merges(derived.Want{Base: ch.On, Picks: []queue.ChangeID{ch.ID}})
			continue
		}
		if st := p.facts.Links.State(l); st.Status == derived.Unknown || st.Status == derived.TreeKeysOnly {
			cand := candidate{link: l, change: ch.ID, value: valueTry, aim: aim{kind: queue.WorthTry}, always: true, spare: true}
			if ch.Revert != "" {
				cand.value, cand.aim.kind, cand.spare = valueHunt, queue.WorthRevert, false
			}
			p.consider(cand, st.Missing)
		}
	}
}
