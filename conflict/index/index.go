package index

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index/internal/names"
	"github.com/submitqueue/submitqueue/conflict/index/internal/rows"
	"github.com/submitqueue/submitqueue/conflict/internal/sorted"
	"github.com/submitqueue/submitqueue/queue"
)

// Index answers which of the pending changes conflict. It is derived memory:
// it can be made again from the footprints at any time, and the order in which
// they were put does not matter.
//
// Two changes that are independent in an index may conflict once the index has
// a change that adds an edge. An Index keeps no footprint: a name of one is
// four bytes in a list and a bit in a row.
//
// An Index is for one goroutine at a time: questions, too, may bring it up to
// date.
type Index struct {
	limits  limits
	names   names.Table
	writers rows.Rows // names that changes write, and names above the tails of hubs
	readers rows.Rows // names that changes read, and the heads of hubs
	changes map[queue.ChangeID]*entry
	order   []place  // by id
	parts   []part   // by slot
	free    [2][]int // slots: of sparse blocks, of dense ones
	all     bitset   // slots of changes that are All
	some    bitset   // slots of changes that are not empty
	linked  bitset   // slots of hubs; none while there are too many
	hubs    int      // how many there are, linked or not
	dirty   bitset   // slots of changes that may reach other hubs than before
	hits    hits
	scratch scratch
	touched touched // the textual layer
}

// place is a change in the order of ids.
type place struct {
	id   queue.ChangeID
	slot int
}

// limits are the bounds between two ways of doing the same. Except for hubs
// they do not change answers.
type limits struct {
	dense int // names that a set has to have at least to be a dense column
	sets  int // for a list with so many names for each small set, the sets are gone through and not the list
	hubs  int // with more hubs the overlay is left out
}

const (
	denseSet  = 1024
	denseRate = 64 // a dense set holds at least one of so many names
	perSet    = 4  // looking for a small set's names one by one costs about as much
	maxHubs   = 4096
)

// set has the names in the rows under one slot: those that a change writes and
// reads, or the upper part and the heads of a hub.
type set struct {
	slot  int
	write []names.ID // sorted by name
	read  []names.ID
	next  bitset // slots of hubs with a head in write
}

// held returns the names of the set in the rows of writers or of readers.
func (s *set) held(reads bool) []names.ID {
	if reads {
		return s.read
	}
	return s.write
}

// part is the owner of a slot: a change, or a hub.
type part struct {
	change *entry
	hub    *hub
}

// entry is one pending change.
type entry struct {
	set
	id      queue.ChangeID
	all     bool
	unknown bool
	files   []string // why it is All
	hubs    []*hub
	reach   bitset // slots of the hubs that it comes to, also through other hubs
}

// New returns an index of no changes.
func New() *Index {
	return newWith(limits{dense: denseSet, sets: perSet, hubs: maxHubs})
}

func newWith(l limits) *Index {
	return &Index{limits: l, changes: map[queue.ChangeID]*entry{}, touched: newTouched()}
}

// Put adds a change or replaces its footprint.
func (x *Index) Put(id queue.ChangeID, f queue.Footprint) {
	x.remove(id)
	c := &entry{id: id, all: f.All, unknown: f.Unknown != ""}
	var write []string
	if f.All {
		c.files = sorted.Names(f.Write)
		c.files = slices.Clone(c.files[:min(len(c.files), conflict.MaxWitnesses)])
	} else {
		c.write, write = x.refer(f.Write)
		c.read, _ = x.refer(f.Read)
	}
	x.enter(&c.set, part{change: c})
	x.changes[id] = c
	x.touched.put(id, &f)
	at, _ := slices.BinarySearchFunc(x.order, id, compareID)
	x.order = slices.Insert(x.order, at, place{id, c.slot})
	if f.All {
		x.all.add(c.slot)
		x.some.add(c.slot)
		return
	}
	if len(c.write)+len(c.read) > 0 {
		x.some.add(c.slot)
	}
	x.link(c, f.Edges, write)
	x.names.Sweep()
}

func compareID(p place, id queue.ChangeID) int { return strings.Compare(string(p.id), string(id)) }

// refer returns the ids of a list's names, which it holds, and the list in
// order and without repetitions, as it mostly is already.
func (x *Index) refer(list []string) ([]names.ID, []string) {
	if len(list) == 0 {
		return nil, nil
	}
	ids := make([]names.ID, 0, len(list))
	const some = 64 // so many texts stay in the cache from the one look to the other
	for from := 0; from < len(list); from += some {
		to := min(from+some, len(list))
		if !sorted.Increasing(list[max(0, from-1):to]) {
			x.names.Release(ids)
			list = sorted.Names(list)
			return x.names.Add(ids[:0], list), list
		}
		ids = x.names.Add(ids, list[from:to])
	}
	return ids, list
}

// enter gives a set a slot and writes it into the rows.
func (x *Index) enter(s *set, owner part) {
	s.slot = x.slot(len(s.write))
	x.parts[s.slot] = owner
	x.writers.Set(s.write, s.slot, x.names.Len())
	x.readers.Set(s.read, s.slot, x.names.Len())
}

// leave is the reverse of enter.
func (x *Index) leave(s *set) {
	x.writers.Unset(s.write, s.slot)
	x.readers.Unset(s.read, s.slot)
	x.parts[s.slot] = part{}
	kind := 0
	if x.writers.Dense(s.slot / 64) {
		kind = 1
	}
	x.free[kind] = append(x.free[kind], s.slot)
}

// slot returns a free slot for a set of n names.
func (x *Index) slot(n int) int {
	kind := 0
	if n >= x.limits.dense && n*denseRate >= x.names.Len() {
		kind = 1
	}
	if len(x.free[kind]) == 0 {
		from := len(x.parts)
		x.parts = append(x.parts, make([]part, 64)...)
		if kind == 1 {
			x.writers.Densify(from / 64)
		}
		for slot := from + 63; slot >= from; slot-- {
			x.free[kind] = append(x.free[kind], slot)
		}
	}
	last := len(x.free[kind]) - 1
	slot := x.free[kind][last]
	x.free[kind] = x.free[kind][:last]
	return slot
}

// Remove forgets a change; an unknown one is no error.
func (x *Index) Remove(id queue.ChangeID) {
	x.remove(id)
	if len(x.changes) == 0 {
		*x = *newWith(x.limits)
	}
}

func (x *Index) remove(id queue.ChangeID) {
	c := x.changes[id]
	if c == nil {
		return
	}
	delete(x.changes, id)
	x.touched.remove(id)
	at, _ := slices.BinarySearchFunc(x.order, id, compareID)
	x.order = slices.Delete(x.order, at, at+1)
	x.unlink(c)
	x.forgetReach(c)
	for _, b := range []bitset{x.all, x.some, x.dirty} {
		b.remove(c.slot)
	}
	x.leave(&c.set)
	x.names.Release(c.write)
	x.names.Release(c.read)
}

// Len returns the number of changes.
func (x *Index) Len() int { return len(x.order) }

// Affecting returns the changes that may influence a target, on their own or
// through edges that pending changes add, sorted by id.
func (x *Index) Affecting(target string) []queue.ChangeID {
	x.settle()
	in := slices.Clone(x.all)
	if n, ok := x.names.Find(target); ok {
		slots := make(bitset, x.words())
		x.writers.Union([]names.ID{n}, x.mask(), slots)
		in = in.or(x.changesOf(slots))
	}
	var ids []queue.ChangeID
	for _, p := range x.order {
		if in.has(p.slot) {
			ids = append(ids, p.id)
		}
	}
	return ids
}
