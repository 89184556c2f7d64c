package conflict

import (
	"math/bits"

	"github.com/submitqueue/submitqueue/conflict/internal/names"
	"github.com/submitqueue/submitqueue/conflict/internal/rows"
	"github.com/submitqueue/submitqueue/queue"
)

// hit is what one question finds of one other change.
type hit struct {
	names [maxWitnesses]names.ID // the first by name of those that were noted
	pass  uint32                 // in which the last of them came
	n     uint8
	kind  kind
}

// kind is a conflict's kind in a byte.
type kind uint8

const (
	kindOpen kind = iota // names may still come
	kindTarget
	kindReadWrite
	kindGlobal
	kindUnknown
)

var kinds = [...]queue.ConflictKind{kindTarget: queue.ConflictTarget, kindReadWrite: queue.ConflictReadWrite,
	kindGlobal: queue.ConflictGlobal, kindUnknown: queue.ConflictUnknown}

// hits are what a question has found so far. They are used again by the next.
type hits struct {
	of      []hit // by slot
	touched []int // slots with names whose kind is not known yet
	settled []int // slots with a kind
	pass    uint32
}

func (h *hits) begin(slots int) {
	for _, slot := range h.settled {
		h.of[slot] = hit{}
	}
	for len(h.of) < slots {
		h.of = append(h.of, hit{})
	}
	h.touched, h.settled, h.pass = h.touched[:0], h.settled[:0], 0
}

// settle gives a change its kind.
func (h *hits) settle(slot int, k kind) {
	h.of[slot].kind = k
	h.settled = append(h.settled, slot)
}

// note adds a name to those of a change, and reports whether it does not
// matter what names after this one may follow.
func (x *Index) note(slot int, id names.ID) (enough bool) {
	h := &x.hits.of[slot]
	if h.n == 0 {
		x.hits.touched = append(x.hits.touched, slot)
	}
	at := h.n
	if h.pass != x.hits.pass { // otherwise it comes after the last
		for at > 0 && h.names[at-1] != id && x.names.Less(id, h.names[at-1]) {
			at--
		}
	}
	switch {
	case at > 0 && h.names[at-1] == id || at == maxWitnesses:
		return at == maxWitnesses
	case h.n < maxWitnesses:
		h.n++
	}
	copy(h.names[at+1:h.n], h.names[at:])
	h.names[at] = id
	if at == h.n-1 {
		h.pass = x.hits.pass
	}
	return at == maxWitnesses-1
}

// search is one question.
type search struct {
	x      *Index
	c      *entry
	rest   bitset       // changes of which nothing is known yet
	pieces [][]names.ID // A'(c), each name once, each piece sorted by name
	hubs   bitset       // that changes of rest come to
}

// found ends the search for one kind of conflict.
func (s *search) found(k kind) {
	for _, slot := range s.x.hits.touched {
		s.x.hits.settle(slot, k)
		s.rest.remove(slot)
	}
	s.x.hits.touched = s.x.hits.touched[:0]
}

// close finds A'(c), and the hubs through which others come to a name.
func (s *search) close() {
	x, c := s.x, s.c
	s.pieces = append(x.scratch.pieces[:0], c.write)
	defer func() { x.scratch.pieces = s.pieces }()
	if s.rest.empty() || x.linked.empty() {
		return
	}
	x.linked.each(func(slot int) {
		if x.parts[slot].hub.reached.meets(s.rest) {
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
// ones, each time in their order: so a change needs no more names in one pass
// when it has five, and a later pass finds those that come before them.
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

// walkSets is the other way round, for a list that is long beside the number
// of small sets: it looks for the names of each of them in the list. The first
// few mostly are there. It takes out of the mask what it is done with, and
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
		who := x.parts[slot]
		var list []names.ID
		switch {
		case who.change != nil:
			list = who.change.held(r == &x.readers)
		case who.hub != nil:
			list = who.hub.held(r == &x.readers)
		}
		if left <= 0 {
			return
		}
		x.hits.pass++
		for _, id := range list {
			left--
			if marks[id/64]>>(id%64)&1 != 0 && p.hit(s, id, slot/64, 1<<(slot%64)) && !bitset(p.mask).has(slot) {
				break
			}
		}
		p.mask.remove(slot)
	})
}

// pass is one way through a list.
type pass struct {
	open bitset // changes of rest that may need further names
	mask bitset // these, and hubs that they come to
}

func (p *pass) begin(s *search, hubs bitset) {
	x := s.x
	x.hits.pass++
	p.open = x.scratch.open.copyOf(s.rest, len(s.rest))
	p.mask = x.scratch.mask.copyOf(s.rest, len(s.rest)).or(hubs)
	x.scratch.open, x.scratch.mask = p.open, p.mask
}

// hit notes a name that the given slots of a block hold. It reports whether
// the mask has become smaller.
func (p *pass) hit(s *search, id names.ID, block int, word uint64) (smaller bool) {
	for ; word != 0; word &= word - 1 {
		slot := block*64 + bits.TrailingZeros64(word)
		h := s.x.parts[slot].hub
		if h == nil {
			if s.x.note(slot, id) {
				p.open.remove(slot)
				p.mask.remove(slot)
				smaller = true
			}
			continue
		}
		some := false
		for i := range min(len(h.reached), len(p.open)) {
			for w := h.reached[i] & p.open[i]; w != 0; w &= w - 1 {
				some = true
				slot := i*64 + bits.TrailingZeros64(w)
				if s.x.note(slot, id) {
					p.open.remove(slot)
					p.mask.remove(slot)
					smaller = true
				}
			}
		}
		if !some {
			p.mask.remove(slot)
			smaller = true
		}
	}
	return smaller
}

// witnesses turns the names of hits into texts, those of like hits once.
type witnesses struct {
	texts []string
	known [16]struct {
		n     uint8
		names [maxWitnesses]names.ID
		texts []string
	}
}

func (w *witnesses) of(x *Index, h *hit) []string {
	at := &w.known[(h.names[0]+h.names[h.n-1])%names.ID(len(w.known))]
	if at.n == h.n && at.names == h.names {
		return at.texts
	}
	from := len(w.texts)
	for _, id := range h.names[:h.n] {
		w.texts = append(w.texts, x.names.Text(id))
	}
	at.n, at.names, at.texts = h.n, h.names, w.texts[from:len(w.texts):len(w.texts)]
	return at.texts
}

// scratch is memory that questions use again.
type scratch struct {
	rest, open, mask, seen, marks bitset
	pieces                        [][]names.ID
	fresh                         []names.ID
}
