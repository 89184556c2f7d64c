package index

import (
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index/internal/names"
	"github.com/submitqueue/submitqueue/conflict/internal/sorted"
	"github.com/submitqueue/submitqueue/queue"
)

// Conflicts returns the changes that conflict with the given one, sorted by
// id. A witness is a target where one can be named; witnesses are the first
// five by name. An unknown change, and one that touches nothing, has none.
// Witnesses of several conflicts may share memory: the caller does not modify
// them.
func (x *Index) Conflicts(id queue.ChangeID) []queue.Conflict {
	c := x.changes[id]
	if c == nil {
		return nil
	}
	x.hits.begin(len(x.parts))
	x.hits.most = conflict.MaxWitnesses
	if x.some.has(c.slot) {
		x.influences(c)
	}
	return x.report(c, x.textual(c))
}

// With returns the changes that conflict with the given one, in no order. It
// costs less than Conflicts, as it looks for one witness of each.
func (x *Index) With(id queue.ChangeID) []queue.ChangeID {
	c := x.changes[id]
	if c == nil {
		return nil
	}
	x.hits.begin(len(x.parts))
	x.hits.most = 1
	if x.some.has(c.slot) {
		x.influences(c)
	}
	x.textual(c)
	out := make([]queue.ChangeID, 0, len(x.hits.settled))
	for _, slot := range x.hits.settled {
		if other := x.parts[slot].change; other != nil {
			out = append(out, other.id)
		}
	}
	return out
}

// influences settles the changes that may influence a common target.
func (x *Index) influences(c *entry) {
	others := x.all
	if c.all {
		others = x.some
	} else {
		x.search(c, x.some)
	}
	others.each(func(slot int) {
		if slot != c.slot {
			x.hits.settle(slot, globalKind(c, x.parts[slot].change))
		}
	})
}

func globalKind(a, b *entry) kind {
	if a.unknown || b.unknown {
		return kindUnknown
	}
	return kindGlobal
}

// Conflict reports whether two changes conflict. A change does not conflict
// with itself, nor with one that the index does not know.
func (x *Index) Conflict(a, b queue.ChangeID) bool {
	c, d := x.changes[a], x.changes[b]
	if c == nil || d == nil || c == d {
		return false
	}
	return x.influence(c, d) || x.touched.mayClash(a, b)
}

// influence reports whether two changes may influence a common target.
func (x *Index) influence(c, d *entry) bool {
	if !x.some.has(c.slot) || !x.some.has(d.slot) {
		return false
	}
	if c.all || d.all {
		return true
	}
	if len(c.write)+len(c.read) > len(d.write)+len(d.read) {
		c, d = d, c
	}
	var among bitset
	among.add(d.slot)
	x.hits.most = 1
	x.search(c, among)
	return len(x.hits.settled) > 0
}

// search notes the hits of a change that is not All among others that are not
// All, by the first of these that holds: both write a target; one writes a
// target that the other newly depends on; both write a target by the edges that
// other changes add; both write a definition node; one writes a definition node
// or listing that the other newly reads.
func (x *Index) search(c *entry, among bitset) {
	x.settle()
	x.hits.begin(len(x.parts))
	s := search{x: x, c: c, rest: x.scratch.rest.copyOf(among, x.words())}
	x.scratch.rest = s.rest
	s.rest.remove(c.slot)
	for i := range min(len(x.all), len(s.rest)) {
		s.rest[i] &^= x.all[i]
	}

	targets, _ := x.split(c.write)
	for _, part := range targets {
		s.walk(&x.writers, part, nil)
	}
	s.found(kindTarget)

	for _, part := range targets {
		s.walk(&x.readers, part, nil)
	}
	read, _ := x.split(c.read)
	for _, part := range read {
		s.walk(&x.writers, part, nil)
	}
	s.found(kindReadWrite)

	s.close()
	if s.overlaid() {
		for _, piece := range s.pieces {
			targets, _ := x.split(piece)
			for _, part := range targets {
				s.walk(&x.writers, part, s.hubs)
			}
		}
		s.found(kindTarget)
	}
	for _, piece := range s.pieces {
		_, definitions := x.split(piece)
		s.walk(&x.writers, definitions, s.hubs)
	}
	s.found(kindDefinition)

	for _, piece := range s.pieces {
		s.walk(&x.readers, piece, nil)
	}
	s.walk(&x.writers, c.read, s.hubs)
	s.found(kindReadWrite)
}

// split divides a list that is sorted by name into targets, which come in
// three parts, and definition nodes. Listings are neither.
func (x *Index) split(ids []names.ID) (targets [3][]names.ID, definitions []names.ID) {
	from, to := x.span(ids, conflict.DefinitionPrefix)
	definitions = ids[from:to]
	targets[0], ids = ids[:from], ids[to:]
	from, to = x.span(ids, conflict.ListingPrefix)
	targets[1], targets[2] = ids[:from], ids[to:]
	return targets, definitions
}

// span finds the names that begin with a prefix.
func (x *Index) span(ids []names.ID, prefix string) (from, to int) {
	at := func(after func(text string) bool) int {
		from, to := 0, len(ids)
		for from < to {
			middle := (from + to) / 2
			if after(x.names.Text(ids[middle])) {
				to = middle
			} else {
				from = middle + 1
			}
		}
		return from
	}
	from = at(func(text string) bool { return text >= prefix })
	return from, at(func(text string) bool { return text >= prefix && text[:min(len(text), len(prefix))] != prefix })
}

// report writes the answer. paths are the witnesses of textual conflicts.
func (x *Index) report(c *entry, paths map[int][]string) []queue.Conflict {
	if len(x.hits.settled) == 0 {
		return nil
	}
	out := make([]queue.Conflict, 0, len(x.hits.settled))
	var w witnesses
	for _, p := range x.order {
		h := &x.hits.of[p.slot]
		if h.kind == kindOpen {
			continue
		}
		found := queue.Conflict{With: p.id, Kind: kinds[h.kind]}
		switch {
		case h.kind == kindTextual:
			found.Witnesses = paths[p.slot]
		case h.n > 0:
			found.Witnesses = w.of(x, h)
		default:
			found.Witnesses = globalWitnesses(c, x.parts[p.slot].change)
		}
		out = append(out, found)
	}
	return out
}

// globalWitnesses are the files that make one of the two global.
func globalWitnesses(a, b *entry) []string {
	w := sorted.Names(slices.Concat(a.files, b.files))
	if len(w) == 0 {
		return nil
	}
	return w[:min(len(w), conflict.MaxWitnesses)]
}
