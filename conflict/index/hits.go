package index

import (
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index/internal/names"
	"github.com/submitqueue/submitqueue/queue"
)

// hit is the result of one question for one other change.
type hit struct {
	names [conflict.MaxWitnesses]names.ID // the first by name of the noted names
	pass  uint32                          // in which the last of them was noted
	n     uint8
	kind  kind
}

// kind is a conflict's kind in a byte.
type kind uint8

const (
	kindOpen kind = iota // names may still come
	kindTarget
	kindReadWrite
	kindDefinition
	kindTextual
	kindGlobal
	kindUnknown
)

var kinds = [...]queue.ConflictKind{kindTarget: queue.ConflictTarget, kindReadWrite: queue.ConflictReadWrite,
	kindDefinition: queue.ConflictDefinition, kindTextual: queue.ConflictTextual,
	kindGlobal: queue.ConflictGlobal, kindUnknown: queue.ConflictUnknown}

// hits are the results of a question so far. The next question uses their memory again.
type hits struct {
	of      []hit // by slot
	touched []int // slots with names and no kind yet
	settled []int // slots with a kind
	pass    uint32
	most    uint8 // names of one change that are asked for
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

// note adds a name to those of a change, and reports whether later names in
// this order no longer matter.
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
	case at > 0 && h.names[at-1] == id || at == x.hits.most:
		return at == x.hits.most
	case h.n < x.hits.most:
		h.n++
	}
	copy(h.names[at+1:h.n], h.names[at:])
	h.names[at] = id
	if at == h.n-1 {
		h.pass = x.hits.pass
	}
	return at == x.hits.most-1
}

// witnesses turns the names of hits into texts; equal hits share them.
type witnesses struct {
	texts []string
	known [16]struct {
		n     uint8
		names [conflict.MaxWitnesses]names.ID
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
