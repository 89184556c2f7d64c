package speculation

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

// TestAnyHistoryOfVersions is TestAnyHistory with servers that know other
// versions of the analyzer each time. Once all is calm, the newest one comes to
// decide.
func TestAnyHistoryOfVersions(t *testing.T) {
	servers := [][]string{{"go/1"}, {"go/2", "go/1"}, {"go/2"}, {"go/3", "go/2", "go/1"}, {"go/3", "go/2"}}
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		defer logging(rt, h.world)
		h.versions = servers[h.pick(len(servers), "server")]
		h.begin(rapid.IntRange(1, 6).Draw(rt, "slots"))
		for range rapid.IntRange(5, 40).Draw(rt, "events") {
			if h.chance(8, "another server") {
				if h.chance(50, "forgetful") {
					clear(h.store.archive) // what has passed is too old
				}
				h.serve(servers[h.pick(len(servers), "server")]...)
				continue
			}
			h.happen()
		}
		h.mail = nil // what a server has found out is gone with it
		h.serve("go/3", "go/2", "go/1")
		h.calm()
		for n := 0; h.core.State().Main.Next != nil && n < 300 && h.wake > h.now; n++ {
			h.now = h.wake
			h.tell(queue.Tick{})
			h.quiesce()
		}
		h.mustDecide("go/3")
		h.audit.final()
	})
}
