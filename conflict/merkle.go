package conflict

import (
	"slices"
	"strings"
)

// merkle computes hashes of targets: each over the target's own record and the
// hashes of its dependencies, so that a hash moves with everything below it.
// Targets of a cycle are hashed as a unit: each moves with all of them.
type merkle struct {
	list  []string
	recs  *vector[*record]
	sums  *draft[sum]
	frame framer
	seen  byte
}

// warm reads the data that the hashes of some targets will be made from. These
// reads do not wait for one another, as they would between computations: a
// large graph spends most of the time waiting for memory.
func (m *merkle) warm(ids []uint32) {
	for _, id := range ids {
		for _, d := range m.recs.at(id).deps {
			if s := m.sums.entry(d); s != nil {
				m.seen |= s[0]
			}
		}
	}
}

// put writes a hash only if it is another one, so that an unchanged page stays shared.
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
}

// node digests a target's own record with its dependencies, if it has any: the
// hash of one that exists, which covers its name; the name of one that does
// not, or that is in the same cycle. A target that exists never has a zero hash.
func (m *merkle) node(id uint32, unit map[uint32]bool) sum {
	r := m.recs.at(id)
	if len(r.deps) == 0 {
		return r.own
	}
	m.frame.reset("node2").sum(&r.own).count(len(r.deps))
	m.frame.buf = slices.Grow(m.frame.buf, len(r.deps)*(1+len(sum{})))
	for _, d := range r.deps {
		s := m.sums.entry(d)
		switch {
		case d == id || unit != nil && unit[d]:
			m.frame.buf = append(m.frame.buf, 'C')
			m.frame.text(m.list[d])
		case s == nil || s.none():
			m.frame.buf = append(m.frame.buf, 'M')
			m.frame.text(m.list[d])
		default:
			m.frame.buf = append(append(m.frame.buf, 'H'), s[:]...)
		}
	}
	return m.frame.done()
}

func sortCycles(cycles [][]string) {
	slices.SortFunc(cycles, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
}
