package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// begin lets the queue read main and have its slots.
func (w *world) begin(slots int) {
	w.Helper()
	w.tell(queue.Capacity{Slots: slots})
	w.quiesce()
}

// work carries out the outstanding action at a place and tells what came of it.
func (w *world) work(i int) {
	w.Helper()
	a := w.waits[i]
	w.waits = slices.Delete(slices.Clone(w.waits), i, i+1)
	w.tell(w.carryOut(a)...)
}

// settleDown carries out everything but builds.
func (w *world) settleDown() {
	w.Helper()
	for n := 0; len(w.waits) > 0 || len(w.mail) > 0; n++ {
		if n > 3000 && !w.audit.off {
			w.Fatalf("no end of actions: %+v", w.waits[0])
		}
		if len(w.mail) > 0 {
			e := w.mail[0]
			w.mail = w.mail[1:]
			w.step(e)
			continue
		}
		w.now++
		w.work(0)
	}
}

// quiesce lets everything happen that can without a word from outside, except
// that time is not made to pass for its own sake.
func (w *world) quiesce() {
	w.Helper()
	for range 3000 {
		w.settleDown()
		builds := w.going()
		if len(builds) == 0 {
			return
		}
		w.now = w.now.Add(10 * 1000 * 1000 * 1000)
		w.tell(w.advance(builds[0])...)
	}
	w.Fatalf("no end of builds")
}

// waitOut makes time pass, from one wake-up to the next, until every change has
// a verdict or is parked.
func (w *world) waitOut() {
	w.Helper()
	w.quiesce()
	for n := 0; w.restless(); n++ {
		if n > 400 {
			return // final will name the change that is stuck
		}
		if w.wake == 0 || w.wake <= w.now {
			return
		}
		w.now = w.wake
		w.tell(queue.Tick{})
		w.quiesce()
	}
}

func (w *world) restless() bool {
	s := w.core.State()
	if len(s.Actions) > 0 || s.Main.Root != "" {
		return true
	}
	for _, ch := range s.Changes {
		if !ch.Phase.Final() && ch.Phase != queue.Parked {
			return true
		}
	}
	return false
}

// change returns the change of a pull request that is active or was last.
func (w *world) change(p *pull) *queue.Change {
	w.Helper()
	s := w.core.State()
	q := s.Pulls[p.number]
	if q == nil {
		w.Fatalf("the queue does not know pull %d", p.number)
	}
	if ch := s.Changes[q.Active]; ch != nil {
		return ch
	}
	return s.Changes[q.Last]
}
