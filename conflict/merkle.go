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
	inside func(id uint32) bool // whose hashes are to be computed; all others have theirs
	cycles [][]uint32           // each by name
	frame  framer

	work  *scratch // Tarjan's algorithm: mark says visited
	next  uint32
	stack []uint32
	calls []call
}

// call is a visit that waits for another.
type call struct {
	id   uint32
	deps []uint32 // not yet looked at
}

// finished is the place of a node whose component is complete.
const finished = ^uint32(0)

// visit hashes a node and all below it that is inside and not visited yet.
func (m *merkle) visit(id uint32) {
	if m.work.has(id) {
		return
	}
	m.enter(id)
	for len(m.calls) > 0 {
		c := &m.calls[len(m.calls)-1]
		if len(c.deps) > 0 {
			d := c.deps[0]
			c.deps = c.deps[1:]
			switch {
			case !m.inside(d):
			case !m.work.has(d):
				m.enter(d)
			case m.work.slot[d] != finished:
				m.work.low[c.id] = min(m.work.low[c.id], m.work.slot[d])
			}
			continue
		}
		id := c.id
		m.calls = m.calls[:len(m.calls)-1]
		if m.work.low[id] == m.work.slot[id] {
			m.complete(id)
		} else {
			above := m.calls[len(m.calls)-1].id
			m.work.low[above] = min(m.work.low[above], m.work.low[id])
		}
	}
}

func (m *merkle) enter(id uint32) {
	m.work.add(id)
	m.work.slot[id], m.work.low[id] = m.next, m.next
	m.next++
	m.stack = append(m.stack, id)
	m.calls = append(m.calls, call{id, m.recs.at(id).deps})
}

// complete takes a strongly connected component from the stack. All
// dependencies outside of it have their hashes.
func (m *merkle) complete(id uint32) {
	at := len(m.stack) - 1
	for m.stack[at] != id {
		at--
	}
	unit := m.stack[at:]
	for _, member := range unit {
		m.work.slot[member] = finished
	}
	if len(unit) == 1 {
		m.put(id, m.node(id, nil))
		if slices.Contains(m.recs.at(id).deps, id) {
			m.cycles = append(m.cycles, []uint32{id})
		}
	} else {
		m.unit(slices.Clone(unit))
	}
	m.stack = m.stack[:at]
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
// is in the same cycle.
func (m *merkle) node(id uint32, unit map[uint32]bool) sum {
	r := m.recs.at(id)
	m.frame.reset("node2").sum(&r.own).count(len(r.deps))
	for _, d := range r.deps {
		switch {
		case m.recs.at(d) == nil:
			m.frame.buf = append(m.frame.buf, 'M')
			m.frame.text(m.list[d])
		case d == id || unit[d]:
			m.frame.buf = append(m.frame.buf, 'C')
			m.frame.text(m.list[d])
		default:
			m.frame.buf = append(m.frame.buf, 'H')
			s := m.sums.at(d)
			m.frame.sum(&s)
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
