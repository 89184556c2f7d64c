package speculation

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// TestAnyHistoryOfHeads is TestAnyHistory where the CI of each pull request runs its head
// as it is pushed, shows what is true of that tree, and passes there count: main is
// green at each commit all the same, and no change is rejected for what its head shows.
// Runs fail by chance, go on for a while, and end unheard.
func TestAnyHistoryOfHeads(t *testing.T) {
	counted := 0
	rapid.Check(t, func(rt *rapid.T) {
		dice := shrinking(rt)
		h := newHistory(rt, func(n int, what string) int {
			switch got := dice(n, what); what {
			case "steps":
				return 5 + got%2
			case "retries":
				return got &^ 1
			default:
				return got
			}
		})
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		h.headOpen = func() bool { return h.chance(20, "its CI goes on") }
		h.headFlake = func() bool { return h.chance(10, "its CI flakes") }
		h.begin(1 + h.pick(6, "slots"))
		for range 5 + h.pick(40, "events") {
			h.happen()
			heads := h.openHeads()
			for _, id := range heads {
				h.runHead(id)
			}
			if len(heads) > 0 && h.chance(15, "its CI ends") {
				h.tell(queue.HeadChecked{Head: heads[h.pick(min(len(heads), 100), "where")]})
			}
		}
		h.headOpen = nil
		h.calm()
		h.audit.final()
		for _, ch := range h.core.s.Changes {
			if ch.OwnCI != nil {
				counted += ch.OwnCI.Keys
			}
		}
	})
	if counted == 0 {
		t.Error("no pass on a head was counted")
	}
}

// openHeads returns the heads of the open pull requests, by number.
func (h *history) openHeads() (out []queue.CommitID) {
	for n := 1; n <= len(h.pulls); n++ {
		if p := h.pulls[n]; p != nil && p.open {
			out = append(out, p.head)
		}
	}
	return out
}

// TestHeadsThatLie: had the queue believed the passes of a CI that lies, main would be
// red: the world above can tell.
func TestHeadsThatLie(t *testing.T) {
	w := headWorld(t, counting)
	p := w.open(w.main, edit{"a/code": "bad"})
	r := w.runHead(p.head)
	for d := range r.green {
		r.green[d] = true
	}
	w.audit.off = true
	w.step(w.say(p, "dev", "/land"))
	w.waitOut()
	main := w.commits[w.main].tree
	red := slices.ContainsFunc(w.keysOf(main), func(k queue.Key) bool { return !w.green(main, k) })
	if !red || w.change(p).Phase != queue.Landed {
		t.Error("a pass that is none has landed nothing: this world proves nothing")
	}
	if stepOf(counting).Earlier != config.EarlierCount {
		t.Error("its step does not count")
	}
}
