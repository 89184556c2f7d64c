package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// passing returns the changes that land through the freeze that is open: those that it excepts, and
// emergencies. It returns nil if no freeze holds any change.
func (c *landing) passing() map[queue.ChangeID]bool {
	if c.s.Main.Paused == nil || c.halted() || c.facts.Changing() || c.probing() && c.entering.hidden == nil {
		return nil
	}
	out := map[queue.ChangeID]bool{}
	for _, ch := range c.facts.Order.Pending {
		if ch.Now != nil || c.entering.excepted(ch.ID) {
			out[ch.ID] = true
		}
	}
	return out
}

// giveBack puts changes that a freeze has let through, and that it holds by now or that no freeze
// concerns any more, to the places that they would have without it. One that is proven or being built
// keeps its place, since that build would be lost.
func (c *landing) giveBack() {
	if c.halted() || c.facts.Changing() {
		return
	}
	for _, ch := range slices.Clone(c.facts.Order.Pending) {
		if ch.Lead == 0 || c.facts.Order.Passing[ch.ID] || c.facts.Futures.Verified[ch.ID] || c.beingBuilt(ch.ID) {
			continue
		}
		ch.Virtual, ch.Lead = ch.Virtual.Add(ch.Lead), 0
		c.touchChange(ch)
		c.facts.Order.StaleAll()
	}
	c.sortOrder()
}

// goThrough puts changes that land through a freeze in front of those that the freeze holds and that
// they conflict with: a freeze can outlast the builds on both of their outcomes, and the fix that it
// was to let through would wait for its end as well. Those that land through it keep their order
// among each other. A change stays where it is if one below it in its stack is held, or if the
// freeze ends before its build could.
func (c *landing) goThrough() {
	o := c.facts.Order
	if len(o.Passing) == 0 {
		return
	}
	c.sortOrder()
	o.GatherRollups()
	ids, held := slices.Clone(o.IDs), map[queue.ChangeID]bool{}
	for _, id := range ids {
		held[id] = !o.Passing[id] || c.staysBehind(c.s.Changes[id], held)
	}
	latest, done := map[queue.ChangeID]queue.Instant{}, map[queue.ChangeID]bool{} // latest: the places before those that have moved
	for _, id := range slices.Backward(ids) {
		if held[id] || done[id] {
			continue
		}
		group := o.RollupOf(id)
		if len(group) == 0 || slices.ContainsFunc(group, func(m queue.ChangeID) bool { return held[m] }) {
			group = []queue.ChangeID{id}
		}
		ahead := map[queue.ChangeID]bool{}
		place := c.s.Changes[id].Virtual
		for _, m := range group {
			done[m] = true
			if at, ok := latest[m]; ok {
				place = min(place, at)
			}
			for a := range o.ConflictsOf(m) {
				if at, ok := o.Rank[a]; !ok || at >= o.Rank[group[0]] {
					continue
				} else if ahead[a] = true; held[a] {
					place = min(place, c.s.Changes[a].Virtual-1)
				}
			}
		}
		if place == c.s.Changes[id].Virtual {
			continue
		}
		for a := range ahead {
			if !held[a] && c.s.Changes[a].Virtual >= place {
				latest[a] = queue.Earliest(latest[a], place-1)
			}
		}
		for _, m := range group {
			if ch := c.s.Changes[m]; ch.Virtual > place {
				ch.Virtual, ch.Lead = place, ch.Lead+ch.Virtual.Sub(place)
				c.touchChange(ch)
			}
		}
		o.StaleAll()
	}
	c.sortOrder()
}

// staysBehind reports whether a change that lands through a freeze stays behind changes ahead of it
// that are held: one of them is below it in its stack, or the freeze ends too soon.
func (c *landing) staysBehind(ch *queue.Change, held map[queue.ChangeID]bool) bool {
	p, below := c.s.Main.Paused, c.facts.Order.Beneath(ch)
	late := p.Until != 0 && p.Until.Sub(c.facts.Now) <= ch.Predicted
	if !late && len(below) == 0 {
		return false
	}
	if slices.ContainsFunc(below, func(low *queue.Change) bool { return held[low.ID] }) {
		return true
	}
	if late {
		for a := range c.facts.Order.ConflictsOf(ch.ID) {
			if at, ok := c.facts.Order.Rank[a]; ok && at < c.facts.Order.Rank[ch.ID] && held[a] {
				return true
			}
		}
	}
	return false
}
