package conflict

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// numbers gives the nodes of near snapshots one number each: a target, a name
// that only dependencies mention, a definition node or a listing. A number
// never changes its meaning, so snapshots share it while others are made.
type numbers struct {
	mu     sync.RWMutex
	ids    map[string]uint32
	list   []string // by number; entries never change
	sorted uint32   // numbers below this one are in the order of their names
	born   int      // names of the first snapshot; 0 until it is made
	spare  sync.Pool
}

// newNumbers numbers a sorted list without repetitions.
func newNumbers(sorted []string) *numbers {
	n := &numbers{ids: make(map[string]uint32, len(sorted)+len(sorted)/8), list: sorted, sorted: uint32(len(sorted))}
	for i, s := range sorted {
		n.ids[s] = uint32(i)
	}
	n.spare.New = func() any { return &marks{} }
	return n
}

// worn reports whether most names are gone, or were only in changes: then it is
// time to number anew.
func (n *numbers) worn() bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.list) > 4*n.born+1024
}

// settled says that the first snapshot is made.
func (n *numbers) settled() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.born = len(n.list)
}

// clone returns numbers that begin with these and then grow separately.
func (n *numbers) clone() *numbers {
	n.mu.RLock()
	defer n.mu.RUnlock()
	out := &numbers{ids: maps.Clone(n.ids), list: slices.Clip(n.list), sorted: n.sorted, born: n.born}
	out.spare.New = n.spare.New
	return out
}

// number returns the number of a name, a new one if need be.
func (n *numbers) number(s string) uint32 {
	if id, ok := n.find(s); ok {
		return id
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.ids[s]
	if !ok {
		id = uint32(len(n.list))
		n.ids[s] = id
		n.list = append(n.list, s)
	}
	return id
}

// many lets f ask for the numbers of many names, and nobody else meanwhile.
func (n *numbers) many(f func(number func(string) uint32)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(func(s string) uint32 {
		id, ok := n.ids[s]
		if !ok {
			id = uint32(len(n.list))
			n.ids[s] = id
			n.list = append(n.list, s)
		}
		return id
	})
}

func (n *numbers) find(s string) (uint32, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	id, ok := n.ids[s]
	return id, ok
}

// all returns the names by number, as far as they are given now.
func (n *numbers) all() []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.list
}

// sort orders numbers by their names.
func (n *numbers) sort(ids []uint32) {
	list := n.all()
	slices.SortFunc(ids, func(a, b uint32) int {
		if a < n.sorted && b < n.sorted {
			return int(a) - int(b)
		}
		return strings.Compare(list[a], list[b])
	})
}

// texts returns the names of numbers that are sorted by number, by name.
func (n *numbers) texts(ids []uint32) []string {
	if len(ids) == 0 {
		return nil
	}
	list := n.all()
	late := len(ids)
	for late > 0 && ids[late-1] >= n.sorted {
		late--
	}
	tail := slices.Clone(ids[late:])
	n.sort(tail)
	out := make([]string, 0, len(ids))
	for _, id := range ids[:late] {
		for len(tail) > 0 && list[tail[0]] < list[id] {
			out = append(out, list[tail[0]])
			tail = tail[1:]
		}
		out = append(out, list[id])
	}
	for _, id := range tail {
		out = append(out, list[id])
	}
	return out
}

// marks is memory by number that is used again without being cleared: an
// entry counts when its mark is the present round.
type marks struct {
	round uint32
	mark  []uint32
	spots []spotted // places below used count as nothing
	used  uint32
}

// reserve returns a place above all that there are, with room for as many more
// as there are numbers.
func (s *marks) reserve() uint32 {
	first := s.used + 1
	if s.used > 1<<31 {
		clear(s.spots)
		first = 1
	}
	s.used = first + uint32(len(s.spots))
	return first
}

// borrow returns marks for numbers below n. Give it back.
func (n *numbers) borrow(size int) *marks {
	s := n.spare.Get().(*marks)
	if len(s.mark) < size {
		grown := size + size/8
		*s = marks{mark: make([]uint32, grown), spots: make([]spotted, grown)}
	}
	s.begin()
	return s
}

func (n *numbers) giveBack(s *marks) { n.spare.Put(s) }

// begin starts another round.
func (s *marks) begin() {
	s.round++
	if s.round == 0 {
		clear(s.mark)
		s.round = 1
	}
}

func (s *marks) has(id uint32) bool { return s.mark[id] == s.round }

// add reports whether the number was not there yet.
func (s *marks) add(id uint32) bool {
	if s.mark[id] == s.round {
		return false
	}
	s.mark[id] = s.round
	return true
}

// sort orders the given numbers, which are all numbers below n that have the
// mark, and returns on how many pages they are.
func (s *marks) sort(ids []uint32, n int) (pages int) {
	if len(ids) < n/64 {
		slices.Sort(ids)
	} else {
		ids = ids[:0]
		for id, mark := range s.mark[:n] {
			if mark == s.round {
				ids = append(ids, uint32(id))
			}
		}
	}
	last := ^uint32(0)
	for _, id := range ids {
		if id/pageSize != last {
			last = id / pageSize
			pages++
		}
	}
	return pages
}
