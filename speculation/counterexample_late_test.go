package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A9: the queue moves main and nothing else. An author's push during the
// landing is too late if main moves, and takes the change out if it does not.
func TestA9PushDuringLanding(t *testing.T) {
	for _, lost := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		p := w.land(edit{"a/code": "one"})
		w.mustReachLanding(p)
		if lost {
			w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "outside"}))
		}
		old := p.head
		p.head = w.put(commit{parent: p.head, tree: w.commits[p.head].tree.with(edit{"a/code": "two"})}).id
		w.tell(queue.HeadMoved{Number: p.number, Head: p.head})
		w.waitOut()
		if lost {
			if ch := w.mustBe(p, queue.Cancelled); ch.Reason.Code != queue.ReasonPushed {
				t.Errorf("reason = %+v", ch.Reason)
			}
			if n := w.core.s.Pulls[p.number].Notice; n.Code != "" {
				t.Errorf("people are told %+v", n)
			}
		} else if ch := w.mustBe(p, queue.Landed); ch.Head != old || w.core.State().Pulls[p.number].Notice.Code != queue.ReasonTooLate {
			t.Errorf("landed %s with notice %+v", ch.Head, w.core.State().Pulls[p.number].Notice)
		}
		w.audit.final()
	}
}

// mustReachLanding goes on until the change's push is written and not done.
func (w *world) mustReachLanding(p *pull) {
	w.Helper()
	for range 200 {
		if ch := w.core.State().Pulls[p.number]; ch != nil && w.change(p) != nil && w.change(p).Phase == queue.Landing {
			return
		}
		switch going := w.going(); {
		case len(w.waits) > 0:
			w.work(0)
		case len(going) > 0:
			w.tell(w.advance(going[0])...)
		}
	}
	w.Fatalf("pull %d does not come to land", p.number)
}

// A10: nothing is known of main at the first start. Under `hold` it is proven
// first; under `trust` changes land on and say how much was not proven.
func TestA10FirstStartProvesMain(t *testing.T) {
	for external, want := range map[config.External]queue.Phase{config.ExternalHold: queue.Pending, config.ExternalTrust: queue.Landed} {
		l, files := plain("a", "b")
		w := newWorld(t, l, files, rulesOf(config.Rules{External: external}))
		w.tell(queue.Capacity{Slots: 4})
		w.settleDown()
		main := w.going()[0]
		if main.build.Change != "" {
			t.Fatalf("the first build is %+v", main.build)
		}
		p := w.land(edit{"c/code": "outside all targets"})
		w.settleDown()
		ch := w.mustBe(p, want)
		if external == config.ExternalTrust && ch.Verdict.MainRed != 2 {
			t.Errorf("verdict = %+v", ch.Verdict)
		}
		if v, _ := w.core.View(ch.ID); external == config.ExternalHold && !hasReason(v.Waits, queue.ReasonWaitsMain) {
			t.Errorf("waits = %+v", v.Waits)
		}
		w.waitOut()
		w.mustBe(p, queue.Landed)
	}
}

// A10: an outside commit is examined at once; a forced update pauses, and what
// it took out is not landed again.
func TestA10ForcedPushPauses(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	before := w.main
	p := w.land(edit{"a/code": "one"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.main = before
	w.commitOutside(w.commits[before].tree.with(edit{"b/code": "forced"}))
	w.audit.removed[w.change(p).ID] = true
	w.tell(queue.MainMoved{Branch: "main"})
	q := w.land(edit{"c/code": "two"})
	w.waitOut()
	if pause := w.core.State().Main.Paused; pause == nil || pause.Code != queue.ReasonForced {
		t.Fatalf("paused = %+v", pause)
	}
	w.mustBe(q, queue.Pending)
	w.step(w.say(q, "boss", "/queue resume"))
	w.waitOut()
	w.mustBe(q, queue.Landed)
	if n := w.onMain(p); n != 0 {
		t.Errorf("what was forced away is on main again")
	}
	w.audit.final()
}

// A11: the push is done and the store has lost its last second: main is the
// truth about landings.
func TestA11LostSecondAfterThePush(t *testing.T) {
	for _, back := range []int{1, 2, 3, 6, 12} {
		w := quiet(t, unit, config.Rules{})
		p := w.land(edit{"a/code": "one"})
		w.waitOut()
		w.mustBe(p, queue.Landed)
		w.mustLose(back)
		w.waitOut()
		w.mustBe(p, queue.Landed)
		if n := w.onMain(p); n != 1 {
			t.Errorf("%d turns back: %d commits on main", back, n)
		}
		w.audit.final()
	}
}

// A12: a retry after an infrastructure error is another build.
func TestA12RetryIsAnotherBuild(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	errors := 2
	w.infra = func(*queue.Build) (bool, bool) { errors--; return errors >= 0, false }
	p := w.land(edit{"a/code": "one"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.mustBuilds(p, 3)
	w.audit.final()
}

// A13: a merge that changes nothing is never "landed". (Attributes and squash
// are the mirror's matter.)
func TestA13NothingToLand(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "one"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.commitOutside(w.commits[w.line(w.main)[1].id].tree) // the revert
	w.tell(queue.MainMoved{Branch: "main"})
	w.waitOut()
	w.step(w.say(p, "dev", "/land"))
	w.waitOut()
	w.mustBe(p, queue.NothingToLand)
	w.audit.final()
}

// Others merge a queued change, and main shows it before the forge tells of it: nothing is left
// to land, and in the end the verdict says why.
func TestMainShowsAMergeFirst(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "boss", "/queue pause"))
	w.step(w.say(p, "dev", "/land"))
	w.quiesce()
	c, _ := w.merge(w.main, queue.Pick{Head: p.head})
	w.commitOutside(c.tree)
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if why := w.mustBe(p, queue.NothingToLand).Reason; why.Code != queue.ReasonAlready || len(why.Names) != 0 {
		t.Errorf("before the forge tells: %+v", why)
	}
	p.open, p.merged = false, true
	w.tell(queue.Closed{Number: p.number, Merged: true})
	w.quiesce()
	if why := w.mustBe(p, queue.NothingToLand).Reason; why.Code != queue.ReasonAlready || !slices.Equal(why.Names, []string{queue.NameMerged}) {
		t.Errorf("after the forge told: %+v", why)
	}
	w.audit.final()
}

// A14: permissions are checked before any commit with the change's content is
// made: protected paths need an administrator, a stranger cannot ask at all.
// (Whose approval counts is app's matter.)
func TestA14EntryBeforeAnyMerge(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "stranger", "/land"))
	w.settleDown()
	if q := w.core.State().Pulls[p.number]; q.Active != "" || q.Notice.Code != queue.ReasonNoPermission {
		t.Errorf("pull = %+v", q)
	}
	e := w.say(p, "dev", "/land")
	w.step(e)
	at := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, ok := a.Task.(queue.Inspect); return ok })
	a := w.waits[at]
	w.waits = slices.Delete(w.waits, at, at+1)
	in := w.carryOut(a)[0].(queue.Inspected)
	in.Protected = []string{".submitqueue.yml"}
	turn := w.step(w.event(in))
	for _, a := range turn.Actions {
		switch a.Task.(type) {
		case queue.Analyze, queue.Resolve, queue.Run:
			t.Errorf("%s before the approval", a.Key)
		}
	}
	if q := w.core.State().Pulls[p.number]; q.Active != "" || q.Notice.Code != queue.ReasonNeedsApprove {
		t.Errorf("pull = %+v", q)
	}
}

// Evidence that has expired decides nothing, and Step asks to be woken for it.
func TestFailureExpires(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}})
	ahead := w.land(edit{"a/code": "slow"})
	w.settleDown()
	red := w.land(edit{"a/code": "bad"})
	w.settleDown()
	for _, r := range w.going() {
		if ch := w.core.State().Changes[r.build.Change]; ch.Number == red.number {
			w.tell(w.advance(r)...)
			w.settleDown()
		}
	}
	w.mustBe(red, queue.Rejected) // on both futures: a bypass
	w.mustBe(ahead, queue.Pending)
	w.pass(2 * time.Hour)
	w.waitOut()
	w.mustBe(ahead, queue.Landed)
	w.audit.final()
}

// Main is red in two places, and what waits for it waits in front: one repair
// lands after the other, and then the rest.
func TestA10TwoRepairs(t *testing.T) {
	w := quiet(t, unit, config.Rules{External: config.ExternalHold})
	w.law.rules = []rule{{target: "b", all: []string{"bad"}, unless: "heal"}, {target: "c", all: []string{"bad"}, unless: "heal"}}
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "bad", "c/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	var pulls []*pull
	for _, e := range []edit{{"a/code": "x"}, {"b/code": "heal"}, {"c/code": "heal"}} {
		p := w.open(w.main, e)
		pulls = append(pulls, p)
		w.step(w.say(p, "dev", "/land"))
		w.settleDown()
	}
	w.waitOut()
	for _, p := range pulls {
		w.mustBe(p, queue.Landed)
	}
	w.audit.final()
}

// A pass that covers the tree tells of one commit. Of three that a change lands as,
// the second is red, and CI is green on the last: none of them may land.
func TestAPassOfTheTreeTellsNothingOfTheCommitsOnTheWay(t *testing.T) {
	for _, counts := range []string{"asked", "tree"} {
		for _, external := range []config.External{config.ExternalHold, config.ExternalTrust} {
			w := quiet(t, "ci:exit-code:targets:test:"+counts, config.Rules{External: external, Landing: config.Landing{Method: config.MethodRebase, Methods: []config.Method{config.MethodRebase}}},
				rule{target: "a", all: []string{"bad"}, unless: "heal"})
			p := w.open(w.main, edit{"a/code": "one", "b/code": "one"})
			for _, e := range []edit{{"a/code": "bad"}, {"a/code": "heal"}} {
				p.head = w.put(commit{parent: p.head, tree: w.commits[p.head].tree.with(e)}).id
			}
			w.step(w.say(p, "dev", "/land"))
			w.waitOut()
			if ch := w.mustBe(p, queue.Rejected); len(ch.Verdict.Failures) != 1 || !slices.Equal(ch.Verdict.Failures[0].Targets, []string{"a"}) {
				t.Errorf("%s, %s: rejected for %+v", counts, external, ch.Verdict.Failures)
			}
			if n := w.onMain(p); n != 0 {
				t.Errorf("%s, %s: it is on main %d times", counts, external, n)
			}
		}
	}
}
