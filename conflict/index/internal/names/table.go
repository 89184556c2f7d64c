// Package names numbers names: of a million of them it needs about 90 bytes
// each, text included, and a list of them is looked up in about 30 ns a name.
//
// The texts stand one behind another in blocks of bytes. An open hash table of
// 8-byte slots leads from a name to its number. A list is looked up in batches,
// step by step, so that the misses of the cache overlap; neighbours of a sorted
// list tend to have been numbered together, so that most misses are the hash
// table's alone.
//
// The holders of a name are counted. A name without one keeps its number until
// Sweep, which makes the tables anew when most of their names are dead.
package names

import (
	"hash/maphash"
	"math/bits"
	"strings"
)

// ID is the number of a name. Another name gets it only after all holders have
// released the name and it was swept.
type ID uint32

// Table numbers names. The zero Table is empty.
//
// A name's place in it depends on a seed of the process; its answers do not.
type Table struct {
	seed   maphash.Seed
	slots  []uint64 // half of the hash, and the id plus one; 0 where free
	shift  uint     // of the half hash, to get the slot
	names  []name   // by id
	free   []ID
	blocks []string        // of text
	text   strings.Builder // the last of the blocks
	live   int
	dead   int // in the table, without a holder
}

type name struct {
	at     uint64 // block, and offset in it
	length uint32
	refs   uint32
}

const (
	blockBits = 16
	blockSize = 1 << blockBits
	batch     = 32 // names that are looked up together
)

// Len returns a number above all ids.
func (t *Table) Len() int { return len(t.names) }

// Text returns a name.
func (t *Table) Text(id ID) string {
	n := &t.names[id]
	return t.blocks[n.at>>blockBits][n.at&(blockSize-1):][:n.length]
}

// Less reports whether the first of two names comes before the second.
func (t *Table) Less(a, b ID) bool { return t.Text(a) < t.Text(b) }

// Find returns the id of a name that has a holder.
func (t *Table) Find(s string) (ID, bool) {
	if t.live == 0 {
		return 0, false
	}
	id, _, ok := t.probe(s, t.hash(s))
	return id, ok && t.names[id].refs > 0
}

// Hold counts one more holder of a name that is held.
func (t *Table) Hold(id ID) { t.names[id].refs++ }

// Add appends the ids of names to a list and holds each.
func (t *Table) Add(ids []ID, list []string) []ID {
	var hashes [batch]uint32
	var found [batch]uint64
	var at [batch]name
	for len(list) > 0 {
		some := list[:min(batch, len(list))]
		list = list[len(some):]
		t.reserve(len(some))
		for i, s := range some {
			hashes[i] = t.hash(s)
		}
		for i := range some {
			found[i] = t.slots[hashes[i]>>t.shift]
		}
		for i := range some {
			if uint32(found[i]>>32) == hashes[i] && uint32(found[i]) != 0 {
				at[i] = t.names[uint32(found[i])-1]
			} else {
				found[i] = 0
			}
		}
		for i, s := range some {
			if n := &at[i]; found[i] != 0 && int(n.length) == len(s) && t.blocks[n.at>>blockBits][n.at&(blockSize-1):][:n.length] == s {
				ids = append(ids, t.hold(ID(uint32(found[i])-1)))
				continue
			}
			id, slot, ok := t.probe(s, hashes[i])
			if !ok {
				id = t.insert(s)
				t.slots[slot] = uint64(hashes[i])<<32 | uint64(id+1)
			}
			ids = append(ids, t.hold(id))
		}
	}
	return ids
}

func (t *Table) hold(id ID) ID {
	n := &t.names[id]
	if n.refs++; n.refs == 1 {
		t.live++
		t.dead--
	}
	return id
}

// Release ends one hold of each of the names.
func (t *Table) Release(ids []ID) {
	for _, id := range ids {
		n := &t.names[id]
		if n.refs--; n.refs == 0 {
			t.live--
			t.dead++
		}
	}
}

func (t *Table) hash(s string) uint32 { return uint32(maphash.String(t.seed, s) >> 32) }

// probe returns the id of a name, or the slot where it belongs.
func (t *Table) probe(s string, hash uint32) (id ID, slot uint32, ok bool) {
	mask := uint32(len(t.slots) - 1)
	for slot = hash >> t.shift; ; slot = (slot + 1) & mask {
		found := t.slots[slot]
		if found == 0 {
			return 0, slot, false
		}
		if id := ID(uint32(found) - 1); uint32(found>>32) == hash && t.Text(id) == s {
			return id, slot, true
		}
	}
}

// insert gives an id to a new name, which has no holder yet.
func (t *Table) insert(s string) ID {
	n := name{at: t.write(s), length: uint32(len(s))}
	t.dead++
	if last := len(t.free) - 1; last >= 0 {
		id := t.free[last]
		t.free = t.free[:last]
		t.names[id] = n
		return id
	}
	t.names = append(t.names, n)
	return ID(len(t.names) - 1)
}

// write stores a text. A block never moves: a text that Text has returned stays valid.
func (t *Table) write(s string) uint64 {
	if used := t.text.Len(); len(t.blocks) == 0 || used > 0 && used+len(s) >= blockSize {
		t.text = strings.Builder{}
		t.text.Grow(max(blockSize, len(s)))
		t.blocks = append(t.blocks, "")
	}
	last, at := len(t.blocks)-1, t.text.Len()
	t.text.WriteString(s)
	t.blocks[last] = t.text.String()
	return uint64(last)<<blockBits | uint64(at)
}

// reserve makes room for n more names, at most half of the slots being full.
func (t *Table) reserve(n int) {
	used := t.live + t.dead
	if 2*(used+n) <= len(t.slots) {
		return
	}
	old := t.slots
	t.size(2 * (used + n))
	for _, found := range old {
		if found != 0 {
			t.put(found)
		}
	}
}

// size makes an empty table of at least so many slots.
func (t *Table) size(n int) {
	if t.seed == (maphash.Seed{}) {
		t.seed = maphash.MakeSeed()
	}
	log := max(10, bits.Len(uint(n-1)))
	t.slots, t.shift = make([]uint64, 1<<log), uint(32-log)
}

// put fills the slot of a name that is not there.
func (t *Table) put(found uint64) {
	mask := uint32(len(t.slots) - 1)
	slot := uint32(found>>32) >> t.shift
	for t.slots[slot] != 0 {
		slot = (slot + 1) & mask
	}
	t.slots[slot] = found
}

// Sweep forgets names without a holder, once there are more of them than other
// names, and more than a few thousand. So its cost is shared among many
// released names.
func (t *Table) Sweep() {
	if t.dead > max(t.live, sweepAt) {
		t.sweep()
	}
}

const sweepAt = 4096

func (t *Table) sweep() {
	blocks, old := t.blocks, t.slots
	t.blocks, t.text = nil, strings.Builder{}
	t.size(max(1, 2*t.live))
	t.dead = 0
	for _, found := range old {
		if found != 0 && t.names[uint32(found)-1].refs > 0 {
			t.put(found)
		}
	}
	t.free = t.free[:0]
	for i := len(t.names) - 1; i >= 0; i-- {
		if t.names[i].refs == 0 {
			t.names[i] = name{}
			t.free = append(t.free, ID(i))
		}
	}
	for i := range t.names { // by id: neighbours stay neighbours
		if n := &t.names[i]; n.refs > 0 {
			n.at = t.write(blocks[n.at>>blockBits][n.at&(blockSize-1):][:n.length])
		}
	}
}
