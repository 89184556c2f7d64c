package conflict

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// hit is what one question finds of one other change.
type hit struct {
	n     int
	names [maxWitnesses]*name
}

// Conflicts returns the changes that conflict with the given one, sorted by
// id. A witness is a target where one can be named; witnesses are the first
// five by name. An unknown change, and one that touches nothing, has none.
func (x *Index) Conflicts(id queue.ChangeID) []queue.Conflict {
	c := x.changes[id]
	if c == nil {
		return nil
	}
	x.settle()
	kinds := make([]queue.ConflictKind, len(x.slots))
	if len(x.hits) < len(x.slots) {
		x.hits = make([]hit, len(x.slots))
	}
	for i := range x.hits {
		x.hits[i].n = 0
	}
	if x.some.has(c.slot) {
		x.global(c, kinds)
		if !c.f.All {
			x.meet(c, kinds)
		}
	}
	return x.report(c, kinds, x.textual(c, kinds))
}

// global finds the conflicts of All, which need no names.
func (x *Index) global(c *entry, kinds []queue.ConflictKind) {
	others := x.all
	if c.f.All {
		others = x.some
	}
	others.each(func(slot int) { kinds[slot] = globalKind(c, x.slots[slot]) })
	kinds[c.slot] = ""
}

func globalKind(a, b *entry) queue.ConflictKind {
	if a.f.Unknown != "" || b.f.Unknown != "" {
		return queue.ConflictUnknown
	}
	return queue.ConflictGlobal
}

// meet finds the conflicts between changes that are not All, by the first of
// these that holds: both write a target; one writes what the other newly
// depends on; both come to write a target by the edges that others add; both
// write a definition node; one writes a definition node or listing that the
// other newly reads.
func (x *Index) meet(c *entry, kinds []queue.ConflictKind) {
	rest := make(bitset, (len(x.slots)+63)/64)
	copy(rest, x.some)
	rest.remove(c.slot)
	x.all.each(rest.remove)

	closed := c.closure()
	x.pass(kinds, rest, queue.ConflictTarget, func(open bitset) {
		for _, n := range c.write {
			if isTarget(n.text) {
				x.note(n, n.own, open)
			}
			if open.empty() {
				return
			}
		}
	})
	x.pass(kinds, rest, queue.ConflictReadWrite, func(open bitset) {
		x.cross(c.write, c.read, open, ownTarget)
	})
	x.pass(kinds, rest, queue.ConflictTarget, func(open bitset) {
		for _, n := range closed {
			if isTarget(n.text) {
				x.note(n, n.writers, open)
			}
		}
	})
	x.pass(kinds, rest, queue.ConflictDefinition, func(open bitset) {
		for _, n := range closed {
			if strings.HasPrefix(n.text, DefinitionPrefix) {
				x.note(n, n.writers, open)
			}
		}
	})
	x.pass(kinds, rest, queue.ConflictReadWrite, func(open bitset) {
		x.cross(closed, c.read, open, writersOf)
	})
}

func isTarget(name string) bool { return !definitional(name) }

// ownTarget returns who writes a target without the edges of others.
func ownTarget(n *name) (writers, readers bitset) {
	if definitional(n.text) {
		return nil, nil
	}
	return n.own, n.readers
}

func writersOf(n *name) (writers, readers bitset) { return n.writers, n.readers }

// pass runs one kind of search among the changes for which nothing has been
// found yet. The search takes those that need no more witnesses out of its
// argument.
func (x *Index) pass(kinds []queue.ConflictKind, rest bitset, kind queue.ConflictKind, search func(open bitset)) {
	if rest.empty() {
		return
	}
	search(slices.Clone(rest))
	rest.each(func(slot int) {
		if x.hits[slot].n > 0 {
			kinds[slot] = kind
			rest.remove(slot)
		}
	})
}

// note adds a witness to those of the open changes that are among `who`.
func (x *Index) note(n *name, who, open bitset) {
	for i := range min(len(who), len(open)) {
		if who[i]&open[i] == 0 {
			continue
		}
		bitset{who[i] & open[i]}.each(func(bit int) {
			slot := i*64 + bit
			h := &x.hits[slot]
			h.names[h.n] = n
			if h.n++; h.n == maxWitnesses {
				open.remove(slot)
			}
		})
	}
}

// cross finds what the change writes and others read, and the reverse, in the
// order of names.
func (x *Index) cross(write, read []*name, open bitset, of func(*name) (writers, readers bitset)) {
	for len(write) > 0 || len(read) > 0 {
		var n *name
		var who bitset
		switch {
		case len(read) == 0 || len(write) > 0 && write[0].text < read[0].text:
			n, write = write[0], write[1:]
			_, who = of(n)
		case len(write) == 0 || read[0].text < write[0].text:
			n, read = read[0], read[1:]
			who, _ = of(n)
		default:
			n, write, read = read[0], write[1:], read[1:]
			writers, readers := of(n)
			who = slices.Clone(readers)
			who.union(writers)
		}
		x.note(n, who, open)
	}
}

// report writes the answer.
func (x *Index) report(c *entry, kinds []queue.ConflictKind, paths map[int][]string) []queue.Conflict {
	count, words := 0, 0
	for slot, k := range kinds {
		if k != "" {
			count++
			words += x.hits[slot].n
		}
	}
	if count == 0 {
		return nil
	}
	out := make([]queue.Conflict, 0, count)
	texts := make([]string, 0, words)
	for _, o := range x.order {
		k := kinds[o.slot]
		if k == "" {
			continue
		}
		found := queue.Conflict{With: o.id, Kind: k}
		switch k {
		case queue.ConflictGlobal, queue.ConflictUnknown:
			found.Witnesses = globalWitnesses(c, o)
		case queue.ConflictTextual:
			found.Witnesses = paths[o.slot]
		default:
			from := len(texts)
			h := &x.hits[o.slot]
			for _, n := range h.names[:h.n] {
				texts = append(texts, n.text)
			}
			found.Witnesses = texts[from:len(texts):len(texts)]
		}
		out = append(out, found)
	}
	return out
}

// globalWitnesses are the files that make one of the two global.
func globalWitnesses(a, b *entry) []string {
	w := canonicalNames(slices.Concat(onlyGlobal(a), onlyGlobal(b)))
	if len(w) == 0 {
		return nil
	}
	return w[:min(len(w), maxWitnesses)]
}

func onlyGlobal(c *entry) []string {
	if c.f.All {
		return c.f.Write
	}
	return nil
}

// Conflict reports whether two changes conflict. A change does not conflict
// with itself, nor with one that the index does not know.
func (x *Index) Conflict(a, b queue.ChangeID) bool {
	c, d := x.changes[a], x.changes[b]
	if c == nil || d == nil || c == d {
		return false
	}
	return x.influence(c, d) || x.touched.meet(a, b)
}

// influence is Conflict without the textual layer.
func (x *Index) influence(c, d *entry) bool {
	if !x.some.has(c.slot) || !x.some.has(d.slot) {
		return false
	}
	if c.f.All || d.f.All {
		return true
	}
	x.settle()
	if len(c.write)+len(c.extra) > len(d.write)+len(d.extra) {
		c, d = d, c
	}
	for _, list := range [][]*name{c.write, c.extra} {
		for _, n := range list {
			if n.writers.has(d.slot) && !strings.HasPrefix(n.text, ListingPrefix) || n.readers.has(d.slot) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.read, func(n *name) bool { return n.writers.has(d.slot) })
}
