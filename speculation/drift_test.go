package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Main drifts: what has passed there fails by now at the same hash. These tests have a
// target drift, and heal.

const byStep = "unit:exit-code:targets:test" // a failure of it names no target

// drifting returns the targets that main's drift names.
func (w *world) drifting() []string {
	var out []string
	for _, d := range w.core.State().Main.Drift {
		out = append(out, d.Target)
	}
	return out
}

// mustDrift demands that exactly some targets of main drift, with what shows it.
func (w *world) mustDrift(targets ...string) {
	w.Helper()
	if got := w.drifting(); !slices.Equal(got, targets) {
		w.Fatalf("%v drift; want %v\n%+v", got, targets, w.core.State().Main)
	}
	for _, d := range w.core.State().Main.Drift {
		r := w.runs[d.Build]
		if d.Step != "unit" || d.Good == 0 || d.Bad <= d.Good || r == nil || r.build.Change != "" {
			w.Fatalf("the drift of %s: %+v", d.Target, d)
		}
	}
}

// mustWaitForMain demands that a change is parked because main is red.
func (w *world) mustWaitForMain(p *pull) {
	w.Helper()
	if ch := w.mustBe(p, queue.Parked); ch.Reason.Code != queue.ReasonRedMain {
		w.Fatalf("pull %d is parked for %+v", p.number, ch.Reason)
	}
}

// Target a fails on every change, and no change has touched it: a control shows that main
// fails as well. Changes that touch a wait, others land, and when a heals the rest lands.
func TestDriftIsNobodysFault(t *testing.T) {
	for _, c := range []struct {
		name, steps string
		old         time.Duration // how long ago main has passed
	}{{"named", unit, 61 * minute}, {"named, days ago", unit, 3 * 24 * time.Hour}, {"opaque", byStep, minute}} {
		for _, external := range []config.External{config.ExternalTrust, config.ExternalHold} {
			t.Run(c.name+" "+string(external), func(t *testing.T) {
				w := quiet(t, c.steps, config.Rules{Retries: 1, External: external})
				w.pass(c.old)
				w.drifts = []rule{{target: "a"}}
				one := w.land(edit{"a/code": "one"})
				w.tick(5 * minute)
				w.mustWaitForMain(one)
				w.mustDrift("a")

				beside := w.land(edit{"b/code": "one"})
				two := w.land(edit{"a/code": "two"})
				w.tick(5 * minute)
				w.mustBe(beside, queue.Landed)
				w.mustWaitForMain(two)
				w.mustDrift("a")

				w.drifts = nil
				w.waitOut()
				w.mustDrift()
				w.mustBe(one, queue.Landed)
				w.mustBe(two, queue.Landed)
				w.audit.final()
			})
		}
	}
}

// A control that passes is what a rejection rests on: of one step that names nothing,
// and of a named failure of what main has proven long ago. It is said in the verdict.
func TestRejectionRestsOnAControl(t *testing.T) {
	for name, c := range map[string]struct {
		steps   string
		old     time.Duration
		control bool
	}{
		"named, proven lately":   {unit, minute, false},
		"named, proven long ago": {unit, 2 * time.Hour, true},
		"opaque":                 {byStep, minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := quiet(t, c.steps, config.Rules{Retries: 1}, rule{target: "a", all: []string{"bad"}})
			w.pass(c.old)
			bad := w.land(edit{"a/code": "bad"})
			w.waitOut()
			ch := w.mustBe(bad, queue.Rejected)
			ev := ch.Verdict.Failures[0]
			if r := w.runs[ev.Control]; (r != nil) != c.control || r != nil && r.build.Change != "" {
				t.Errorf("the control is %q: %+v", ev.Control, ev)
			}
			w.mustDrift()
			w.audit.final()
		})
	}
}

// All changes that fail while one control is out share it.
func TestControlsAreShared(t *testing.T) {
	w := quiet(t, byStep, config.Rules{Retries: 1}, rule{target: "a", all: []string{"bad"}})
	w.pass(2 * time.Hour)
	var bad []*pull
	for range 4 {
		bad = append(bad, w.land(edit{"a/code": "bad x" + string(rune('0'+len(bad)))}))
	}
	w.waitOut()
	for _, p := range bad {
		w.mustBe(p, queue.Rejected)
	}
	n := 0
	for _, r := range w.runs {
		if r.build.Worth.Kind == queue.WorthControl {
			n++
		}
	}
	if n == 0 || n >= len(bad) {
		t.Errorf("%d controls for %d changes", n, len(bad))
	}
	w.audit.final()
}

// watchRuns returns the builds of what main has proven long ago, in their order.
func (w *world) watchRuns() (out []*run) {
	for _, r := range w.runs {
		if r.build.Worth.Kind == queue.WorthWatch {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *run) int { return int(a.build.At - b.build.At) })
	return out
}

// tick makes time pass from one wake-up to the next.
func (w *world) tick(d time.Duration) {
	w.Helper()
	for until := w.now.Add(d); w.now < until; {
		w.now = min(until, max(w.wake, w.now+1))
		if w.wake == 0 {
			w.now = until
		}
		w.tell(queue.Tick{})
		w.quiesce()
	}
}

// After verify_main without a pass main's keys are run again in free slots, each once,
// and not before.
func TestVerifyMain(t *testing.T) {
	for _, every := range []string{"24h", config.VerifyOff} {
		t.Run(every, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{Retries: 1, VerifyMain: every})
			w.tick(23 * time.Hour)
			if n := len(w.watchRuns()); n > 0 {
				t.Fatalf("%d builds before the time", n)
			}
			w.tick(3 * time.Hour)
			ran := map[string]int{}
			for _, r := range w.watchRuns() {
				for _, j := range r.build.Jobs {
					for _, k := range j.Keys {
						ran[k.Target]++
					}
				}
			}
			want := 1
			if every == config.VerifyOff {
				want = 0
			}
			for _, target := range w.targets {
				if ran[target] != want {
					t.Errorf("%s was run %d times, want %d", target, ran[target], want)
				}
			}
			for _, k := range w.keysOf(w.commits[w.main].tree) {
				e, ok := w.store.archive[k.ID()]
				if every != config.VerifyOff && (!ok || w.now.Sub(e.Good()) > 4*time.Hour) {
					t.Errorf("%s was seen to pass last at %s, and it is %s", k.Target, e.Good().Time(), w.now.Time())
				}
			}
			w.mustDrift()
		})
	}
}

// A red key found by verify_main is drift; it begins without any change, and ends without one.
func TestVerifyMainFindsDrift(t *testing.T) {
	for _, steps := range []string{unit, byStep} {
		for _, external := range []config.External{config.ExternalTrust, config.ExternalHold} {
			w := quiet(t, steps, config.Rules{Retries: 1, VerifyMain: "24h", External: external})
			w.drifts = []rule{{target: "b"}}
			w.tick(26 * time.Hour)
			if !slices.Contains(w.drifting(), "b") {
				t.Fatalf("%s: %v drift", steps, w.drifting())
			}
			if steps == unit {
				w.mustDrift("b")
			}
			w.drifts = nil
			w.tick(26 * time.Hour)
			w.mustDrift()
		}
	}
}

// The quickest keys are first: those of a first round have said how long each takes.
func TestVerifyMainRunsTheQuickestFirst(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1, VerifyMain: "24h"})
	w.took = map[string]time.Duration{"a": 40 * minute, "b": 2 * minute, "c": 20 * minute}
	w.tell(queue.Capacity{Slots: 1})
	w.tick(26 * time.Hour)
	before := len(w.watchRuns())
	w.tick(26 * time.Hour)
	var order []string
	for _, r := range w.watchRuns()[before:] {
		for _, j := range r.build.Jobs {
			order = append(order, j.Targets()...)
		}
	}
	if !slices.Equal(order, []string{"b", "c", "a"}) {
		t.Errorf("run in the order %v", order)
	}
}

// A look for what was proven long ago fails: it is repeated after a pause, and not at once, again
// and again.
func TestVerifyMainCannotLook(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1, VerifyMain: "24h"})
	asked, began := 0, w.now
	for range 500 {
		switch {
		case len(w.waits) == 0 && w.wake <= w.now, w.now.Sub(began) > 2*time.Hour:
		case len(w.waits) == 0:
			w.now = w.wake
			w.tell(queue.Tick{})
		default:
			a := w.waits[0]
			if _, looks := a.Task.(queue.Watch); !looks {
				w.work(0)
				continue
			}
			asked++
			w.waits = w.waits[1:]
			w.now = w.now.Add(time.Second)
			w.tell(queue.Failed{Action: a.Key, Error: "no tool", Transient: true})
		}
	}
	if took := w.now.Sub(began); asked > 40 || took < 2*time.Hour {
		t.Errorf("%d looks in %v", asked, took)
	}
}
