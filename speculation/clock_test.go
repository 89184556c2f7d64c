package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// An owner's clock ran hours ahead. The next one goes on by its own: what was asked
// for in that future is given up when its deadline has passed by the right clock.
func TestStateOfAClockThatRanAhead(t *testing.T) {
	w := quiet(t, unit, queue.Rules{})
	right := w.now
	w.now = w.now.Add(5 * time.Hour)
	w.step(w.say(w.open(w.main, edit{"a/code": "fine"}), "dev", "/land"))
	if len(w.core.State().Actions) == 0 {
		t.Fatal("nothing is under way")
	}
	c := w.store.load(w)
	if c.NotAfter(right); c.now > right.Add(maxAhead) {
		t.Fatalf("time stands still until %v", c.now.Time())
	}
	Step(c, []queue.Event{{ID: "tick", At: right.Add(2 * time.Minute), Body: queue.Tick{}}})
	patience := time.Duration(0)
	for _, a := range c.State().Actions {
		patience = max(patience, a.Deadline.Sub(c.now))
	}
	if patience > 2*time.Hour {
		t.Errorf("the last deadline is in %v", patience)
	}
	turn := Step(c, []queue.Event{{ID: "tock", At: c.now.Add(patience + time.Second), Body: queue.Tick{}}})
	if len(turn.Ended) == 0 {
		t.Error("nothing is given up though every deadline has passed")
	}
}
