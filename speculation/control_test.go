package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// bringing begins a world where two changes bring the target c, which main does not have.
func bringing(t *testing.T) (w *world, first, second *pull) {
	t.Helper()
	files := tree{stepsFile: "unit:exit-code:targets:test", barrier: "go1", unowned: "data", "a/code": "base", "c/code": "deleted"}
	w = newWorld(t, law{targets: []string{"a", "c"}, needs: map[string][]string{}}, files, rulesOf(config.Rules{Retries: 1}))
	w.begin(8)
	w.audit.drifting = true
	first, second = w.land(edit{"c/code": "-deleted one"}), w.land(edit{"c/code": "-deleted two"})
	w.settleDown()
	return w, first, second
}

// buildOf has the builds of a pull request say what comes next, a minute later.
func (w *world) buildOf(p *pull) {
	w.now = w.now.Add(minute)
	for _, r := range w.going() {
		if r.build.Change == w.change(p).ID {
			w.tell(w.advance(r)...)
		}
	}
}

// lacks reports whether main is held not to have c.
func (w *world) lacks() bool {
	x := w.core.s.Controls[queue.Aim{Step: "unit", Target: "c"}.ID()]
	return x != nil && x.Missing
}

// Main is read for a target that it does not have, and a change that brings it lands before the answer
// comes: that answer says nothing of main as it is.
func TestMissingIsHeardLate(t *testing.T) {
	w, first, second := bringing(t)
	reads := func(a queue.Action) bool { _, ok := a.Task.(queue.Watch); return ok }
	others := func() { // all but the answer what main has
		for n := 0; n < 1000; n++ {
			i := slices.IndexFunc(w.waits, func(a queue.Action) bool { return !reads(a) })
			if i < 0 {
				return
			}
			w.now++
			w.work(i)
		}
	}
	w.drifts = []rule{{target: "c"}}
	w.buildOf(second)
	others()
	late := slices.IndexFunc(w.waits, reads)
	if late < 0 {
		t.Fatal("main is not read")
	}
	w.drifts = nil
	w.buildOf(first)
	w.now = w.now.Add(2 * patienceToAsk) // main waits no longer
	w.tell(queue.Tick{})
	others()
	if got := w.change(first).Phase; got != queue.Landed {
		t.Fatalf("the first is %s", got)
	}
	late = slices.IndexFunc(w.waits, reads)
	if late < 0 {
		t.Fatal("main has been read")
	}
	w.work(late)
	if w.lacks() {
		t.Error("main is said to lack what has landed")
	}
	w.drifts = []rule{{target: "c"}}
	w.quiesce()
	if ch := w.change(second); ch.Phase == queue.Rejected {
		t.Errorf("rejected: %+v", ch.Verdict.Failures)
	}
}

// Two changes bring the same target, which main does not have. The first lands, and the target fails
// on main, too, by now: the second is not rejected by what main was before.
func TestMissingOnAnOlderMain(t *testing.T) {
	w, first, second := bringing(t)
	w.drifts = []rule{{target: "c"}}
	w.buildOf(second) // fails on c, alone and on the first
	w.settleDown()
	if !w.lacks() {
		t.Fatalf("main is not said to lack c: %+v", w.core.s.Controls)
	}
	w.drifts = nil
	w.buildOf(first) // lands, with c
	w.settleDown()
	if w.change(first).Phase != queue.Landed || w.lacks() {
		t.Errorf("%s, and main is said to lack c: %t", w.change(first).Phase, w.lacks())
	}
	w.drifts = []rule{{target: "c"}}
	w.quiesce()
	if ch := w.change(second); ch.Phase == queue.Rejected {
		t.Errorf("rejected: %+v", ch.Verdict.Failures)
	}
}
