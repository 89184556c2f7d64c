package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

const valueControl = 10 // more than any first build's: a verdict waits for it

// controls considers the runs that rejections wait for.
func (p *probes) controls() {
	l := p.s.Links[p.s.Main.Control]
	var keys []queue.Key
	for _, id := range derived.Sorted(p.s.Controls) {
		x := p.s.Controls[id]
		if x.Since == 0 || x.Began >= x.Since || x.Commit == "" || x.Missing || x.Key == (queue.Key{}) {
			continue
		}
		if f := p.facts.Ledger.Keys[x.Key.ID()]; f != nil && f.Build != nil {
			p.credit(f.Build, valueControl)
			continue
		}
		if x.Retry > p.facts.Now {
			p.lookAt(x.Retry)
			continue
		}
		if l != nil && slices.Contains(l.Keys, x.Key) && !slices.Contains(keys, x.Key) {
			keys = append(keys, x.Key)
		}
	}
	if len(keys) > 0 {
		p.consider(candidate{link: l, value: valueControl, aim: aim{kind: queue.WorthControl}, always: true}, keys)
	}
}
