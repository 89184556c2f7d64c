package speculation

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAnyMovedHead has changes land by squash and rebase, on a forge that takes note of
// moved branches late, or never, and lets some of them not move. After any other events each
// branch is where its author has it or on main, unless the forge refuses to put it back, and
// no change is cancelled because of a push of our own.
func TestAnyMovedHead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		h.branched()
		h.begin(1 + h.pick(6, "slots"))
		for range 5 + h.pick(36, "events") {
			h.happen()
			if h.chance(20, "all is noted") {
				h.noteAll()
			}
		}
		h.calm()
		h.audit.final()
	})
}
