package speculation

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAnyHistoryOnGitLab is TestAnyHistory by the rules of GitLab: it takes note of each
// pushed ref in a job of its own, in any order, and calls a merge request merged only if it
// has stored its head before it comes to the job of main. Besides what holds for every
// history, no merge request is left open whose change has landed, and approvals that
// the move of a head has taken back are asked for again before another try.
func TestAnyHistoryOnGitLab(t *testing.T) {
	var sum afterwards
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		h.onGitLab()
		g := h.branches.gitlab
		h.begin(1 + h.pick(6, "slots"))
		for range 5 + h.pick(36, "events") {
			h.happen()
			for len(g.jobs) > 0 && h.chance(40, "a job runs") {
				h.follow(h.pick(len(g.jobs), "job"))
			}
			for n, p := range h.pulls {
				g.ended[n] = g.ended[n] || !p.open
			}
			if h.requires {
				h.boarded()
			}
		}
		g.resets = false
		for _, p := range h.pulls {
			p.lacks = nil // and nobody hears of it
		}
		h.calm()
		for n := 0; h.requires && h.outsiders() > 0; n++ {
			if n > 100 || h.wake <= h.now {
				rt.Fatalf("%d changes wait for what is met", h.outsiders())
			}
			h.pass()
			h.quiesce()
		}
		h.waitOut()
		h.followAll()
		h.waitOut()
		h.audit.final()
		h.audit.ends()
		sum.merged, sum.empty, sum.closed = sum.merged+g.merged, sum.empty+g.empty, sum.closed+g.closed
	})
	t.Logf("%d merge requests were merged, %d were left open with nothing in them, %d were closed by the queue", sum.merged, sum.empty, sum.closed)
}
