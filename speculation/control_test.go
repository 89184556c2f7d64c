package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Main is read for a target that it does not have, and a change that brings it lands before the answer
// comes: that answer says nothing of main as it is.
func TestMissingIsHeardLate(t *testing.T) {
	files := tree{stepsFile: "unit:exit-code:targets:test", barrier: "go1", unowned: "data", "a/code": "base", "c/code": "deleted"}
	w := newWorld(t, law{targets: []string{"a", "c"}, needs: map[string][]string{}}, files, rulesOf(config.Rules{Retries: 1}))
	w.begin(8)
	w.audit.drifting = true
	first := w.land(edit{"c/code": "-deleted one"})
	second := w.land(edit{"c/code": "-deleted two"})
	w.settleDown()
	reads := func(a queue.Action) bool { _, ok := a.Task.(queue.Watch); return ok }
	build := func(p *pull) {
		w.now = w.now.Add(minute)
		for _, r := range w.going() {
			if r.build.Change == w.change(p).ID {
				w.tell(w.advance(r)...)
			}
		}
	}
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
	build(second)
	others()
	late := slices.IndexFunc(w.waits, reads)
	if late < 0 {
		t.Fatal("main is not read")
	}
	w.drifts = nil
	build(first)
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
	if x := w.core.s.Controls[queue.Aim{Step: "unit", Target: "c"}.ID()]; x != nil && x.Missing {
		t.Errorf("main is said to lack what has landed: %+v", x)
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
	files := tree{stepsFile: "unit:exit-code:targets:test", barrier: "go1", unowned: "data", "a/code": "base", "c/code": "deleted"}
	w := newWorld(t, law{targets: []string{"a", "c"}, needs: map[string][]string{}}, files, rulesOf(config.Rules{Retries: 1}))
	w.begin(8)
	w.audit.drifting = true
	first := w.land(edit{"c/code": "-deleted one"})
	second := w.land(edit{"c/code": "-deleted two"})
	w.settleDown()
	missing := func() bool {
		x := w.core.s.Controls[queue.Aim{Step: "unit", Target: "c"}.ID()]
		return x != nil && x.Missing
	}
	build := func(p *pull) {
		w.now = w.now.Add(minute)
		for _, r := range w.going() {
			if r.build.Change == w.change(p).ID {
				w.tell(w.advance(r)...)
			}
		}
		w.settleDown()
	}
	w.drifts = []rule{{target: "c"}}
	build(second) // fails on c, alone and on the first
	if !missing() {
		t.Fatalf("main is not said to lack c: %+v", w.core.s.Controls)
	}
	w.drifts = nil
	build(first) // lands, with c
	if w.change(first).Phase != queue.Landed || missing() {
		t.Errorf("%s, and main is said to lack c: %t", w.change(first).Phase, missing())
	}
	w.drifts = []rule{{target: "c"}}
	w.quiesce()
	if ch := w.change(second); ch.Phase == queue.Rejected {
		t.Errorf("rejected: %+v", ch.Verdict.Failures)
	}
}
