package speculation

import (
	"testing"

	"pgregory.net/rapid"
)

// TestForgettingInAnyHistory takes passes back at any moment of a history: main
// stays green at each commit, nothing rests on what was forgotten, and nothing is
// stuck (the audit of the world).
func TestForgettingInAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		h.begin(1 + h.pick(6, "slots"))
		for range 5 + h.pick(36, "events") {
			if h.chance(15, "forgets") {
				h.takeBack()
			} else {
				h.happen()
			}
		}
		h.calm()
		h.audit.final()
	})
}
