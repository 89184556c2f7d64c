package speculation

import (
	"slices"
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

// The merge of a change on the one ahead can never be made, and the queue protects paths: the
// merges of the chain are asked for one by one, and the answers count. So the change ahead is
// merged, and lands.
func TestMergeThatCannotBeMadeBehindAnother(t *testing.T) {
	l, files := plain("a", "b")
	files[stepsFile], files["x/a"] = unit, "text"
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.permissions.Protected = config.DefaultProtected()
	w.begin(8)
	base := w.main
	first, second := w.land(edit{"a/code": "one"}), w.land(edit{"x/a": "one"})
	w.tell(slices.Concat(w.mustTake("analyze"), w.mustTake("analyze"))...) // in one turn: both merges are asked for as one chain
	impossible := func(a queue.Action) bool {
		t, merge := a.Task.(queue.Resolve)
		at := -1
		if merge {
			at = slices.IndexFunc(t.Picks, func(p queue.Pick) bool { return p.Number == second.number })
		}
		return at > 0 || at == 0 && t.Base != base
	}
	for range 200 {
		switch {
		case len(w.waits) > 0 && impossible(w.waits[0]):
			a := w.waits[0]
			w.waits = w.waits[1:]
			w.tell(queue.Failed{Action: a.Key, Error: "no such object"})
		case len(w.waits) > 0:
			w.work(0)
		case len(w.going()) > 0:
			w.tell(w.advance(w.going()[0])...)
		}
	}
	w.mustBe(first, queue.Landed)
	if ch := w.mustBe(second, queue.Parked); ch.Reason.Code != queue.ReasonStuck {
		t.Errorf("the other waits for %+v", ch.Reason)
	}
}
