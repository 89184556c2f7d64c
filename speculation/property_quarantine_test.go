package speculation

import (
	"flag"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

var quarantineHistories = flag.String("quarantine-histories", "0:150", "seeds FROM:TO of the histories that TestQuarantineHistories makes; TO is not among them")

// TestQuarantineHistories makes histories in which targets are put into quarantine and taken
// out again, by changes and past the queue, for good and for a day, and fail by chance and in
// truth meanwhile. All that TestHistories asks for holds as well: what is red and not in
// quarantine, on main and in the change's own tree, does not land; nobody is rejected for
// what is.
//
// The figure of a thousand: go test ./speculation -run 'TestQuarantineHistories$' -quarantine-histories 0:1000 -v
func TestQuarantineHistories(t *testing.T) {
	var excused, landed, rejected atomic.Int64
	soakRange(t, "TestQuarantineHistories", "quarantine-histories", *quarantineHistories, func(seed int64, log *[]string) (int, string) {
		chance := rand.New(rand.NewPCG(uint64(seed), 0x9a))
		var h *history
		turns, why := lived(log, func() *history {
			h = newHistory(stopping{}, func(n int, what string) int {
				drawn := chance.IntN(n)
				switch what {
				case "steps":
					return []int{0, 1, 2, 3, 6, 7}[drawn%6]
				case "drifting", "stale caches", "everything": // what runs more than it is told fails for it
					return 0
				}
				return drawn
			})
			h.files("~a", h.chance(50, "a from the beginning"))
			h.files("~b@2026-01-05", h.chance(30, "b for a day"))
			h.shaky = func(queue.Key) bool { return chance.IntN(3) == 0 }
			entries := []string{"~a", "-~a", "~a", "~b", "-~b", "~b@2026-01-05", "-~b@2026-01-05", "~c", "-~c", "~c@2026-01-06"}
			plain := edits()
			h.draw = func(t tree) edit {
				if setOf(t[stepsFile])["~a"] && setOf(t["a/code"])["bad"] && h.chance(50, "lift") {
					return edit{stepsFile: "-~a"}
				}
				e := plain[h.pick(len(plain), "edit")]
				switch n := h.pick(100, "quarantine"); {
				case n < 15:
					return edit{stepsFile: entries[h.pick(len(entries), "entry")]}
				case n < 25: // excuses itself, or tries to
					return edit{"a/code": "bad", stepsFile: "~a"}
				case n < 35:
					return edit{"a/code": "bad"}
				}
				return e
			}
			return h
		}, func(h *history) { h.live(40) })
		if h != nil {
			for _, ch := range h.core.State().Changes {
				switch {
				case ch.Phase == queue.Rejected:
					rejected.Add(1)
				case ch.Phase == queue.Landed:
					landed.Add(1)
					if ch.Verdict != nil && len(ch.Verdict.Excused) > 0 {
						excused.Add(1)
					}
				}
			}
		}
		return turns, why
	})
	t.Logf("%d changes landed, %d of them with failures in quarantine; %d were rejected", landed.Load(), excused.Load(), rejected.Load())
	if landed.Load() > 100 && excused.Load() == 0 {
		t.Error("nothing was excused")
	}
}

// files puts an entry into the file of steps of main before anything begins.
func (h *history) files(token string, is bool) {
	if !is || strings.Contains(h.commits[h.main].tree[stepsFile], token) {
		return
	}
	h.main = h.put(commit{tree: h.commits[h.main].tree.with(edit{stepsFile: token})}).id
	h.good = h.commits[h.main].tree
}
