package speculation

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

// TestAnyHistoryWithStacksOfTheForge is TestAnyHistory where pull requests are in stacks of
// the forge's own, which it restacks at any moment, base and head at once or one after the
// other, and which are dissolved, and of which the queue hears or not: main stays green,
// nobody is lost or stuck, and nothing lands that the forge would not show as merged.
func TestAnyHistoryWithStacksOfTheForge(t *testing.T) {
	restacks, kept := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		h.native, h.requires = true, true
		h.stacky = max(h.stacky, 60)
		h.begin(rapid.IntRange(1, 6).Draw(rt, "slots"))
		for range rapid.IntRange(5, 60).Draw(rt, "events") {
			h.happen()
			if h.chance(30, "the forge") {
				restacks += h.restackSome()
			}
		}
		for _, p := range h.pulls {
			p.native, p.lacks = 0, nil // and nobody hears of it
		}
		h.calm()
		for n := 0; h.outsiders() > 0; n++ {
			if n > 100 || h.wake <= h.now {
				rt.Fatalf("%d changes wait for what is met", h.outsiders())
			}
			h.now = h.wake
			h.tell(queue.Tick{})
			h.quiesce()
		}
		h.waitOut()
		h.audit.final()
		for _, ch := range h.core.State().Changes {
			if ch.Reason.Code == queue.ReasonRestacked {
				kept++
			}
		}
	})
	t.Logf("%d restacks, of which %d were of what was queued", restacks, kept)
	if restacks > 200 && kept == 0 {
		t.Error("no case of: a change in the queue is restacked")
	}
}

// inOneStack puts a pull request into the stack of the one that it is on top of.
func (h *history) inOneStack(p, low *pull) {
	if low.native == 0 {
		low.native = low.number
		h.mail = append(h.mail, h.event(queue.Retargeted{Number: low.number}))
	}
	p.native = low.native
}

// restackSome has the forge do something to a stack. It reports how many heads have moved.
func (h *history) restackSome() int {
	h.Helper()
	p := h.somePull()
	if p == nil || p.native == 0 || !p.open {
		return 0
	}
	if h.chance(10, "unstack") {
		for _, x := range h.pulls {
			if x.native == p.native {
				x.native = 0
			}
		}
		h.logf("## the stack of pull %d is dissolved", p.number)
		return 0
	}
	low := (*pull)(nil)
	for _, n := range slices.Sorted(maps.Keys(h.pulls)) {
		if x := h.pulls[n]; branchOf(x) == p.base {
			low = x
		}
	}
	at := h.main
	if low != nil {
		known := h.core.State().Pulls[low.number]
		if known != nil && known.Landed && known.Active == "" {
			p.base = "main"
			h.logf("## the forge has pull %d ask for main", p.number)
			if h.chance(50, "the base alone, at first") {
				h.mail = append(h.mail, h.event(queue.Retargeted{Number: p.number}))
				return 0
			}
		} else {
			at = low.head
		}
	}
	c, conflicts := h.merge(at, queue.Pick{Head: p.head})
	if len(conflicts) > 0 || c.id == at {
		return 0
	}
	h.movesTo(p, h.put(commit{parent: at, tree: c.tree}).id)
	h.logf("## the forge has pull %d at %s, on %s", p.number, p.head, at)
	if e := h.event(queue.HeadMoved{Number: p.number, Head: p.head}); h.chance(70, "heard") {
		h.step(e)
	} else {
		h.mail = append(h.mail, e)
	}
	return 1
}
