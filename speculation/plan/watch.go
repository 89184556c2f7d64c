package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// watch considers what of main is run again because it was proven long ago.
func (p *probes) watch() {
	l := p.s.Links[p.s.Main.Watch]
	if l == nil {
		return
	}
	keys := p.facts.Unwatched(l)
	cand := candidate{link: l, value: valueUpgrade, aim: aim{kind: queue.WorthWatch}, spare: true}
	p.consider(cand, slices.DeleteFunc(slices.Clone(keys), func(k queue.Key) bool { return p.facts.Ledger.Keys[k.ID()].Build == nil }))
	if !p.facts.ProvenMain() || p.thrifty() {
		return
	}
	keys = slices.DeleteFunc(keys, func(k queue.Key) bool { return p.facts.Ledger.Keys[k.ID()].Build != nil })
	for chunks := 0; len(keys) > 0 && chunks < p.s.Slots; chunks++ {
		at := p.piece(l, keys)
		p.consider(cand, keys[:at])
		keys = keys[at:]
	}
}
