package speculation

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// probablyLands is the chance of a change from which another stays behind it. likeAll is the
// same for a model that knows only an average: by such a model, any change behind many is
// below probablyLands.
const (
	probablyLands = 0.9
	likeAll       = 0.7
)

// stayBehind puts a change behind those of its lane that it would overtake for
// little: it would gain less than it takes to build their common targets again, and
// little beside its own duration. It still overtakes a change that has had no build,
// which costs nothing; a change that another overtakes, which is built again anyway;
// and a change that may well be turned down, since all changes behind that one would be
// built again. (A constant margin is the usual choice for queues with little to do;
// this one follows what overtaking costs.)
func (c *landing) stayBehind(ch *queue.Change) {
	r := c.facts.Rules()
	if r.Order == config.OrderArrival || c.facts.Without(config.IngredientMargin) {
		return
	}
	limit := ch.Virtual.Add(min(time.Duration(r.Margin*float64(ch.Predicted)), r.MaxOvertake-ch.Predicted))
	place, least := ch.Virtual, probablyLands
	if c.facts.Beliefs.Model.Cold() {
		least = likeAll
	}
	for id := range c.facts.Order.ConflictsOf(ch.ID) { // the rearmost of them counts, so the order of this loop does not matter
		o := c.s.Changes[id]
		if o == nil || o.Builds == 0 || o.Phase != queue.Pending || o.Lane != ch.Lane || o.Arrival > ch.Arrival || o.Virtual < place || o.Virtual >= limit || c.facts.Order.IsBelow(ch, o) {
			continue
		}
		if min(o.Chance, c.facts.Beliefs.Good(id)) >= least && o.Virtual.Sub(ch.Virtual) < c.rebuild(id, ch.ID) && !c.overtaken(o, ch.ID) {
			place = o.Virtual + 1
		}
	}
	ch.Virtual = place
}

// rebuild predicts how long it takes to build the common targets of a change and one
// that has come in front of it again.
func (c *landing) rebuild(id, front queue.ChangeID) time.Duration {
	n := c.facts.Futures.Node(id)
	c.facts.Futures.Weigh(n)
	share := 0.0
	for _, at := range derived.Common(n.X, c.facts.Futures.AffectedBy(front)) {
		share += n.Share[at]
	}
	return n.Span(derived.Work{Share: share, Row: share})
}

// overtaken reports whether a pending change is overtaken by a change other than but.
func (c *landing) overtaken(o *queue.Change, but queue.ChangeID) bool {
	for id := range c.facts.Order.ConflictsOf(o.ID) {
		y := c.s.Changes[id]
		if id != but && y != nil && y.Phase == queue.Pending && y.Arrival > o.Arrival && y.Virtual < o.Virtual {
			return true
		}
	}
	return false
}
