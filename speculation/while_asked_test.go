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
