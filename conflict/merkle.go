package conflict

import (
	"slices"
	"strings"
)

// merkle computes hashes of targets: each over the target's own record and the
// hashes of its dependencies, so that a hash moves with everything below it.
// Targets of a cycle are hashed as a unit: each moves with all of them.
type merkle struct {
	list   []string
	recs   *vector[*record]
	sums   *draft[sum]
	cycles [][]uint32 // each by name
	frame  framer
}

// components finds the strongly connected components of a graph, by Tarjan's
// algorithm: each is emitted after all that it depends on.
type components struct {
	recs   *vector[*record]
	inside func(id uint32) bool // the others are no part of the graph
	emit   func(unit []uint32)  // the slice is used again

	// places say in which order nodes were entered, from first on; first itself
	// says that a node needs no second look.
	places, low []uint32
	first, next uint32
	stack       []uint32
	calls       []call
}

// call is a visit that waits for another.
type call struct {
	id   uint32
	next int32 // dependency to look at
	deps []uint32
}

// newComponents borrows from work until it is given back.
func newComponents(work *marks, recs *vector[*record], inside func(uint32) bool, emit func([]uint32)) *components {
	first := work.reserve()
	return &components{recs: recs, inside: inside, emit: emit, places: work.slot, low: work.low, first: first, next: first + 1}
}

// visit finds the components of a node inside and of all that it needs.
func (c *components) visit(id uint32) {
	if c.places[id] >= c.first {
		return
	}
	c.enter(id)
	for len(c.calls) > 0 {
		top := &c.calls[len(c.calls)-1]
		if int(top.next) < len(top.deps) {
			d := top.deps[top.next]
			top.next++
			switch at := c.places[d]; {
			case at > c.first:
				c.low[top.id] = min(c.low[top.id], at)
			case at == c.first:
			case c.inside(d):
				c.enter(d)
			default:
				c.places[d] = c.first
			}
			continue
		}
		id := top.id
		c.calls = c.calls[:len(c.calls)-1]
		if c.low[id] == c.places[id] {
			c.complete(id)
		} else {
			above := c.calls[len(c.calls)-1].id
			c.low[above] = min(c.low[above], c.low[id])
		}
	}
}

func (c *components) enter(id uint32) {
	c.places[id], c.low[id] = c.next, c.next
	c.next++
	c.stack = append(c.stack, id)
	c.calls = append(c.calls, call{id: id, deps: c.recs.at(id).deps})
}

func (c *components) complete(id uint32) {
	at := len(c.stack) - 1
	for c.stack[at] != id {
		at--
	}
	unit := c.stack[at:]
	for _, member := range unit {
		c.places[member] = c.first
	}
	c.emit(unit)
	c.stack = c.stack[:at]
}

// hash hashes a component. All that it depends on has its hash.
func (m *merkle) hash(unit []uint32) {
	if len(unit) > 1 {
		m.unit(slices.Clone(unit))
		return
	}
	id := unit[0]
	m.put(id, m.node(id, nil))
	if slices.Contains(m.recs.at(id).deps, id) {
		m.cycles = append(m.cycles, []uint32{id})
	}
}

// put keeps a page as it is where the hash is as it was.
func (m *merkle) put(id uint32, s sum) {
	if m.sums.at(id) != s {
		m.sums.set(id, s)
	}
}

func (m *merkle) unit(unit []uint32) {
	slices.SortFunc(unit, func(a, b uint32) int { return strings.Compare(m.list[a], m.list[b]) })
	inside := make(map[uint32]bool, len(unit))
	for _, id := range unit {
		inside[id] = true
	}
	members := make([]sum, len(unit))
	for k, id := range unit {
		members[k] = m.node(id, inside)
	}
	m.frame.reset("cycle2").count(len(members))
	for k := range members {
		m.frame.sum(&members[k])
	}
	whole := m.frame.done()
	for _, id := range unit {
		m.put(id, m.frame.reset("member2").sum(&whole).text(m.list[id]).done())
	}
	m.cycles = append(m.cycles, unit)
}

// node digests a target's own record with its dependencies: the hash of one
// that exists, which covers its name; the name of one that does not, or that
// is in the same cycle. A target that exists never has a zero hash.
func (m *merkle) node(id uint32, unit map[uint32]bool) sum {
	r := m.recs.at(id)
	m.frame.reset("node2").sum(&r.own).count(len(r.deps))
	for _, d := range r.deps {
		s := m.sums.page(d)
		switch {
		case d == id || unit != nil && unit[d]:
			m.frame.buf = append(m.frame.buf, 'C')
			m.frame.text(m.list[d])
		case s == nil || s[d%pageSize].none():
			m.frame.buf = append(m.frame.buf, 'M')
			m.frame.text(m.list[d])
		default:
			m.frame.buf = append(append(m.frame.buf, 'H'), s[d%pageSize][:]...)
		}
	}
	return m.frame.done()
}

// named returns the cycles by name.
func (m *merkle) named() [][]string {
	var cycles [][]string
	for _, unit := range m.cycles {
		texts := make([]string, len(unit))
		for i, id := range unit {
			texts[i] = m.list[id]
		}
		cycles = append(cycles, texts)
	}
	sortCycles(cycles)
	return cycles
}

func sortCycles(cycles [][]string) {
	slices.SortFunc(cycles, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
}

// rehash computes the hashes of the given targets, and returns their cycles.
// What else they depend on has its hash.
func (s *Snapshot) rehash(sums *draft[sum], ids []uint32, inside func(uint32) bool) [][]string {
	list := s.names.all()
	work := s.names.borrow(len(list))
	defer s.names.giveBack(work)
	m := merkle{list: list, recs: &s.recs, sums: sums}
	each := func(emit func(unit []uint32)) {
		c := newComponents(work, &s.recs, inside, emit)
		for _, id := range ids {
			if inside(id) {
				c.visit(id)
			}
		}
	}
	if len(ids) < aside {
		each(m.hash)
	} else {
		units := beside(each)
		for batch := range units {
			for _, unit := range batch {
				m.hash(unit)
			}
		}
	}
	return m.named()
}

// aside is from how many targets on it pays to look for components on another
// processor than the one that hashes.
const aside = 20_000

// beside runs a search of its own accord and returns what it emits.
func beside(search func(emit func([]uint32))) <-chan [][]uint32 {
	const size = 4096
	found := make(chan [][]uint32, 4)
	go func() {
		defer close(found)
		room, batch := make([]uint32, 0, size), make([][]uint32, 0, size)
		flush := func() {
			found <- batch
			room, batch = make([]uint32, 0, size), make([][]uint32, 0, size)
		}
		search(func(unit []uint32) {
			if len(room)+len(unit) > size && len(batch) > 0 {
				flush()
			}
			from := len(room)
			room = append(room, unit...)
			batch = append(batch, room[from:len(room):len(room)])
		})
		flush()
	}()
	return found
}
