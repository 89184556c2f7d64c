package conflict

// pageSize is how many entries of a vector are copied to change one of them.
const (
	pageBits = 7
	pageSize = 1 << pageBits
)

type page[T any] [pageSize]T

// vector is a list that never changes; what is made from it by a draft shares
// the pages that are as they were. So snapshots of trees that differ little
// cost little, and what differs is found by looking at the other pages only.
type vector[T any] struct{ pages []*page[T] }

// blank returns a draft of so many zero entries, to be set in place.
func blank[T any](size int) draft[T] {
	slab := make([]page[T], (size+pageSize-1)/pageSize)
	d := draft[T]{vector: vector[T]{pages: make([]*page[T], len(slab))}, own: make([]bool, len(slab)), copied: len(slab)}
	for i := range slab {
		d.pages[i], d.own[i] = &slab[i], true
	}
	return d
}

// at returns an entry; what was never set is zero.
func (v *vector[T]) at(i uint32) T {
	if p := int(i >> pageBits); p < len(v.pages) && v.pages[p] != nil {
		return v.pages[p][i%pageSize]
	}
	var zero T
	return zero
}

// differing calls f with the number of each entry that may differ.
func differing[T any](v, w *vector[T], f func(i uint32)) {
	for p := range max(len(v.pages), len(w.pages)) {
		var a, b *page[T]
		if p < len(v.pages) {
			a = v.pages[p]
		}
		if p < len(w.pages) {
			b = w.pages[p]
		}
		if a == b {
			continue
		}
		for i := range uint32(pageSize) {
			f(uint32(p)<<pageBits + i)
		}
	}
}

// draft is a vector that is being made from another.
type draft[T any] struct {
	vector[T]
	own    []bool // pages that nobody else has
	copied int    // how many those are
}

func (v vector[T]) edit() draft[T] {
	return draft[T]{vector: vector[T]{pages: append([]*page[T](nil), v.pages...)}, own: make([]bool, len(v.pages))}
}

func (d *draft[T]) set(i uint32, x T) {
	p := int(i >> pageBits)
	for p >= len(d.pages) {
		d.pages = append(d.pages, nil)
		d.own = append(d.own, false)
	}
	if !d.own[p] {
		fresh := new(page[T])
		if old := d.pages[p]; old != nil {
			*fresh = *old
		}
		d.pages[p], d.own[p] = fresh, true
		d.copied++
	}
	d.pages[p][i%pageSize] = x
}

// share takes over the pages of another vector that are as they are here, and
// reports how many are not.
func share[T comparable](v, w *vector[T]) (differ int) {
	for p := range v.pages {
		if p < len(w.pages) && w.pages[p] != nil && v.pages[p] != w.pages[p] && *v.pages[p] == *w.pages[p] {
			v.pages[p] = w.pages[p]
			continue
		}
		differ++
	}
	return differ
}
