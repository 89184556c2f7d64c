package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
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
