package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

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
	slow := func() {
		for range 200 {
			i := slices.IndexFunc(w.waits, func(a queue.Action) bool {
				_, reads := a.Task.(queue.Watch)
				return !reads || w.now.Sub(a.At) >= patienceToAsk+10*time.Second
			})
			if i < 0 {
				return
			}
			w.now++
			w.work(i)
		}
	}
	for range 400 {
		if w.change(p).Phase.Final() {
			break
		}
		w.land(edit{"b/code": "at" + w.now.Time().Format("150405")})
		slow()
		w.now = w.now.Add(10 * time.Second)
		w.tell(queue.Tick{})
		slow()
		for _, r := range w.going() {
			w.tell(w.advance(r)...)
			slow()
		}
	}
	w.mustBe(p, queue.Rejected)
}

// Main is read slowly, and other changes land all the time: a change that fails is rejected all
// the same.
func TestRejectionOutrunByMain(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1}, rule{target: "a", all: []string{"bad"}})
	p := w.land(edit{"a/code": "bad"})
	w.settleDown()
	slow := func() { // everything but readings of main that have not taken long enough
		for range 200 {
			i := slices.IndexFunc(w.waits, func(a queue.Action) bool {
				_, reads := a.Task.(queue.Observe)
				return !reads || w.now.Sub(a.At) >= 20*time.Second
			})
			if i < 0 {
				return
			}
			w.now++
			w.work(i)
		}
	}
	for range 200 {
		if w.change(p).Phase.Final() {
			break
		}
		w.land(edit{"b/code": "at" + w.now.Time().Format("150405")})
		slow()
		w.now = w.now.Add(10 * time.Second)
		w.tell(queue.Tick{})
		slow()
		for _, r := range w.going() {
			w.tell(w.advance(r)...)
			slow()
		}
	}
	w.mustBe(p, queue.Rejected)
}
