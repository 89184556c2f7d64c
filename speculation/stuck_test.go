package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A change whose merge can never be made is let go in the end: its returns to be
// tried again do not begin its time anew.
func TestMergeThatCanNeverBeMade(t *testing.T) {
	w := quiet(t, unit, config.Rules{Admission: config.Admission{ParkedLimit: 2 * time.Hour}})
	p := w.open(w.main, edit{"a/code": "fine"})
	w.step(w.say(p, "dev", "/land"))
	until := w.now.Add(3 * time.Hour)
	for w.now < until {
		for len(w.waits) > 0 {
			if _, merge := w.waits[0].Task.(queue.Resolve); merge {
				a := w.waits[0]
				w.waits = w.waits[1:]
				w.tell(queue.Failed{Action: a.Key, Error: "no such object"})
				continue
			}
			w.work(0)
		}
		if w.wake <= w.now {
			break
		}
		w.now = w.wake
		w.tell(queue.Tick{})
	}
	if ch := w.mustBe(p, queue.Cancelled); ch.Reason.Code != queue.ReasonParkedLimit {
		t.Errorf("reason = %+v", ch.Reason)
	}
}
