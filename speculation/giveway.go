package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// giveWay puts changes behind a change that is proven on the target branch as it is. It
// moves those that have come after it, are ahead of it only because they are shorter, and
// are not being built. They gain nothing by going first, and the proven change would be
// built again behind them. A change that is being built keeps its place, since the landing
// would throw that build away, and so does one that has just failed on main as it is.
// No change gives way to a change that cannot be pushed now.
func (c *landing) giveWay() {
	if c.s.Main.Tip == "" || c.facts.Without(config.IngredientMargin) || c.halted() || c.facts.Changing() || c.facts.Order.Held() {
		return
	}
	c.sortOrder()
	proven := make([]queue.ChangeID, 0, len(c.facts.Futures.Verified))
	for id := range c.facts.Futures.Verified {
		if _, pending := c.facts.Order.Rank[id]; pending {
			proven = append(proven, id)
		}
	}
	slices.SortFunc(proven, func(a, b queue.ChangeID) int { return c.facts.Order.Rank[a] - c.facts.Order.Rank[b] })
	for _, id := range proven {
		l := c.s.Links[queue.LinkOf(c.facts.Links.Front(), id)]
		if c.facts.Order.Froze(id) || l == nil || !derived.Landable(c.facts.Links.State(l).Status) || !c.facts.Links.Cleared(l) || !c.facts.Order.Upheld(c.s.Changes[id], nil) {
			continue
		}
		ch := c.s.Changes[id]
		for _, a := range c.facts.Order.FirstAhead(id) {
			if o := c.s.Changes[a]; c.mustGiveWay(o, ch) {
				o.Virtual, o.Lead = ch.Virtual+1, 0
				c.touchChange(o)
			}
		}
		if !c.facts.Order.Sorted() {
			c.facts.Order.StaleAll()
			c.sortOrder()
		}
	}
}

// mustGiveWay reports whether a change that is ahead of a proven one goes behind it.
func (c *landing) mustGiveWay(o, proven *queue.Change) bool {
	return o != nil && o.Phase == queue.Pending && o.Arrival > proven.Arrival && o.Lane == proven.Lane && o.Now == nil &&
		!c.facts.Futures.Verified[o.ID] && !c.facts.Order.IsBelow(o, proven) && !c.facts.Order.IsBelow(proven, o) && !c.beingBuilt(o.ID) && !c.hasJustFailed(o)
}

// beingBuilt reports whether a runner has begun a build for a change.
func (c *landing) beingBuilt(id queue.ChangeID) bool {
	for _, b := range c.s.Builds {
		if b.IsFor(id) && b.Started != 0 && !b.Cancel {
			return true
		}
	}
	return false
}

// hasJustFailed reports whether a change has failed on main as it is, not longer ago than its build
// takes: it is run again, or main is, and then it has its verdict.
func (c *landing) hasJustFailed(ch *queue.Change) bool {
	n := c.facts.Futures.Node(ch.ID)
	if n == nil {
		return false
	}
	last := queue.Instant(0)
	for _, t := range n.X.Targets {
		if _, k := c.facts.Futures.Look(c.facts.Futures.Assumed.At(t) ^ n.X.Mark); k != nil {
			last = max(last, k.LastFailure(c.s.Ledger))
		}
	}
	until := last.Add(ch.Predicted)
	if last == 0 || until <= c.facts.Now {
		return false
	}
	c.wakeAt(until)
	return true
}
