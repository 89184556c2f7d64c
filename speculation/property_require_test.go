package speculation

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

// TestAnyHistoryWithRequirements is TestAnyHistory at a forge that asks things of
// pull requests, which come true and stop being true at any moment, and of which
// the queue hears or not: main stays green, no change is lost or stuck, and each that
// lands was seen shortly before to meet them.
func TestAnyHistoryWithRequirements(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		h.requires = true
		h.begin(rapid.IntRange(1, 6).Draw(rt, "slots"))
		for range rapid.IntRange(5, 40).Draw(rt, "events") {
			h.happen()
			h.boarded()
		}
		for _, p := range h.pulls {
			p.lacks = nil // and nobody hears of it
		}
		h.calm()
		h.boarded()
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
	})
}

// outsiders counts the changes that wait, in vain, for what their pull requests meet.
func (h *history) outsiders() (n int) {
	for _, ch := range h.core.State().Changes {
		approval := slices.ContainsFunc(ch.Reason.Unmet, func(r queue.Requirement) bool {
			return r.Kind == queue.RequireAdministrator || r.Kind == queue.RequireUpdate // nobody need give it
		})
		if p := h.pulls[ch.Number]; waitsOutside(ch) && len(p.lacks) == 0 && !p.draft && !approval {
			n++
		}
	}
	return n
}

// flap makes a pull request meet what is asked of it, or not.
func (h *history) flap() {
	h.Helper()
	p := h.somePull()
	if p == nil {
		return
	}
	if len(p.lacks) > 0 {
		p.lacks = nil
	} else {
		p.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}}
	}
	h.logf("## pull %d lacks %v", p.number, p.lacks)
	switch h.pick(4, "heard") {
	case 0:
		h.tell(queue.Stirred{Number: p.number})
	case 1:
		h.tell(queue.Stirred{Head: p.head})
	case 2:
		h.mail = append(h.mail, h.event(queue.Stirred{Number: p.number}))
	}
}

// boarded holds what is on its way to main against what the queue was told.
func (h *history) boarded() {
	h.Helper()
	push := h.core.State().Push
	if push == nil {
		return
	}
	for _, id := range push.Changes {
		ch := h.core.State().Changes[id]
		if ch.Kept {
			continue // it was approved; our own push of the head has taken that away
		}
		// A late answer counts as long as its question does.
		limit := metFor + maxBackoff + 2*time.Minute
		if p := h.pulls[ch.Number]; push.At.Sub(p.seenMet) > limit {
			h.Fatalf("%s lands, and was last seen to meet what is asked of it %s before", id, push.At.Sub(p.seenMet))
		}
	}
}
