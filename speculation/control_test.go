package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

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
