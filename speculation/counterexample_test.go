package speculation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The counter-examples of the design review (A1 to A14), each as a small test
// of what the core has to do about it.

const shard = "unit:exit-code:targets:test"

// quiet returns a world in which main is proven and nothing goes wrong.
func quiet(t *testing.T, steps string, rules config.Rules, truth ...rule) *world {
	t.Helper()
	l, files := plain("a", "b", "c")
	l.rules = truth
	files[stepsFile] = steps
	for _, n := range l.targets {
		files["x/"+n] = "text"
	}
	w := newWorld(t, l, files, rulesOf(rules))
	t.Cleanup(func() {
		if t.Failed() {
			for _, x := range w.log {
				t.Log(x)
			}
		}
	})
	w.begin(8)
	return w
}

func (w *world) land(e edit) *pull {
	w.Helper()
	p := w.open(w.main, e)
	w.step(w.say(p, "dev", "/land"))
	return p
}

func (w *world) mustBe(p *pull, want queue.Phase) *queue.Change {
	w.Helper()
	ch := w.change(p)
	if ch == nil || ch.Phase != want {
		w.Fatalf("pull %d is %+v; want %s", p.number, ch, want)
	}
	return ch
}

func (w *world) mustBuilds(p *pull, want int) {
	w.Helper()
	n := 0
	for _, r := range w.runs {
		if ch := w.core.State().Changes[r.build.Change]; ch != nil && ch.Number == p.number {
			n++
		}
	}
	if n != want {
		w.Fatalf("pull %d had %d builds; want %d", p.number, n, want)
	}
}

// A1: a file that no target owns is in every hash (package conflict sees to
// it), so a change of it alone meets keys, and the gate waits for them. A
// change with no key at all lands without a build, and its verdict says so.
func TestA1WhatNobodyOwnsIsVerified(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "b", all: []string{"prod"}})
	bad := w.land(edit{unowned: "prod"})
	docs := w.land(edit{"docs/readme": "words"})
	w.waitOut()
	w.mustBe(bad, queue.Rejected)
	if ch := w.mustBe(docs, queue.Landed); ch.Verdict.Keys != 0 {
		t.Errorf("docs landed with %d keys", ch.Verdict.Keys)
	}
	w.mustBuilds(docs, 0)
	w.audit.final()
}

// A2: a commit is judged by its own steps; an edited step is a new key for
// every target.
func TestA2EditedStepRunsOnEverything(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "b", step: "race", all: []string{"base"}})
	red := w.land(edit{stepsFile: "-" + unit + " race:go-test-json:targets:race"})
	w.waitOut()
	if ch := w.mustBe(red, queue.Rejected); ch.Verdict.Failures[0].Targets[0] != "b" {
		t.Errorf("failures = %+v", ch.Verdict.Failures)
	}
	w.audit.final()
}

// A2, the opposite wedge: main's step has a typo and fails everywhere. The
// change that mends it is judged by its own steps and lands.
func TestA2TheRepairOfAStepLands(t *testing.T) {
	for _, external := range []config.External{config.ExternalTrust, config.ExternalHold} {
		w := quiet(t, "unit:go-test-json:targets:broken", config.Rules{External: external})
		other := w.land(edit{"a/code": "fine"})
		repair := w.land(edit{stepsFile: "-unit:go-test-json:targets:broken " + unit})
		w.waitOut()
		w.mustBe(repair, queue.Landed)
		w.mustBe(other, queue.Landed)
		w.audit.final()
	}
}

// A3.1: what a report does not name is not known, however well the build ended.
func TestA3UnnamedTargetStaysUnknown(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.forgets = func(*queue.Build) bool { return true }
	p := w.land(edit{"a/code": "fine", "b/code": "fine"})
	w.quiesce()
	if ch := w.mustBe(p, queue.Parked); ch.Reason.Code != queue.ReasonInfra {
		t.Errorf("reason = %+v", ch.Reason)
	}
}

// A3.2: a shard that fails names no target: c breaks a, b is sound, and another
// change that b's key belongs to is not blamed.
func TestA3ShardFailsAsASet(t *testing.T) {
	w := quiet(t, shard, config.Rules{}, rule{target: "a", all: []string{"bad"}})
	red := w.land(edit{"a/code": "bad", "b/code": "fine"})
	sound := w.land(edit{"b/code": "fine"})
	w.waitOut()
	w.mustBe(red, queue.Rejected)
	w.mustBe(sound, queue.Landed)
	w.audit.final()
}

// A3.3: results are written for asked keys only, with any report.
func TestA3ResultsForAskedKeysOnly(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	b := w.going()[0].build
	w.tell(queue.JobDone{Build: b.ID, Step: b.Jobs[0].Step.Digest(), Outcome: queue.JobPassed, Passed: []string{"b", "c", "tree"}})
	for _, k := range w.keysOf(w.commits[b.Commit].tree) {
		if k.Target == "a" && w.core.facts.Ledger.Passed(k) {
			t.Errorf("%s passed on a report that does not name it", short([]queue.Key{k}))
		}
	}
	w.mustBe(p, queue.Pending)
}

// A4: main is red at a; the change that repairs it lands, one that fails on it
// alone is parked and comes back when main is whole.
func TestA4RedMainDoesNotLockOutItsRepair(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}, unless: "heal"})
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	victim := w.land(edit{"a/code": "more"})
	w.quiesce()
	if ch := w.mustBe(victim, queue.Parked); ch.Reason.Code != queue.ReasonRedMain {
		t.Errorf("reason = %+v", ch.Reason)
	}
	repair := w.land(edit{"a/code": "heal"})
	w.waitOut()
	w.mustBe(repair, queue.Landed)
	w.mustBe(victim, queue.Landed)
	w.audit.final()
}

// A4: a failure is not for ever. Its cause is gone, the hash is the same, and
// /land retry runs it again.
func TestA4RetryRunsAgain(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.flake = func([]queue.Key) bool { return true }
	w.audit.trusting = true // the flake is beyond the retries: the rejection is wrong, and allowed
	p := w.land(edit{"a/code": "fine"})
	w.quiesce()
	w.mustBe(p, queue.Rejected)
	w.flake = nil
	w.step(w.say(p, "dev", "/land retry"))
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// The same head asked for under another number, as a forge without pull requests
// does it, is still what failed before.
func TestRetryUnderAnotherNumber(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.audit.trusting = true // the flake is beyond the retries: the rejection is wrong, and allowed
	flaky := true
	w.flake = func([]queue.Key) bool { return flaky }
	p := w.land(edit{"a/code": "fine"})
	w.quiesce()
	w.mustBe(p, queue.Rejected)
	flaky = false
	again := w.open(w.main, edit{"a/code": "fine"})
	again.head = p.head
	w.step(w.say(again, "dev", "/land"))
	w.quiesce()
	w.mustBe(again, queue.Rejected) // at once: its failures count
	third := w.open(w.main, edit{"a/code": "fine"})
	third.head = p.head
	w.step(w.say(third, "dev", "/land retry"))
	w.waitOut()
	w.mustBe(third, queue.Landed)
}

// A4: with retries, one failing run is no verdict.
func TestA4OneFailureOfTwoIsNoVerdict(t *testing.T) {
	w := quiet(t, shard, config.Rules{Retries: 1})
	flakes := 1
	w.flake = func([]queue.Key) bool { flakes--; return flakes >= 0 }
	p := w.land(edit{"a/code": "fine"})
	w.waitOut()
	if ch := w.mustBe(p, queue.Landed); ch.Verdict.Keys != 1 {
		t.Errorf("verdict = %+v", ch.Verdict)
	}
	w.mustBuilds(p, 2)
}

// A5: keys on the whole tree do not make everything serial, and do not starve:
// they ride the train that lands.
func TestA5RepositoryStepRidesTheTrain(t *testing.T) {
	w := quiet(t, unit+" lint:exit-code:repository:lint", config.Rules{}, rule{target: config.TargetTree, step: "lint", all: []string{"ugly"}})
	first := w.land(edit{"a/code": "fine"})
	ugly := w.land(edit{"b/code": "ugly"})
	last := w.land(edit{"c/code": "fine"})
	w.waitOut()
	w.mustBe(first, queue.Landed)
	w.mustBe(ugly, queue.Rejected)
	w.mustBe(last, queue.Landed)
	w.mustBuilds(last, 3) // its target, then the tree twice: with the ugly one in front of it and without
	w.audit.final()
}

// A6: decisions rest on the real commits. Here the footprints say that nothing
// conflicts, the planner believes it, and the gate is not deceived.
func TestA6WrongFootprintsCostTimeOnly(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "b", all: []string{"p", "q"}})
	w.needs["b"] = []string{"a"}
	w.footless = func(queue.ChangeID, queue.Footprint) queue.Footprint { return queue.Footprint{} }
	p, q := w.land(edit{"a/code": "p"}), w.land(edit{"b/code": "q"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.mustBe(q, queue.Rejected)
	w.audit.final()
}

// A7: each commit of a push is green, not only its last: bad breaks a, heal
// mends it, and bad does not land in front of heal.
func TestA7EachCommitOfAPushIsGreen(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}, unless: "heal"})
	bad, heal := w.land(edit{"a/code": "bad"}), w.land(edit{"a/code": "heal"})
	w.waitOut()
	w.mustBe(bad, queue.Rejected)
	w.mustBe(heal, queue.Landed)
	w.audit.final()
}

// A8: without runners there is no verdict; the change is parked, holds up no
// other, and returns.
func TestA8NoRunnerParks(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	away := true
	w.infra = func(b *queue.Build) (bool, bool) {
		return away && b.Change != "" && w.core.State().Changes[b.Change].Number == 1, true
	}
	p, behind := w.land(edit{"a/code": "one"}), w.land(edit{"a/code": "two"})
	w.quiesce()
	if ch := w.mustBe(p, queue.Parked); ch.Reason.Code != queue.ReasonNoRunner {
		t.Errorf("reason = %+v", ch.Reason)
	}
	w.mustBe(behind, queue.Landed)
	away = false
	w.now = w.wake
	w.tell(queue.Tick{})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

func (w *world) pass(d time.Duration) {
	w.Helper()
	w.now = w.now.Add(d)
	w.tell(queue.Tick{})
	w.quiesce()
}

func (w *world) onMain(p *pull) int {
	n := 0
	for _, c := range w.line(w.main) {
		if ch := w.core.State().Changes[c.change]; ch != nil && ch.Number == p.number {
			n++
		}
	}
	return n
}

func hasReason(rs []queue.Reason, code queue.ReasonCode) bool {
	return slices.ContainsFunc(rs, func(r queue.Reason) bool { return r.Code == code })
}

// A change that no runner can build comes back when one that may is there, as it is told:
// it does not sleep out its pause beside it. A runner that goes brings nothing back.
func TestNoRunnerEndsWhenARunnerComes(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	away := true
	w.infra = func(b *queue.Build) (bool, bool) { return away, true }
	own := queue.FleetHost{Name: "own", Slots: 2}
	w.tell(queue.Fleet{Hosts: []queue.FleetHost{own}}, queue.Capacity{Slots: 2})
	p := w.land(edit{"a/code": "one"})
	w.quiesce()
	if ch := w.mustBe(p, queue.Parked); ch.Reason.Code != queue.ReasonNoRunner {
		t.Fatalf("reason = %+v", ch.Reason)
	}
	builds := w.change(p).Spent
	own.Slots = 1
	w.tell(queue.Fleet{Hosts: []queue.FleetHost{own}}, queue.Capacity{Slots: 1})
	w.quiesce()
	if ch := w.mustBe(p, queue.Parked); ch.Spent != builds {
		t.Error("it was built again because a runner went")
	}
	for i := range 90 { // runners that live for one job, and do not fit
		w.now = w.now.Add(time.Second)
		w.tell(queue.Fleet{Hosts: []queue.FleetHost{own, {Name: fmt.Sprint("job-", i), Slots: 1}}}, queue.Capacity{Slots: 2})
		w.quiesce()
	}
	vain := 0
	for _, r := range w.runs {
		if r.build.Change == w.change(p).ID {
			vain++
		}
	}
	if vain > 3 {
		t.Errorf("%d builds in 90 seconds, and no runner was there for any", vain)
	}
	away = false
	w.now = w.now.Add(arrivedEach)
	w.tell(queue.Fleet{Hosts: []queue.FleetHost{own, {Name: "box", Slots: 1}}}, queue.Capacity{Slots: 2})
	w.quiesce()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}
