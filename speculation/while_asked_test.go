package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A change waits for a review and a check. It is looked at because of the review, and the check ends
// after the forge was read and before the queue has the answer: the end of the check is not forgotten.
func TestCheckEndsWhileTheForgeIsAsked(t *testing.T) {
	w, p, _ := asking(t)
	review, check := queue.Requirement{Kind: queue.RequireReviews}, queue.Requirement{Kind: queue.RequireChecks, Names: []string{"ci"}}
	p.lacks = []queue.Requirement{review, check}
	w.step(w.say(p, "dev", "/land"))
	w.settleDown()
	w.mustBe(p, queue.Parked)
	for until := w.now.Add(5 * time.Hour); w.now < until; {
		w.now = max(w.now+1, w.wake)
		w.tell(queue.Tick{})
		w.settleDown()
	}
	p.lacks = []queue.Requirement{check}
	w.tell(queue.Stirred{Number: p.number})
	read := w.mustTake("inspect")
	p.lacks = nil
	w.tell(queue.Stirred{Head: p.head})
	w.now = w.now.Add(time.Second)
	w.tell(read...)
	w.settleDown()
	for until := w.now.Add(5 * minute); w.now < until && !w.change(p).Phase.Final(); {
		w.now = min(until, max(w.now+1, w.wake))
		w.tell(queue.Tick{})
		w.quiesce()
	}
	w.mustBe(p, queue.Landed)
}

// The event that a pull request was closed comes late, when it is open again: a try goes on.
func TestLateEndOfATry(t *testing.T) {
	for _, truly := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "fine"})
		w.step(w.say(p, "dev", "/land try"))
		w.settleDown()
		p.open = !truly
		w.tell(queue.Closed{Number: p.number})
		w.quiesce()
		try := w.core.s.Changes[w.core.s.Pulls[p.number].Tried]
		if want := map[bool]queue.Phase{false: queue.Tried, true: queue.Cancelled}[truly]; try == nil || try.Phase != want || truly && try.Reason.Code != queue.ReasonClosed {
			t.Errorf("closed %v, and the try: %+v", truly, try)
		}
	}
}

// Somebody asks for an explanation, and another person pushes before the forge is asked: what was
// pushed is not analyzed in the name of who has not seen it, since an analysis may run its code.
func TestPushBeforeAnExplanation(t *testing.T) {
	for _, by := range []string{"dev", "eve", ""} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "fine"})
		w.step(w.say(p, "dev", "/land explain"))
		moved := w.headMoves(p, edit{"a/code": "finer"})
		moved.Body = queue.HeadMoved{Number: p.number, Head: p.head, By: by}
		w.step(moved)
		w.settleDown()
		n := len(w.core.s.Changes)
		if want := map[bool]int{true: 1}[by == "dev"]; n != want {
			t.Errorf("pushed by %q, and %d analyzed", by, n)
		}
		if said := w.core.s.Pulls[p.number].Notice.Code; (said == queue.ReasonPushed) != (by != "dev") {
			t.Errorf("pushed by %q, and said %q", by, said)
		}
	}
}
