package index

import (
	"slices"

	"github.com/submitqueue/submitqueue/conflict/index/internal/names"
	"github.com/submitqueue/submitqueue/conflict/internal/sorted"
	"github.com/submitqueue/submitqueue/queue"
)

// hub is where added edges of a change with the same upper part meet: a change
// that reaches one of its heads (read) influences all of the upper part
// (write). In the rows it is a set like a change. The overlay's effect on a
// change is not written into the rows: it is the change's reach, a set of hubs.
type hub struct {
	set
	reached bitset // slots of the changes with it in their reach
}

// link makes the hubs of a change, and finds the changes that come to them.
// write is the names that the change writes.
func (x *Index) link(c *entry, edges []queue.AddedEdge, write []string) {
	c.hubs = x.hubsOf(c, edges, write)
	x.hubs += len(c.hubs)
	switch before := x.hubs - len(c.hubs); {
	case x.hubs <= x.limits.hubs:
		x.reachFrom(&c.set)
		x.dirty.add(c.slot)
		for _, h := range c.hubs {
			x.attach(h)
		}
	case before <= x.limits.hubs:
		for _, e := range x.changes {
			if e != c {
				x.detachAll(e)
			}
		}
	}
}

// unlink takes a change's hubs out of the overlay. A change that came to one of
// them may reach less now; settle looks at it with the next question.
func (x *Index) unlink(c *entry) {
	before := x.hubs
	x.hubs -= len(c.hubs)
	if before <= x.limits.hubs {
		x.detachAll(c)
	}
	for _, h := range c.hubs {
		x.names.Release(h.write)
		x.names.Release(h.read)
	}
	c.hubs = nil
	if before > x.limits.hubs && x.hubs <= x.limits.hubs {
		for _, e := range x.changes {
			x.reachFrom(&e.set)
			x.dirty.add(e.slot)
		}
		for _, e := range x.changes {
			for _, h := range e.hubs {
				x.attach(h)
			}
		}
	}
}

// hubsOf joins edges with the same upper part.
func (x *Index) hubsOf(c *entry, edges []queue.AddedEdge, write []string) []*hub {
	type key struct {
		n           int
		first, last string
	}
	type bundle struct{ up, heads []string }
	var bundles []bundle
	var like map[key][]int
	for _, e := range edges {
		if len(e.Up) == 0 {
			continue
		}
		k := key{len(e.Up), e.Up[0], e.Up[len(e.Up)-1]}
		at := slices.IndexFunc(like[k], func(i int) bool { return same(bundles[i].up, e.Up) })
		if at < 0 {
			if like == nil {
				like = map[key][]int{}
			}
			at = len(like[k])
			like[k] = append(like[k], len(bundles))
			bundles = append(bundles, bundle{up: e.Up})
		}
		b := &bundles[like[k][at]]
		b.heads = append(b.heads, e.To)
	}
	hubs := make([]*hub, len(bundles))
	for i, b := range bundles {
		heads, _ := x.refer(b.heads)
		hubs[i] = &hub{set: set{write: x.referPart(sorted.Names(b.up), write, c.write), read: heads}}
	}
	return hubs
}

func same(a, b []string) bool { return &a[0] == &b[0] && len(a) == len(b) || slices.Equal(a, b) }

// referPart is refer for a list most of which is in another sorted list with
// known ids: the names above a tail are among those that the change writes.
func (x *Index) referPart(list, whole []string, ids []names.ID) []names.ID {
	if len(list) < len(whole)/8 {
		ids, _ := x.refer(list)
		return ids
	}
	out := make([]names.ID, 0, len(list))
	for i, s := range list {
		for len(whole) > 0 && whole[0] != s && whole[0] < s {
			whole, ids = whole[1:], ids[1:]
		}
		if len(whole) == 0 || whole[0] != s {
			out = x.names.Add(out, list[i:i+1])
			continue
		}
		x.names.Hold(ids[0])
		out = append(out, ids[0])
	}
	return out
}

// attach puts a hub into the overlay, and finds the hubs that it comes to, and the changes
// and hubs that come to it.
func (x *Index) attach(h *hub) {
	x.enter(&h.set, part{hub: h})
	x.linked.add(h.slot)
	x.reachFrom(&h.set)
	slots := make(bitset, x.words())
	x.writers.Union(h.read, x.mask(), slots)
	slots.each(func(slot int) {
		p := x.parts[slot]
		if p.change != nil {
			p.change.next.add(h.slot)
			x.dirty.add(slot)
			return
		}
		p.hub.next.add(h.slot)
		x.dirty = x.dirty.or(p.hub.reached)
	})
}

// detachAll takes the hubs of a change out of the overlay.
func (x *Index) detachAll(c *entry) {
	for _, h := range c.hubs {
		x.dirty = x.dirty.or(h.reached)
		h.reached.each(func(slot int) { x.parts[slot].change.reach.remove(h.slot) })
		x.linked.remove(h.slot)
		for i := range x.parts {
			switch p := &x.parts[i]; {
			case p.change != nil:
				p.change.next.remove(h.slot)
			case p.hub != nil:
				p.hub.next.remove(h.slot)
			}
		}
		x.leave(&h.set)
		h.next, h.reached = nil, nil
	}
}

// reachFrom finds the hubs that a set comes to directly.
func (x *Index) reachFrom(s *set) {
	s.next = nil
	if x.linked.empty() {
		return
	}
	s.next = make(bitset, len(x.linked))
	x.readers.Union(s.write, x.linked, s.next)
}

// forgetReach takes a change out of the hubs that it comes to.
func (x *Index) forgetReach(c *entry) {
	c.reach.each(func(slot int) { x.parts[slot].hub.reached.remove(c.slot) })
	c.reach = nil
}

// settle computes again the reach of each change for which it may differ.
func (x *Index) settle() {
	if x.dirty.empty() {
		return
	}
	x.dirty.each(func(slot int) {
		c := x.parts[slot].change
		x.forgetReach(c)
		if c.next.empty() {
			return
		}
		c.reach = slices.Clone(c.next)
		for todo := c.next; !todo.empty(); {
			var found bitset
			todo.each(func(slot int) { found = found.or(x.parts[slot].hub.next) })
			todo = c.reach.union(found)
		}
		c.reach.each(func(hub int) { x.parts[hub].hub.reached.add(slot) })
	})
	clear(x.dirty)
}

// changesOf returns the changes of a set of slots: those in it, and those that
// come to a hub in it.
func (x *Index) changesOf(slots bitset) bitset {
	var out bitset
	slots.each(func(slot int) {
		if h := x.parts[slot].hub; h != nil {
			out = out.or(h.reached)
		} else {
			out.add(slot)
		}
	})
	return out
}

// words is how long a bitset of all slots is.
func (x *Index) words() int { return len(x.parts) / 64 }

// mask returns all slots, free ones included.
func (x *Index) mask() bitset {
	all := make(bitset, x.words())
	for i := range all {
		all[i] = ^uint64(0)
	}
	return all
}
