package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Bounds of the forecasts that are written down, to be held against verdicts.
const (
	promiseEvery = time.Minute // forecasts are written down at most once in this time
	promiseShare = 12          // the next is written down after this part of the time since the first
	mostPromises = 20          // of one change
)

// promise writes down from time to time the forecasts of the changes that wait. From
// changes that have a verdict now, it learns how far off their forecasts were. Changes that
// people stop, or that wait outside the order or for a queue that stands still, could not be
// foreseen, and are not counted.
func (c *telling) promise() {
	for _, id := range derived.SortedIf(c.s.Promises, func(id queue.ChangeID, _ *queue.Promises) bool {
		ch := c.s.Changes[id]
		return ch == nil || ch.Phase != queue.Pending && ch.Phase != queue.Landing || c.standsStill()
	}) {
		if ch := c.s.Changes[id]; ch != nil && (ch.Phase == queue.Landed || ch.Phase == queue.Rejected || ch.Phase == queue.NothingToLand) {
			c.kept(c.s.Promises[id], ch.Decided)
		}
		delete(c.s.Promises, id)
		c.touch(queue.KindPromises, string(id))
	}
	since := c.facts.Now.Sub(c.s.Learned.Promised)
	if len(c.facts.Order.IDs) == 0 || c.standsStill() || since >= 0 && since < promiseEvery {
		return
	}
	foreseen, foresight := c.foresee(), c.foresight()
	for _, id := range derived.Sorted(foreseen) {
		f := foreseen[id]
		if f.proven || f.Late != 0 || c.s.Changes[id].Phase != queue.Pending {
			continue
		}
		p := queue.Promises{Change: id}
		if was := c.s.Promises[id]; was != nil {
			p.Given = was.Given
		}
		if n := len(p.Given); n > 0 && c.facts.Now.Sub(p.Given[n-1].At) < c.facts.Now.Sub(p.Given[0].At)/promiseShare {
			continue
		}
		p.Given = append(thinned(p.Given), queue.Promise{At: c.facts.Now, Median: foresight.Median(f.lead), Lead: f.lead})
		c.s.Promises[id] = &p
		c.touch(queue.KindPromises, string(id))
	}
	c.s.Learned.Promised = c.facts.Now
	c.touch(queue.KindMeta, queue.MetaLearned)
}

// foresight is what the queue has learned of its forecasts, from verdicts and from changes that
// still wait.
func (c *telling) foresight() *predict.Foresight {
	var open []queue.Promises
	for _, id := range derived.Sorted(c.s.Promises) {
		open = append(open, *c.s.Promises[id])
	}
	return predict.NewForesight(c.s.Learned.Foresight, predict.Waiting(open, c.facts.Now))
}

// thinned returns a copy of a change's promises with room for one more: if there are too
// many, it keeps every second one.
func thinned(given []queue.Promise) []queue.Promise {
	if len(given) < mostPromises {
		return slices.Clone(given)
	}
	var out []queue.Promise
	for i := 0; i < len(given); i += 2 {
		out = append(out, given[i])
	}
	return out
}

// kept takes in how far off a change's promises were.
func (c *telling) kept(p *queue.Promises, decided queue.Instant) {
	for i, x := range p.Given {
		next := decided
		if i+1 < len(p.Given) {
			next = p.Given[i+1].At
		}
		c.s.Learned.Foresight = predict.SeeForecast(c.s.Learned.Foresight, x, decided.Sub(x.At), next.Sub(x.At))
	}
	c.touch(queue.KindMeta, queue.MetaLearned)
}
