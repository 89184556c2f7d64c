package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// workButFor carries out all actions but those that take longer.
func (w *world) workButFor(waits func(queue.Action) bool) {
	for range 200 {
		i := slices.IndexFunc(w.waits, func(a queue.Action) bool { return !waits(a) })
		if i < 0 {
			return
		}
		w.now++
		w.work(i)
	}
}

// landOthersUntil has another change land every ten seconds, until a pull request has its verdict
// or far too much time is over. work carries out what is asked for.
func (w *world) landOthersUntil(p *pull, work func()) {
	for range 400 {
		if w.change(p).Phase.Final() {
			return
		}
		w.land(edit{"b/code": "at" + w.now.Time().Format("150405")})
		work()
		w.now = w.now.Add(10 * time.Second)
		w.tell(queue.Tick{})
		work()
		for _, r := range w.going() {
			w.tell(w.advance(r)...)
			work()
		}
	}
}

// A change adds a target, which fails. To tell that main has no such target takes longer than main
// stays where it is, and other changes land all the time: the change is rejected all the same.
func TestMissingTargetOutrunByMain(t *testing.T) {
	l, _ := plain("a", "b", "c")
	l.rules = []rule{{target: "c", all: []string{"bad"}}}
	files := tree{stepsFile: unit, barrier: "go1", unowned: "data", "a/code": "base", "b/code": "base", "c/code": "deleted"}
	w := newWorld(t, l, files, rulesOf(config.Rules{Retries: 1}))
	w.begin(8)
	p := w.land(edit{"c/code": "-deleted bad"})
	w.settleDown()
	w.landOthersUntil(p, func() {
		w.workButFor(func(a queue.Action) bool {
			_, looks := a.Task.(queue.Watch)
			return looks && w.now.Sub(a.At) < patienceToAsk+10*time.Second
		})
	})
	w.mustBe(p, queue.Rejected)
}

// Main is read slowly, and other changes land all the time: a change that fails is rejected all
// the same.
func TestRejectionOutrunByMain(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1}, rule{target: "a", all: []string{"bad"}})
	p := w.land(edit{"a/code": "bad"})
	w.settleDown()
	w.landOthersUntil(p, func() {
		w.workButFor(func(a queue.Action) bool {
			_, reads := a.Task.(queue.Observe)
			return reads && w.now.Sub(a.At) < 20*time.Second
		})
	})
	w.mustBe(p, queue.Rejected)
}

// As TestRejectionOutrunByMain, and the first reading takes longer than main stays where it is for
// it, or has to be made twice: main stays where it is for a later one.
func TestRejectionOutrunByMainOnce(t *testing.T) {
	for _, how := range []string{"slow", "fails"} {
		w := quiet(t, unit, config.Rules{Retries: 1}, rule{target: "a", all: []string{"bad"}})
		p := w.land(edit{"a/code": "bad"})
		w.settleDown()
		sought, failed := queue.Instant(0), false
		w.landOthersUntil(p, func() {
			if sought == 0 {
				sought = w.core.s.Main.Sought
			}
			if i := slices.IndexFunc(w.waits, func(a queue.Action) bool {
				_, reads := a.Task.(queue.Observe)
				return reads && w.now.Sub(a.At) >= 20*time.Second
			}); i >= 0 && how == "fails" && sought != 0 && !failed {
				failed = true
				key := w.waits[i].Key
				w.waits = slices.Delete(w.waits, i, i+1)
				w.tell(queue.Failed{Action: key, Error: "away", Transient: true})
			}
			w.workButFor(func(a queue.Action) bool {
				_, reads := a.Task.(queue.Observe)
				takes := 20 * time.Second
				if how == "slow" && sought != 0 && a.At <= sought.Add(30*time.Second) {
					takes = 40 * time.Second
				}
				return reads && w.now.Sub(a.At) < takes
			})
		})
		if ch := w.change(p); ch.Phase != queue.Rejected {
			t.Errorf("%s: it is %s after %v", how, ch.Phase, w.now.Sub(sought))
		}
	}
}
