package speculation

import (
	"flag"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

var redHistories = flag.String("red-histories", "0:30", "seeds FROM:TO of the histories that TestRedMainAccusesNobody makes; TO is not among them")

// TestRedMainAccusesNobody makes histories of a main that is turned red past the queue,
// again and again, under steps whose CI runs everything and names no target. A sound
// change is never rejected: its failures are main's. All that TestHistories asks for holds
// as well.
//
// The figure of a thousand: go test ./speculation -run 'TestRedMainAccusesNobody$' -red-histories 0:1000 -v
func TestRedMainAccusesNobody(t *testing.T) {
	var reds, rejected, sound atomic.Int64
	soakRange(t, "TestRedMainAccusesNobody", "red-histories", *redHistories, func(seed int64, log *[]string) (int, string) {
		chance := rand.New(rand.NewPCG(uint64(seed), 0x4ed))
		return lived(log, func() *history {
			return newHistory(stopping{}, func(n int, what string) int {
				drawn := chance.IntN(n)
				switch what {
				case "steps":
					return []int{1, 5}[drawn%2] // exit-code: one of targets, one that covers the tree
				case "everything":
					return n - 1
				case "drifting":
					return 0
				}
				return drawn
			})
		}, func(h *history) {
			h.begin(1 + h.pick(6, "slots"))
			for range 4 + h.pick(20, "events") {
				if h.chance(30, "main is broken") {
					h.redden()
					reds.Add(1)
					continue
				}
				h.happen()
			}
			h.calm()
			for _, p := range h.pulls {
				if h.core.State().Pulls[p.number] == nil {
					continue
				}
				switch ch := h.change(p); {
				case ch == nil:
				case ch.Phase == queue.Rejected:
					rejected.Add(1)
				case ch.Phase == queue.Landed:
					sound.Add(1)
				}
			}
		})
	})
	t.Logf("main was broken %d times; %d changes landed, %d were rejected, none of them sound", reds.Load(), sound.Load(), rejected.Load())
}
