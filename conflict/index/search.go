package index

import (
	"math/bits"

	"github.com/submitqueue/submitqueue/conflict/index/internal/names"
	"github.com/submitqueue/submitqueue/conflict/index/internal/rows"
)

// search is one question.
type search struct {
	x      *Index
	c      *entry
	rest   bitset       // changes that have no kind of conflict yet
	pieces [][]names.ID // A'(c), each name once, each piece sorted by name
	hubs   bitset       // hubs that changes of rest come to
}

// found ends the search for one kind of conflict.
func (s *search) found(k kind) {
	for _, slot := range s.x.hits.touched {
		s.x.hits.settle(slot, k)
		s.rest.remove(slot)
	}
	s.x.hits.touched = s.x.hits.touched[:0]
}

// close finds A'(c), and the hubs through which other changes come to a name.
func (s *search) close() {
	x, c := s.x, s.c
	s.pieces = append(x.scratch.pieces[:0], c.write)
	defer func() { x.scratch.pieces = s.pieces }()
	if s.rest.empty() || x.linked.empty() {
		return
	}
	x.linked.each(func(slot int) {
		if x.parts[slot].hub.reached.intersects(s.rest) {
			s.hubs.add(slot)
		}
	})
	if c.reach.empty() {
		return
	}
	seen := x.scratch.seen.copyOf(nil, (x.names.Len()+63)/64)
	x.scratch.seen = seen
	for _, id := range c.write {
		seen[id/64] |= 1 << (id % 64)
	}
	fresh := x.scratch.fresh[:0]
	c.reach.each(func(slot int) {
		from := len(fresh)
		for _, id := range x.parts[slot].hub.write {
			if w := &seen[id/64]; *w>>(id%64)&1 == 0 {
				*w |= 1 << (id % 64)
				fresh = append(fresh, id)
			}
		}
		if len(fresh) > from {
			s.pieces = append(s.pieces, fresh[from:len(fresh):len(fresh)])
		}
	})
	x.scratch.fresh = fresh
}

// overlaid reports whether the overlay can make a difference.
func (s *search) overlaid() bool { return len(s.pieces) > 1 || !s.hubs.empty() }

// walk notes the names of a sorted list that changes of rest hold in the rows,
// or that are above the tails of hubs which they come to.
//
// The names are gone through once for each dense block and once for all sparse
// ones, each time in their order. So a change that has five names needs no more
// in one pass, and a later pass finds names that come before them.
func (s *search) walk(r *rows.Rows, ids []names.ID, hubs bitset) {
	if len(ids) == 0 || s.rest.empty() {
		return
	}
	var p pass
	for block := range min(r.Blocks(), len(s.rest)) {
		mask := s.rest[block]
		if block < len(hubs) {
			mask |= hubs[block]
		}
		if mask == 0 || !r.Dense(block) {
			continue
		}
		p.begin(s, hubs)
		r.WalkDense(ids, block, mask, func(id names.ID, word uint64) uint64 {
			p.hit(s, id, block, word)
			return p.mask[block]
		})
	}
	p.begin(s, hubs)
	for block := range min(r.Blocks(), len(p.mask)) {
		if r.Dense(block) {
			p.mask[block] = 0
		}
	}
	s.walkSets(&p, r, ids)
	if p.mask.empty() {
		return
	}
	s.x.hits.pass++
	r.WalkSparse(ids, p.mask, func(id names.ID, block int, word uint64) bool {
		return !p.hit(s, id, block, word) || !p.mask.empty()
	})
}

// walkSets goes the other way round, for a list that is long compared with the
// number of small sets: it looks for the names of each set in the list. The
// first few names mostly are in it. It removes finished sets from the mask, and
// gives up when it has looked for as many names as the list has.
func (s *search) walkSets(p *pass, r *rows.Rows, ids []names.ID) {
	x := s.x
	if len(ids) < x.limits.sets*p.mask.count() {
		return
	}
	marks := x.scratch.marks.copyOf(nil, (x.names.Len()+63)/64)
	x.scratch.marks = marks
	for _, id := range ids {
		marks[id/64] |= 1 << (id % 64)
	}
	left := len(ids)
	p.mask.each(func(slot int) {
		if left > 0 {
			left -= s.walkSet(slot, r, marks)
			p.mask.remove(slot)
		}
	})
	p.reopen(s)
}

// walkSet notes the marked names of one set, and returns for how many it has
// looked. It is a separate pass: a change that has five names after it may find
// names in the next set that come before these.
func (s *search) walkSet(slot int, r *rows.Rows, marks bitset) (looked int) {
	s.x.hits.pass++
	owner, reads := s.x.parts[slot], r == &s.x.readers
	if owner.change != nil {
		list := owner.change.held(reads)
		for i, id := range list {
			if marks[id/64]>>(id%64)&1 != 0 && s.x.note(slot, id) {
				return i + 1
			}
		}
		return len(list)
	}
	var p pass
	p.reopen(s)
	list := owner.hub.held(reads)
	for i, id := range list {
		if marks[id/64]>>(id%64)&1 == 0 {
			continue
		}
		if some, _ := p.through(s, owner.hub, id); !some {
			return i + 1
		}
	}
	return len(list)
}

// pass is one way through a list.
type pass struct {
	open bitset // changes of rest that may need further names
	mask bitset // these changes, and hubs that they come to
}

func (p *pass) begin(s *search, hubs bitset) {
	x := s.x
	x.hits.pass++
	p.reopen(s)
	p.mask = x.scratch.mask.copyOf(s.rest, len(s.rest)).or(hubs)
	x.scratch.mask = p.mask
}

// reopen notes that all changes of rest need further names.
func (p *pass) reopen(s *search) {
	p.open = s.x.scratch.open.copyOf(s.rest, len(s.rest))
	s.x.scratch.open = p.open
}

// hit notes a name that the given slots of a block hold. It reports whether
// the mask has become smaller.
func (p *pass) hit(s *search, id names.ID, block int, word uint64) (smaller bool) {
	for ; word != 0; word &= word - 1 {
		slot := block*64 + bits.TrailingZeros64(word)
		h := s.x.parts[slot].hub
		if h == nil {
			smaller = p.note(s, slot, id) || smaller
			continue
		}
		some, fewer := p.through(s, h, id)
		if !some {
			p.mask.remove(slot)
		}
		smaller = smaller || fewer || !some
	}
	return smaller
}

// through notes a name above a hub for each change that comes to it. It reports
// whether any of these changes needs names, and whether fewer need names now.
func (p *pass) through(s *search, h *hub, id names.ID) (some, fewer bool) {
	for i := range min(len(h.reached), len(p.open)) {
		for w := h.reached[i] & p.open[i]; w != 0; w &= w - 1 {
			some = true
			fewer = p.note(s, i*64+bits.TrailingZeros64(w), id) || fewer
		}
	}
	return some, fewer
}

// note notes a name of a change, and reports whether it needs no further ones.
func (p *pass) note(s *search, slot int, id names.ID) (enough bool) {
	if enough = s.x.note(slot, id); enough {
		p.open.remove(slot)
		p.mask.remove(slot)
	}
	return enough
}

// scratch is memory that questions use again.
type scratch struct {
	rest, open, mask, seen, marks bitset
	pieces                        [][]names.ID
	fresh                         []names.ID
}
