package conflict

import "math/bits"

// bitset is a set of small numbers. It grows on add; a word that is not there
// is zero.
type bitset []uint64

func (b *bitset) add(i int) {
	for i/64 >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitset) remove(i int) {
	if i/64 < len(b) {
		b[i/64] &^= 1 << (i % 64)
	}
}

func (b bitset) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func (b bitset) empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

func (b bitset) word(i int) uint64 {
	if i < len(b) {
		return b[i]
	}
	return 0
}

// union adds the other set and returns what was new, or nil.
func (b *bitset) union(other bitset) bitset {
	var fresh bitset
	for i, w := range other {
		if n := w &^ b.word(i); n != 0 {
			if fresh == nil {
				fresh = make(bitset, len(other))
			}
			fresh[i] = n
		}
	}
	if fresh == nil {
		return nil
	}
	for len(*b) < len(fresh) {
		*b = append(*b, 0)
	}
	for i, w := range fresh {
		(*b)[i] |= w
	}
	return fresh
}

// each calls f with the members in order.
func (b bitset) each(f func(int)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}
