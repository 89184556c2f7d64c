package rows_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict/index/internal/names"
	"github.com/submitqueue/submitqueue/conflict/index/internal/rows"
)

// TestRows compares rows with a map. Block 1 is dense, 0 and 2 are sparse.
func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 40
		var r rows.Rows
		r.Densify(1)
		sets := map[int][]names.ID{}
		for range rapid.IntRange(1, 40).Draw(t, "moves") {
			slot := rapid.SampledFrom([]int{0, 1, 63, 64, 65, 127, 128, 191}).Draw(t, "slot")
			r.Unset(sets[slot], slot)
			sets[slot] = rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) names.ID {
				return names.ID(rapid.IntRange(0, limit-1).Draw(t, "id"))
			}), rapid.ID[names.ID]).Draw(t, "ids")
			r.Set(sets[slot], slot, limit)
		}
		var want [limit][3]uint64
		used := 0
		for slot, ids := range sets {
			for _, id := range ids {
				want[id][slot/64] |= 1 << (slot % 64)
			}
		}
		for _, row := range want {
			for _, block := range []int{0, 2} {
				if row[block] != 0 {
					used++
				}
			}
		}
		if r.Sparse() != used {
			t.Fatalf("%d cells, want %d", r.Sparse(), used)
		}
		all, mask := make([]names.ID, limit), []uint64{^uint64(0), 3 << 62, ^uint64(1)}
		var union [3]uint64
		for i := range all {
			all[i] = names.ID(i)
			for block := range mask {
				union[block] |= want[i][block] & mask[block]
			}
		}
		got := make([]uint64, 3)
		r.Union(all, mask, got)
		if [3]uint64(got) != union {
			t.Fatalf("union %x, want %x", got, union)
		}
		var walked [limit][3]uint64
		r.WalkDense(all, 1, mask[1], func(id names.ID, word uint64) uint64 {
			walked[id][1] |= word
			return mask[1]
		})
		r.WalkSparse(all, []uint64{mask[0], 0, mask[2]}, func(id names.ID, block int, word uint64) bool {
			walked[id][block] |= word
			return true
		})
		for id := range want {
			for block := range mask {
				if walked[id][block] != want[id][block]&mask[block] {
					t.Fatalf("row %d, block %d: %x of %x", id, block, walked[id][block], want[id][block])
				}
			}
		}
	})
}
