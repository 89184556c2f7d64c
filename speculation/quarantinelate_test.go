package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A target is put into quarantine while a step that names no target runs on it and on another one, and
// fails. The failure may be of the target in quarantine alone: it rejects nobody.
func TestPutIntoQuarantineDuringARun(t *testing.T) {
	w := quiet(t, "unit:exit-code:targets:test", config.Rules{}, rule{target: "b", all: []string{"bad"}})
	w.rules.Retries = 0
	q := w.land(edit{stepsFile: "~b"})
	w.mustReachPush()
	pushed := w.mustTake("land")
	p := w.land(edit{"a/code": "fine", "b/code": "bad"})
	w.settleDown()
	w.tell(pushed...)
	w.settleDown()
	w.mustBe(q, queue.Landed)
	w.waitOut()
	if ch := w.change(p); ch.Phase != queue.Landed {
		t.Errorf("it is %s: %+v", ch.Phase, ch.Verdict)
	}
}

// The run has failed before the target is put into quarantine, while the push that does so is under way.
func TestFailedBeforeQuarantine(t *testing.T) {
	for _, retries := range []int{0, 1} {
		w := quiet(t, "unit:exit-code:targets:test", config.Rules{}, rule{target: "b", all: []string{"bad"}})
		w.rules.Retries = retries
		w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
		w.tell(queue.MainMoved{Branch: "main"})
		w.quiesce()
		q := w.land(edit{stepsFile: "~b"})
		w.mustReachPush()
		pushed := w.mustTake("land")
		p := w.land(edit{"a/code": "fine", "b/code": "bad"})
		w.quiesce()
		w.tell(pushed...)
		w.waitOut()
		w.mustBe(q, queue.Landed)
		w.mustBe(p, queue.Landed)
		w.audit.final()
	}
}
