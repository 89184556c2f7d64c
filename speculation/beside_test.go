package speculation

import (
	"fmt"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// TestFailureOfWhatWasNotAskedFor: CI runs everything and names no target, and a run that
// was asked for a alone fails, because of b. A change ahead lands and mends b: nothing
// speaks against the change any more, and it lands.
func TestFailureOfWhatWasNotAskedFor(t *testing.T) {
	w := quiet(t, byStep, config.Rules{Spare: config.SpareAlways}, rule{target: "b", all: []string{"odd"}, unless: "heal"})
	w.everything = true
	heal := w.land(edit{"x/b": "heal"})
	p := w.land(edit{"a/code": "fine", "b/code": "odd"})
	w.settleDown()
	alone := queue.BuildID("")
	for _, r := range w.going() {
		if b := r.build; b.Change == w.change(p).ID && len(b.Chain) == 0 {
			alone = b.ID
			w.tell(queue.JobDone{Build: b.ID, Step: b.Jobs[0].Step.Digest(), Asked: []string{"a"}, Outcome: queue.JobFailed, Began: w.now, Ended: w.now})
		}
	}
	if alone == "" {
		t.Fatal("no build of the change without the one ahead")
	}
	w.waitOut()
	w.mustBe(heal, queue.Landed)
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// TestFailureOfWhatIsAhead: the same with a change ahead, whose b a change before that one
// mends. The run was asked for all that the change itself has.
func TestFailureOfWhatIsAhead(t *testing.T) {
	w := quiet(t, byStep, config.Rules{}, rule{target: "b", all: []string{"odd"}, unless: "heal"})
	w.everything = true
	heal := w.land(edit{"x/b": "heal"})
	ahead := w.land(edit{"x/a": "more", "b/code": "odd"})
	p := w.land(edit{"a/code": "fine", "c/code": "fine"})
	w.settleDown()
	n := 0
	for _, r := range w.going() {
		b := r.build
		if b.Change == w.change(p).ID && slices.Equal(b.Chain, []queue.ChangeID{w.change(ahead).ID}) {
			n++
			w.tell(queue.JobDone{Build: b.ID, Step: b.Jobs[0].Step.Digest(), Outcome: queue.JobFailed, Began: w.now, Ended: w.now})
		}
	}
	if n == 0 {
		t.Fatal("no build of the change on the one ahead alone")
	}
	w.waitOut()
	w.mustBe(heal, queue.Landed)
	w.mustBe(ahead, queue.Landed)
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// TestManyKeysBeside: what a failure keeps of them is bounded, and the rest is not taken for
// none.
func TestManyKeysBeside(t *testing.T) {
	names, change := []string{"a"}, edit{"a/code": "fine"}
	for i := range 100 {
		names = append(names, fmt.Sprint("n", i))
		change[fileOf(names[i+1])] = "fine"
	}
	l, files := plain(names...)
	files[stepsFile] = byStep
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.begin(8)
	w.land(change)
	w.settleDown()
	b := w.going()[0].build
	w.tell(queue.JobDone{Build: b.ID, Step: b.Jobs[0].Step.Digest(), Asked: []string{"a"}, Outcome: queue.JobFailed, Began: w.now, Ended: w.now})
	e := w.core.s.Ledger[queue.OpaqueID(b.Keys()[:1])]
	if e == nil || len(e.Failures) != 1 {
		t.Fatalf("%+v", e)
	}
	if beside := e.Failures[0].Beside; len(beside) != 65 || beside[64] != "" || slices.Contains(beside[:64], "") {
		t.Errorf("%d: %v", len(beside), beside)
	}
}
