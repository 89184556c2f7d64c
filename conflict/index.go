package conflict

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Index answers which of the pending changes conflict. It is derived memory:
// it can be made again from the footprints at any time, and the order in which
// they were put does not matter.
//
// Two changes a and b conflict when A'(a) and A'(b) meet, when one starts to
// depend on something in the other's A', or when one of them is All and the
// other is not empty; and, by textual.go, when they touch a common path. A'(c) is what c writes, closed over the edges that all
// pending changes add: who writes an edge's head influences everything above
// its tail. So an index without the change that adds the edge may call two
// changes independent that conflict in one with it.
//
// An Index is for one goroutine at a time: questions, too, may bring it up to
// date.
type Index struct {
	names   map[string]*name
	changes map[queue.ChangeID]*entry
	slots   []*entry // by slot; nil where free
	free    []int
	order   []*entry // by id
	all     bitset   // slots that are All
	some    bitset   // slots that are not empty
	dirty   bitset   // slots whose closure may have shrunk
	hits    []hit    // scratch of Conflicts, by slot
	touched touched  // the textual layer
}

// name is a target, definition node or listing that a footprint speaks of.
type name struct {
	text    string
	refs    int    // how often footprints mention it; the name is dropped with the last
	own     bitset // who writes it on its own
	writers bitset // who writes it, with the added edges
	readers bitset
	hubs    []*hub // edges added to it by pending changes
}

// hub is where added edges with the same upper part meet: what reaches it
// influences all of `up`.
type hub struct {
	owner   int
	heads   []*name
	up      []*name
	reached bitset
}

// entry is one pending change.
type entry struct {
	id     queue.ChangeID
	slot   int
	f      queue.Footprint
	write  []*name // sorted
	read   []*name // sorted
	extra  []*name // what the closure added, in no order
	closed []*name // write and extra, sorted; nil when out of date
	hubs   []*hub  // own
	met    []*hub  // reached by this change's closure
}

// NewIndex returns an index of no changes.
func NewIndex() *Index {
	return &Index{names: map[string]*name{}, changes: map[queue.ChangeID]*entry{}, touched: newTouched()}
}

// Put adds a change or replaces its footprint.
func (x *Index) Put(id queue.ChangeID, f queue.Footprint) {
	x.Remove(id)
	c := &entry{id: id, f: f, slot: len(x.slots)}
	if n := len(x.free); n > 0 {
		c.slot, x.free = x.free[n-1], x.free[:n-1]
		x.slots[c.slot] = c
	} else {
		x.slots = append(x.slots, c)
	}
	x.changes[id] = c
	x.touched.put(id, &f)
	at, _ := slices.BinarySearchFunc(x.order, id, func(e *entry, id queue.ChangeID) int { return strings.Compare(string(e.id), string(id)) })
	x.order = slices.Insert(x.order, at, c)
	if f.All {
		x.all.add(c.slot)
		x.some.add(c.slot)
		return
	}
	if len(f.Write) > 0 || len(f.Read) > 0 {
		x.some.add(c.slot)
	}
	c.write, c.read = x.refer(f.Write), x.refer(f.Read)
	for _, n := range c.read {
		n.readers.add(c.slot)
	}
	x.link(c)
	x.close(c)
}

// Remove forgets a change; an unknown one is no error.
func (x *Index) Remove(id queue.ChangeID) {
	c := x.changes[id]
	if c == nil {
		return
	}
	delete(x.changes, id)
	x.touched.remove(id)
	at := slices.Index(x.order, c)
	x.order = slices.Delete(x.order, at, at+1)
	x.slots[c.slot] = nil
	x.free = append(x.free, c.slot)
	x.all.remove(c.slot)
	x.some.remove(c.slot)
	x.dirty.remove(c.slot)
	x.open(c)
	for _, n := range c.read {
		n.readers.remove(c.slot)
	}
	x.unlink(c)
	x.release(c.write)
	x.release(c.read)
}

// refer returns the names of a list, sorted, and counts the reference.
func (x *Index) refer(list []string) []*name {
	list = canonicalNames(list)
	names := make([]*name, len(list))
	for i, s := range list {
		n := x.names[s]
		if n == nil {
			n = &name{text: s}
			x.names[s] = n
		}
		n.refs++
		names[i] = n
	}
	return names
}

func (x *Index) release(names []*name) {
	for _, n := range names {
		if n.refs--; n.refs == 0 {
			delete(x.names, n.text)
		}
	}
}

// Len returns the number of changes.
func (x *Index) Len() int { return len(x.order) }

// Affecting returns the changes that may influence a target, on their own or
// through edges that pending changes add, sorted by id.
func (x *Index) Affecting(target string) []queue.ChangeID {
	x.settle()
	in := x.all
	if n := x.names[target]; n != nil {
		in = slices.Clone(in)
		in.union(n.writers)
	}
	var ids []queue.ChangeID
	for _, c := range x.order {
		if in.has(c.slot) {
			ids = append(ids, c.id)
		}
	}
	return ids
}
