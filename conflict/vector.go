package conflict

// A vector is a list in pages, and pages in blocks: a change of one entry
// copies its page, its block and the list of blocks.
const (
	pageBits  = 7
	pageSize  = 1 << pageBits
	blockBits = 6
	blockSize = 1 << blockBits
)

type (
	page[T any]  [pageSize]T
	block[T any] [blockSize]*page[T]
)

// vector is a list that never changes; a vector that is made from it by a draft
// shares the unchanged pages. So snapshots of trees that differ little cost
// little, and only the other pages must be looked at to find the differences.
type vector[T any] struct{ blocks []*block[T] }

// page returns the page of an entry; nil if none was ever set there.
func (v *vector[T]) page(i uint32) *page[T] {
	if b := int(i >> (pageBits + blockBits)); b < len(v.blocks) && v.blocks[b] != nil {
		return v.blocks[b][i>>pageBits%blockSize]
	}
	return nil
}

// at returns an entry; one that was never set is zero.
func (v *vector[T]) at(i uint32) T {
	if p := v.page(i); p != nil {
		return p[i%pageSize]
	}
	var zero T
	return zero
}

// differingPages calls f with the first number and the two pages wherever those differ.
func differingPages[T any](v, w *vector[T], f func(first uint32, a, b *page[T])) {
	for n := range max(len(v.blocks), len(w.blocks)) {
		var a, b *block[T]
		if n < len(v.blocks) {
			a = v.blocks[n]
		}
		if n < len(w.blocks) {
			b = w.blocks[n]
		}
		if a == b {
			continue
		}
		first := uint32(n) << (pageBits + blockBits)
		for range blockSize {
			if p, q := v.page(first), w.page(first); p != q {
				f(first, p, q)
			}
			first += pageSize
		}
	}
}

// differing calls f with the number of each entry that may differ, in order.
func differing[T any](v, w *vector[T], f func(i uint32)) {
	differingPages(v, w, func(first uint32, _, _ *page[T]) {
		for i := range uint32(pageSize) {
			f(first + i)
		}
	})
}

// draft is a vector that is being made from another.
type draft[T any] struct {
	vector[T]
	from   vector[T]
	flat   []T // all entries of a draft that began blank, which its pages are parts of
	copied int // pages that are not shared
}

func (v vector[T]) edit() draft[T] {
	return draft[T]{vector: vector[T]{blocks: append([]*block[T](nil), v.blocks...)}, from: v}
}

// blank returns a draft of so many zero entries.
func blank[T any](size int) draft[T] {
	pages := (size + pageSize - 1) / pageSize
	blocks := make([]block[T], (pages+blockSize-1)/blockSize)
	d := draft[T]{copied: pages, flat: make([]T, pages*pageSize)}
	for i := range blocks {
		d.blocks = append(d.blocks, &blocks[i])
	}
	for i := range pages {
		blocks[i/blockSize][i%blockSize] = (*page[T])(d.flat[i*pageSize:])
	}
	return d
}

// flatten puts all pages, and room for so many entries, in one list: when most
// pages will be replaced, it is faster to copy all at once than one by one.
func (d *draft[T]) flatten(size int) {
	whole := blank[T](max(size, len(d.blocks)<<(pageBits+blockBits)))
	for b, old := range d.blocks {
		if old == nil {
			continue
		}
		for p := range old {
			if old[p] != nil {
				*whole.blocks[b][p] = *old[p]
			}
		}
	}
	d.vector, d.flat, d.copied = whole.vector, whole.flat, whole.copied
}

// entry returns where to read an entry; nil if none was ever set in its page.
func (d *draft[T]) entry(i uint32) *T {
	if int(i) < len(d.flat) {
		return &d.flat[i]
	}
	if p := d.page(i); p != nil {
		return &p[i%pageSize]
	}
	return nil
}

func (d *draft[T]) set(i uint32, x T) { *d.own(i) = x }

// own returns where to write an entry.
func (d *draft[T]) own(i uint32) *T {
	b, p := int(i>>(pageBits+blockBits)), i>>pageBits%blockSize
	for b >= len(d.blocks) {
		d.blocks = append(d.blocks, nil)
	}
	if old := d.blocks[b]; old == nil || b < len(d.from.blocks) && old == d.from.blocks[b] {
		d.blocks[b] = new(block[T])
		if old != nil {
			*d.blocks[b] = *old
		}
	}
	if old := d.blocks[b][p]; old == nil || old == d.from.page(i) {
		d.blocks[b][p] = new(page[T])
		if old != nil {
			*d.blocks[b][p] = *old
		}
		d.copied++
	}
	return &d.blocks[b][p][i%pageSize]
}

// share replaces pages by equal pages of another vector, and returns how many
// pages differ. Nobody else may have the vector yet.
func share[T comparable](v, w *vector[T]) (differ int) {
	differingPages(v, w, func(first uint32, a, b *page[T]) {
		if a == nil || b == nil || *a != *b {
			differ++
			return
		}
		v.blocks[first>>(pageBits+blockBits)][first>>pageBits%blockSize] = b
	})
	return differ
}
