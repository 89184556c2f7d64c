package conflict

import (
	"slices"
	"strings"
)

// link adds the edges of a change to the overlay and lets everybody who writes
// a head reach what is above the tails.
func (x *Index) link(c *entry) {
	for _, e := range c.f.Edges {
		if len(e.Up) == 0 {
			continue
		}
		h := c.hubOf(e.Up)
		if h == nil {
			h = &hub{owner: c.slot, up: x.refer(e.Up)}
			c.hubs = append(c.hubs, h)
		}
		h.heads = append(h.heads, x.refer([]string{e.To})...)
	}
	for _, h := range c.hubs {
		for _, n := range h.heads {
			n.hubs = append(n.hubs, h)
		}
	}
	for _, h := range c.hubs {
		for _, n := range h.heads {
			x.spread(n, n.writers)
		}
	}
}

// hubOf returns the change's hub with the given upper part.
func (c *entry) hubOf(up []string) *hub {
	for _, h := range c.hubs {
		if len(h.up) == len(up) && slices.EqualFunc(h.up, up, func(n *name, s string) bool { return n.text == s }) {
			return h
		}
	}
	return nil
}

// unlink takes a change's edges out of the overlay. Who has used one may reach
// less now; settle looks at it when somebody asks.
func (x *Index) unlink(c *entry) {
	for _, h := range c.hubs {
		for _, n := range h.heads {
			n.hubs = slices.DeleteFunc(n.hubs, func(o *hub) bool { return o == h })
		}
		h.reached.each(func(slot int) { x.dirty.add(slot) })
		x.release(h.heads)
		x.release(h.up)
	}
	c.hubs = nil
}

// spread lets changes that have come to write a name reach all that the
// overlay puts above it, and so on.
func (x *Index) spread(n *name, who bitset) {
	type news struct {
		n   *name
		who bitset
	}
	todo := []news{{n, who}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, h := range at.n.hubs {
			came := h.reached.union(at.who)
			if came == nil {
				continue
			}
			came.each(func(slot int) { x.slots[slot].met = append(x.slots[slot].met, h) })
			for _, up := range h.up {
				fresh := up.writers.union(came)
				if fresh == nil {
					continue
				}
				fresh.each(func(slot int) {
					c := x.slots[slot]
					c.extra = append(c.extra, up)
					c.closed = nil
				})
				if len(up.hubs) > 0 {
					todo = append(todo, news{up, fresh})
				}
			}
		}
	}
}

// close makes a change a writer of what it writes and of what that reaches.
func (x *Index) close(c *entry) {
	var self bitset
	self.add(c.slot)
	for _, n := range c.write {
		n.own.add(c.slot)
		n.writers.add(c.slot)
	}
	for _, n := range c.write {
		if len(n.hubs) > 0 {
			x.spread(n, self)
		}
	}
}

// open is the reverse of close.
func (x *Index) open(c *entry) {
	for _, n := range c.write {
		n.own.remove(c.slot)
		n.writers.remove(c.slot)
	}
	for _, n := range c.extra {
		n.writers.remove(c.slot)
	}
	for _, h := range c.met {
		h.reached.remove(c.slot)
	}
	c.extra, c.closed, c.met = nil, nil, nil
}

// settle computes again the closures that may have shrunk.
func (x *Index) settle() {
	if x.dirty.empty() {
		return
	}
	dirty := x.dirty
	x.dirty = nil
	dirty.each(func(slot int) { x.open(x.slots[slot]) })
	dirty.each(func(slot int) { x.close(x.slots[slot]) })
}

// closure returns A' of a change, sorted by name.
func (c *entry) closure() []*name {
	if len(c.extra) == 0 {
		return c.write
	}
	if c.closed == nil {
		c.closed = append(slices.Clone(c.write), c.extra...)
		slices.SortFunc(c.closed, func(a, b *name) int { return strings.Compare(a.text, b.text) })
	}
	return c.closed
}
