package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// giveWay puts changes behind one that is proven on the target branch as it is, where
// they have come after it, are ahead of it only because they are shorter, and are not
// being built: they gain nothing by going first, and the proven one would be built again
// behind them. Whoever is being built keeps its place, since the landing would throw that
// build away. Nothing gives way to a change that cannot be pushed now.
func (c *Core) giveWay() {
	if c.s.Main.Tip == "" || c.without(config.IngredientMargin) || c.halted() || c.changing() || c.held() {
		return
	}
	c.sortOrder()
	proven := make([]queue.ChangeID, 0, len(c.verified))
	for id := range c.verified {
		if _, pending := c.rank[id]; pending {
			proven = append(proven, id)
		}
	}
	slices.SortFunc(proven, func(a, b queue.ChangeID) int { return c.rank[a] - c.rank[b] })
	for _, id := range proven {
		l := c.s.Links[queue.LinkOf(c.front(), id)]
		if l == nil || !landable(c.state(l).status) || !c.cleared(l) || !c.upheld(c.s.Changes[id], nil) {
			continue
		}
		ch := c.s.Changes[id]
		for _, a := range c.firstAhead(id) {
			if o := c.s.Changes[a]; c.givesWay(o, ch) {
				o.Virtual = ch.Virtual + 1
				c.touchChange(o)
				c.ordered = false
			}
		}
		if !c.ordered {
			c.staleAll()
			c.sortOrder()
		}
	}
}

// givesWay reports whether a change that is ahead of a proven one goes behind it.
func (c *Core) givesWay(o, proven *queue.Change) bool {
	return o != nil && o.Phase == queue.Pending && o.Arrival > proven.Arrival && o.Lane == proven.Lane && o.Now == nil &&
		!c.verified[o.ID] && !c.isBelow(o, proven) && !c.isBelow(proven, o) && !c.beingBuilt(o.ID)
}

// beingBuilt reports whether a runner has begun a build for a change.
func (c *Core) beingBuilt(id queue.ChangeID) bool {
	for _, b := range c.s.Builds {
		if b.IsFor(id) && b.Started != 0 && !b.Cancel {
			return true
		}
	}
	return false
}
