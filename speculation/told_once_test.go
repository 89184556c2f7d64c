package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// While the check on main is being written, what it is to say by now waits: two that are
// under way may arrive in any order, and the older one would stay.
func TestOneCheckOnMainAtATime(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}})
	w.quiesce()
	var held []queue.Action
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	for more := true; more; {
		w.waits = slices.DeleteFunc(w.waits, func(a queue.Action) bool {
			_, is := a.Task.(queue.Tell)
			if is {
				held = append(held, a)
			}
			return is
		})
		switch builds := w.going(); {
		case len(w.mail) > 0:
			e := w.mail[0]
			w.mail = w.mail[1:]
			w.step(e)
		case len(w.waits) > 0:
			w.now++
			w.work(0)
		case len(builds) > 0:
			w.now = w.now.Add(10_000_000_000)
			w.tell(w.advance(builds[0])...)
		default:
			more = false
		}
	}
	if len(held) != 1 {
		t.Fatalf("%d are under way at once: %+v", len(held), held)
	}
	w.waits = append(w.waits, held...)
	w.quiesce()
	if n := len(w.toldMain); n < 2 || w.core.State().Main.Told != queue.Told(w.toldMain[n-1]) || w.toldMain[n-1].Want != w.core.hunting.mainFacts(true) {
		t.Errorf("the last of %d is not what holds: %+v", n, w.toldMain)
	}
	w.audit.final()
}
