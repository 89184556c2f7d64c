package speculation

import (
	"flag"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

var strictHistories = flag.String("strict-histories", "0:300", "seeds FROM:TO of the histories that TestStrictHistories makes; TO is not among them")

// TestStrictHistories makes histories in which targets come and go, and runs of new ones
// fail by chance. All that TestHistories asks for holds as well, and whatever lands has
// passed each run that its new targets were to have.
//
// The figure of a thousand: go test ./speculation -run 'TestStrictHistories$' -strict-histories 0:1000 -v
func TestStrictHistories(t *testing.T) {
	var landed, brought, rejected atomic.Int64
	soakRange(t, "TestStrictHistories", "strict-histories", *strictHistories, func(seed int64, log *[]string) (int, string) {
		chance := rand.New(rand.NewPCG(uint64(seed), 0x57))
		var h *history
		turns, why := lived(log, func() *history {
			h = newHistory(stopping{}, func(n int, what string) int {
				drawn := chance.IntN(n)
				switch what {
				case "steps":
					return []int{0, 1, 2, 3, 7, 8}[drawn%6]
				case "drifting", "stale caches", "everything": // what runs more than it is told fails for it
					return 0
				}
				return drawn
			})
			h.files("*2", true)
			h.fresh = func(queue.Key) bool { return chance.IntN(5) == 0 }
			h.audit.trusting = true // a run of a new target that fails by chance decides
			passed := map[queue.Key]bool{}
			before := h.passes
			h.passes = func(t tree, keys []queue.Key) {
				for _, k := range keys {
					passed[k] = true
				}
				if before != nil {
					before(t, keys)
				}
			}
			plain := edits()
			h.draw = func(t tree) edit {
				if h.chance(60, "else") {
					return plain[h.pick(len(plain), "edit")]
				}
				n := []string{"a", "b", "c", "d"}[h.pick(4, "target")]
				if setOf(t[fileOf(n)])["deleted"] {
					return edit{fileOf(n): "-deleted"}
				}
				return edit{fileOf(n): "deleted"}
			}
			h.audit.arrives = func(c *commit) {
				before := c.parent
				for _, l := range h.core.State().Links {
					if l.Commit == c.id && l.Change != "" {
						before = l.Parent // what a change takes away and brings again on its way is not new
					}
				}
				for _, k := range h.law.newKeys(h.commits[before].tree, c.tree) {
					if st, _ := queue.NewStepSet(stepsOf(c.tree)).Step(k.Step); st.Repeat > 0 {
						if brought.Add(1); !passed[k] {
							h.Fatalf("%s lands as %s, and run %d of %s has not passed", c.change, c.id, st.Repeat, k.Target)
						}
					}
				}
			}
			return h
		}, func(h *history) { h.live(40) })
		if h != nil {
			for _, ch := range h.core.State().Changes {
				switch ch.Phase {
				case queue.Rejected:
					rejected.Add(1)
				case queue.Landed:
					landed.Add(1)
				}
			}
		}
		return turns, why
	})
	t.Logf("%d changes landed, with %d runs of new targets; %d were rejected", landed.Load(), brought.Load(), rejected.Load())
	if landed.Load() > 100 && brought.Load() == 0 {
		t.Error("nothing new has landed")
	}
}
