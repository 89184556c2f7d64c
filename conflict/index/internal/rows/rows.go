// Package rows says which of some thousand sets hold a name, for a million of
// names: a matrix of bits with a row for each name and a column for each set.
//
// Columns come in blocks of 64, so that a word is a name's bits in one block.
// Large sets share dense blocks, which have a word for every name: 125 KB a set
// at a million names, and their rows are read with one load a block. Small sets
// share sparse blocks, which have a cell of 16 bytes where a word is not zero;
// the cells of one name are chained.
package rows

import "github.com/submitqueue/submitqueue/conflict/index/internal/names"

// Rows is such a matrix. The zero Rows is empty, and its blocks are sparse.
type Rows struct {
	dense [][]uint64 // by block; nil where sparse. A word that is not there is zero
	first []uint32   // by name: the first cell, 0 where there is none
	cells []cell     // the first is not used
	free  uint32     // chained by next
	used  int
}

type cell struct {
	bits  uint64
	block uint32
	next  uint32
}

// Densify makes an empty block dense.
func (r *Rows) Densify(block int) {
	for block >= len(r.dense) {
		r.dense = append(r.dense, nil)
	}
	r.dense[block] = []uint64{}
}

// Dense reports whether a block is dense.
func (r *Rows) Dense(block int) bool { return block < len(r.dense) && r.dense[block] != nil }

// Blocks returns a number above those of all dense blocks.
func (r *Rows) Blocks() int { return len(r.dense) }

// Sparse returns the number of cells in use.
func (r *Rows) Sparse() int { return r.used }

// Set puts names, all below `limit`, into a set.
func (r *Rows) Set(ids []names.ID, slot, limit int) {
	block, bit := slot/64, uint64(1)<<(slot%64)
	if r.Dense(block) {
		col := grown(r.dense[block], limit)
		r.dense[block] = col
		for _, id := range ids {
			col[id] |= bit
		}
		return
	}
	if len(ids) > 0 {
		r.first = grown(r.first, limit)
	}
	for _, id := range ids {
		c := r.find(id, uint32(block))
		if c == 0 {
			c = r.alloc()
			r.cells[c] = cell{block: uint32(block), next: r.first[id]}
			r.first[id] = c
		}
		r.cells[c].bits |= bit
	}
}

// Unset takes names out of a set that holds them.
func (r *Rows) Unset(ids []names.ID, slot int) {
	block, bit := slot/64, uint64(1)<<(slot%64)
	if r.Dense(block) {
		col := r.dense[block]
		for _, id := range ids {
			col[id] &^= bit
		}
		return
	}
	for _, id := range ids {
		at := &r.first[id]
		for r.cells[*at].block != uint32(block) {
			at = &r.cells[*at].next
		}
		c := *at
		if r.cells[c].bits &^= bit; r.cells[c].bits == 0 {
			*at = r.cells[c].next
			r.cells[c].next = r.free
			r.free = c
			r.used--
		}
	}
}

// grown returns a list with at least n entries. It grows by a fraction of its
// length; new entries are zero.
func grown[T any](list []T, n int) []T {
	if n <= len(list) {
		return list
	}
	if n > cap(list) {
		list = append(make([]T, 0, n+n/8), list...)
	}
	return list[:n]
}

func (r *Rows) find(id names.ID, block uint32) uint32 {
	c := r.first[id]
	for c != 0 && r.cells[c].block != block {
		c = r.cells[c].next
	}
	return c
}

func (r *Rows) alloc() uint32 {
	r.used++
	if c := r.free; c != 0 {
		r.free = r.cells[c].next
		return c
	}
	if len(r.cells) == 0 {
		r.cells = make([]cell, 1, 64)
	}
	r.cells = append(r.cells, cell{})
	return uint32(len(r.cells) - 1)
}

// WalkDense calls hit for each name, in the order given, that sets of a dense
// block hold, among those of mask. hit returns the mask for the names after
// it; the walk ends with mask 0.
func (r *Rows) WalkDense(ids []names.ID, block int, mask uint64, hit func(id names.ID, word uint64) uint64) {
	if mask == 0 || !r.Dense(block) {
		return
	}
	col := r.dense[block]
	for _, id := range ids {
		if int(id) >= len(col) {
			continue
		}
		if w := col[id] & mask; w != 0 {
			if mask = hit(id, w); mask == 0 {
				return
			}
		}
	}
}

// WalkSparse calls hit for each name, in the order given, and each sparse block
// in which the name's word meets the mask. The mask, one word a block, may lose
// bits meanwhile; hit says when to stop.
func (r *Rows) WalkSparse(ids []names.ID, mask []uint64, hit func(id names.ID, block int, word uint64) (more bool)) {
	if r.used == 0 {
		return
	}
	for _, id := range ids {
		if int(id) >= len(r.first) {
			continue
		}
		for c := r.first[id]; c != 0; c = r.cells[c].next {
			at := &r.cells[c]
			if int(at.block) >= len(mask) {
				continue
			}
			if w := at.bits & mask[at.block]; w != 0 && !hit(id, int(at.block), w) {
				return
			}
		}
	}
}

// Union adds to `out`, one word a block, the sets among those of mask that
// hold any of the names.
func (r *Rows) Union(ids []names.ID, mask, out []uint64) {
	for block := range min(len(mask), len(r.dense)) {
		r.WalkDense(ids, block, mask[block]&^out[block], func(_ names.ID, w uint64) uint64 {
			out[block] |= w
			return mask[block] &^ out[block]
		})
	}
	r.WalkSparse(ids, mask, func(_ names.ID, block int, w uint64) bool {
		out[block] |= w
		return true
	})
}
