package index

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

func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// intersects reports whether the sets have a member in common.
func (b bitset) intersects(other bitset) bool {
	for i := range min(len(b), len(other)) {
		if b[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// or returns b with the other's members. It may use b's memory.
func (b bitset) or(other bitset) bitset {
	for len(b) < len(other) {
		b = append(b, 0)
	}
	for i, w := range other {
		b[i] |= w
	}
	return b
}

// union adds the other's members and returns the new ones; it writes them over
// the other.
func (b *bitset) union(other bitset) bitset {
	for len(*b) < len(other) {
		*b = append(*b, 0)
	}
	for i, w := range other {
		other[i] = w &^ (*b)[i]
		(*b)[i] |= w
	}
	return other
}

// copyOf returns the members of other in b's memory, if that is enough, at
// least n words long.
func (b bitset) copyOf(other bitset, n int) bitset {
	b = append(b[:0], other...)
	for len(b) < n {
		b = append(b, 0)
	}
	return b
}

// each calls f with the members in order.
func (b bitset) each(f func(int)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}
