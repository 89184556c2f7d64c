package speculation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// outrun lands a change to b before each build under go/2 ends, whose a depends on b:
// all that landings bring is new to it. It reports after how many something is so; -1
// where it is not by the last.
func (w *world) outrun(most int, so func() bool) int {
	w.Helper()
	for i := range most {
		p := w.land(edit{"b/code": fmt.Sprint("t", i, w.now)})
		w.settleDown()
		for n := 0; w.change(p).Phase != queue.Landed; n++ {
			r := w.going()
			switch {
			case so():
				return i
			case len(r) == 0 || n > 20:
				w.Fatalf("change %d does not land: %s", i, w.phases(p))
			}
			at := max(slices.IndexFunc(r, func(r *run) bool { return r.build.Change != "" }), 0)
			w.now = w.now.Add(10 * time.Second)
			w.tell(w.advance(r[at])...)
			w.settleDown()
		}
		for _, r := range w.going() { // those under go/2
			w.now = w.now.Add(10 * time.Second)
			w.tell(w.advance(r)...)
			w.settleDown()
		}
	}
	return -1
}

func (w *world) switched() bool { return w.core.State().Main.Analyzer == "go/2" }

// holding reports whether landings wait for the newer version.
func (w *world) holding() bool { return w.core.facts.Changing() }

// outrunning is a world whose go/2 sees that a depends on b, which go/1 does not.
func outrunning(t *testing.T, truth ...rule) *world {
	t.Helper()
	w := quiet(t, unit, config.Rules{}, truth...)
	w.needs = map[string][]string{"a": {"b"}}
	w.blind = map[string]bool{"go/1": true}
	w.serve("go/1")
	w.waitOut()
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "outside"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.waitOut()
	w.serve("go/2", "go/1")
	w.settleDown()
	w.mustDecide("go/1")
	return w
}

// TestUpgradeIsNotOutrun: main moves on each time that all of it has passed under
// go/2, and each landing brings a target that only go/2 sees. After some of that
// landings wait for the last of it.
func TestUpgradeIsNotOutrun(t *testing.T) {
	w := outrunning(t)
	if n := w.outrun(12, w.switched); n < upgradeChase || n > upgradeChase+3 {
		t.Fatalf("in force after %d landings", n)
	}
	w.waitOut()
	w.mustDecide("go/2")
	w.audit.final()
}

// TestLandingsDoNotWaitForLong: what is left under go/2 is not built while landings
// wait for it. They go on, and wait for longer the next time.
func TestLandingsDoNotWaitForLong(t *testing.T) {
	w := outrunning(t)
	if w.outrun(12, w.holding) < 0 {
		t.Fatal("nothing waits")
	}
	n := w.core.State().Main.Next
	first := n.Hold.Sub(w.now)
	p := w.land(edit{"c/code": "fine"})
	w.settleDown()
	for _, r := range w.going() {
		if r.build.Change != "" {
			w.tell(w.advance(r)...)
		}
	}
	w.settleDown()
	if got := w.phases(p); got != "pending" {
		t.Fatal(got)
	}
	if why := w.core.telling.waits(w.change(p), queue.View{}); why[0].Code != queue.ReasonWaitsUpgrade || why[0].Until != n.Hold {
		t.Errorf("it says that it waits for %+v", why)
	}
	if w.wake > n.Hold {
		t.Fatalf("asks to be woken at %v", w.wake)
	}
	w.now = n.Hold
	w.tell(queue.Tick{})
	w.settleDown()
	if got := w.phases(p); got != "landed landed" {
		t.Fatal(got)
	}
	w.mustDecide("go/1")
	if w.outrun(12, w.holding) < 0 {
		t.Fatal("nothing waits again")
	}
	if again := w.core.State().Main.Next.Hold.Sub(w.now); again <= first {
		t.Errorf("landings waited for %s and then for %s", first, again)
	}
}

// TestThatNothingWaitsForAnUpgradeIsTold: landings wait for go/2 no more, in a turn in
// which nothing else happens. The comments of those that waited say so.
func TestThatNothingWaitsForAnUpgradeIsTold(t *testing.T) {
	w := outrunning(t)
	if w.outrun(12, w.holding) < 0 {
		t.Fatal("nothing waits")
	}
	p := w.land(edit{"c/code": "fine"})
	w.step(w.say(p, "boss", "/queue pause"))
	w.settleDown()
	w.now = w.core.State().Main.Next.Hold
	w.tell(queue.Tick{})
	if w.holding() || !slices.ContainsFunc(w.waits, func(a queue.Action) bool { _, is := a.Task.(queue.Publish); return is }) {
		t.Errorf("it waits: %t; what is asked for: %+v", w.holding(), w.waits)
	}
}

// TestLandingsDoNotWaitForWhatIsRed: a is red under go/2 from some time on, of which
// go/1 knows nothing.
func TestLandingsDoNotWaitForWhatIsRed(t *testing.T) {
	w := outrunning(t, rule{target: "a", all: []string{"bad"}})
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if n := w.outrun(4*upgradeChase, w.holding); n >= 0 {
		t.Errorf("landings wait after %d", n)
	}
	w.mustDecide("go/1")
}

// TestUpgradeWhereNoSlotIsFree: the farm is never idle. From some time on one build
// under go/2 goes before others.
func TestUpgradeWhereNoSlotIsFree(t *testing.T) {
	w := versioned(t, unit)
	clear(w.store.archive)
	w.tell(queue.Capacity{Slots: 2})
	for i := range 6 {
		w.land(edit{"a/code": fmt.Sprint("t", i), "b/code": fmt.Sprint("t", i), "c/code": fmt.Sprint("t", i)})
	}
	w.settleDown()
	w.serve("go/2", "go/1")
	w.settleDown()
	if n := w.upgradeRuns(); n != 0 || len(w.going()) != 2 {
		t.Fatalf("%d builds under go/2, %d builds run", n, len(w.going()))
	}
	w.now = w.now.Add(plan.UpgradePatience)
	w.tell(queue.Tick{})
	w.settleDown()
	if n, all := w.upgradeRuns(), len(w.going()); n != 1 || all != 2 {
		t.Errorf("%d builds under go/2, %d builds run", n, all)
	}
}

// hiddenRed breaks what only go/2 sees a to depend on, on a main that go/1 decides.
func (w *world) hiddenRed() {
	w.Helper()
	w.needs = map[string][]string{"a": {"b"}}
	w.blind = map[string]bool{"go/1": true}
	w.serve("go/1")
	w.waitOut()
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.waitOut()
	w.mustDecide("go/1")
}

// TestUpgradeGoesOnOnceMainIsProven: the turn in which main's last key passes asks what is
// unproven under the newer version. Else the upgrade would stand still until something
// else happened to the queue.
func TestUpgradeGoesOnOnceMainIsProven(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.serve("go/1")
	w.settleDown()
	w.serve("go/2", "go/1")
	w.settleDown()
	runs := w.going()
	if len(runs) != 1 || w.core.State().Main.Next == nil {
		t.Fatalf("%d builds, next %+v", len(runs), w.core.State().Main.Next)
	}
	b := runs[0].build
	var events []queue.Body
	for _, j := range b.Jobs {
		done := queue.JobDone{Build: b.ID, Step: j.Step.Digest(), Outcome: queue.JobPassed, Took: time.Minute, Machine: "m1"}
		for _, k := range j.Keys {
			done.Passed = append(done.Passed, k.Target)
		}
		events = append(events, done)
	}
	runs[0].over = true
	w.tell(append(events, queue.BuildDone{Build: b.ID, Outcome: queue.JobPassed})...)
	if !w.core.facts.ProvenMain() {
		t.Fatal("main is not proven")
	}
	if !slices.ContainsFunc(w.waits, func(a queue.Action) bool {
		s, is := a.Task.(queue.Survey)
		return is && s.Analyzer == w.core.State().Main.Next.Analyzer
	}) {
		t.Error("nobody has asked what is unproven under the newer version")
	}
}
