package speculation

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// These tests are of commands that are given while a change is being pushed.

// Somebody asks for another method or lane, or for an emergency, while the change is being pushed.
// If the push does not move main, the command is followed; if it does, nobody is told anything of it.
func TestCommandsDuringLanding(t *testing.T) {
	for _, words := range []string{"/land method=rebase", "/land priority=high", "/land retry priority=high", "/land now it burns"} {
		for _, lost := range []bool{false, true} {
			for _, cancelled := range []bool{false, true} {
				t.Run(words, func(t *testing.T) {
					w := quiet(t, unit, config.Rules{Landing: config.Landing{Methods: []config.Method{config.MethodMerge, config.MethodRebase}},
						Lanes: []config.Lane{{Name: "high", Least: "write"}, {Name: "normal", Least: "write"}}, DefaultLane: "normal"})
					p := w.land(edit{"a/code": "one"})
					w.mustReachPush()
					if lost {
						w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "outside"}))
					}
					pushed := w.mustTake("land")
					w.step(w.say(p, "boss", words))
					w.settleDown()
					if n := w.core.s.Pulls[p.number].Notice; n.Code != "" {
						t.Fatalf("said %+v before the push has ended", n)
					}
					if cancelled {
						w.step(w.say(p, "boss", "/land cancel"))
						w.settleDown()
					}
					w.mustRestart()
					w.tell(pushed...)
					w.waitOut()
					want := queue.Landed
					if lost && cancelled {
						want = queue.Cancelled
					}
					ch := w.mustBe(p, want)
					if n := len(w.core.s.Requests); n > 0 {
						t.Errorf("%d requests are left", n)
					}
					if got := w.core.s.Pulls[p.number].Notice.Code; got != "" && !(cancelled && !lost) {
						t.Errorf("said %q", got)
					}
					followed := ch.Method == config.MethodRebase || ch.Lane == "high" || ch.Now != nil
					if followed != (lost && !cancelled) {
						t.Errorf("lost %v, cancelled %v: it has landed by %q in lane %q, emergency %+v", lost, cancelled, ch.Method, ch.Lane, ch.Now)
					}
					if n := len(w.core.s.Main.Nows); n > 0 != (ch.Now != nil) {
						t.Errorf("%d emergencies count", n)
					}
				})
			}
		}
	}
}

// An emergency that is refused because its pull request is a draft by now is none, and uses none up.
func TestEmergencyThatMayNotEnter(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "one"})
	w.settleDown()
	p.draft = true // the event is still to come
	w.step(w.say(p, "boss", "/land now it burns"))
	w.settleDown()
	if got := w.core.s.Pulls[p.number].Notice.Code; got != queue.ReasonDraft {
		t.Fatalf("said %q", got)
	}
	if n := len(w.core.s.Main.Nows); n > 0 || w.change(p).Now != nil {
		t.Errorf("%d emergencies count: %+v", n, w.change(p).Now)
	}
}

// Two steps of a target drift, and one of them heals: that takes the failures of the other with it.
// An answer that was read before they drifted, and comes late, does not bring the revoked pass back.
func TestRevokedPassStaysRevoked(t *testing.T) {
	for _, how := range []string{"archive", "another version"} {
		w := quiet(t, unit+" vet:go-test-json:targets:vet", config.Rules{Retries: 1, VerifyMain: "1h"})
		w.drifts = []rule{{target: "a"}}
		before := map[queue.Digest]queue.Entry{}
		maps.Copy(before, w.store.archive)
		w.tick(3 * time.Hour)
		drift := w.core.s.Main.Drift
		if len(drift) != 2 {
			t.Fatalf("%+v", drift)
		}
		w.drifts = []rule{{target: "a", step: "vet"}}
		w.tick(30 * minute)
		drift = w.core.s.Main.Drift
		if len(drift) != 1 || drift[0].Step != "vet" {
			t.Fatalf("%+v", drift)
		}
		late := queue.Resolved{Passed: []queue.Entry{before[drift[0].Key]}}
		if how != "archive" {
			late.Passed, late.Proven = nil, late.Passed
		}
		w.saw = func(turn Turn) {
			if slices.ContainsFunc(turn.Archive, func(e queue.Entry) bool { return e.ID == drift[0].Key && e.Passed != 0 }) {
				t.Errorf("%s: it is in the archive again", how)
			}
		}
		w.tell(late)
		if w.core.facts.ProvenMain() || len(w.core.s.Main.Drift) != 1 {
			t.Errorf("%s: main is said to be proven", how)
		}
	}
}

// A change waits for a review for longer than pull requests are remembered, and still asks for the
// branch of the one below it, which has landed meanwhile: nobody has given it another base.
func TestWaitsLongOnALandedBranch(t *testing.T) {
	w := quiet(t, unit, config.Rules{Admission: config.Admission{ParkedLimit: 30 * 24 * time.Hour}})
	w.requires = true
	low := w.open(w.main, edit{"a/code": "one"})
	high := w.openOn(low, edit{"b/code": "two"})
	high.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}}
	w.step(w.say(low, "dev", "/land"), w.say(high, "dev", "/land"))
	w.quiesce()
	w.mustBe(low, queue.Landed)
	low.open, low.merged = false, true
	others := func() {
		for range 9 {
			w.land(edit{"c/code": w.now.Time().Format("Jan2")})
			w.pass(24 * time.Hour)
			if q := w.core.s.Pulls[high.number]; q != nil {
				if ch := w.change(high); ch != nil && ch.Phase == queue.Cancelled {
					t.Fatalf("it is cancelled: %+v", ch.Reason)
				}
			}
		}
	}
	others()
	if ch := w.mustBe(high, queue.Parked); !waitsOutside(ch) {
		t.Fatalf("%+v", ch.Reason)
	}
	high.lacks = nil
	w.tell(queue.Stirred{Number: high.number})
	w.waitOut()
	w.mustBe(high, queue.Landed)
	others()
	if w.core.s.Pulls[low.number] != nil || w.core.s.Pulls[high.number] != nil {
		t.Error("they are remembered for ever")
	}
}

// A pull request is deleted while its change waits, or is about to land, and no event tells of it:
// the change is taken out, and is not parked and taken back in for ever.
func TestDeletedPullRequest(t *testing.T) {
	for _, waits := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		w.requires = true
		pause := w.open(w.main, edit{})
		w.step(w.say(pause, "boss", "/queue pause"))
		p := w.land(edit{"a/code": "one"})
		if waits {
			p.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}}
		}
		w.quiesce()
		delete(w.pulls, p.number)
		w.pass(time.Hour)
		w.step(w.say(pause, "boss", "/queue resume"))
		parked := 0
		w.saw = func(turn Turn) {
			for _, n := range turn.Notes {
				if n.What == "parked" {
					parked++
				}
			}
		}
		w.tick(2 * time.Hour)
		if ch := w.mustBe(p, queue.Cancelled); ch.Reason.Code != queue.ReasonClosed || parked > 1 {
			t.Errorf("waits %v: parked %d times, then %+v", waits, parked, ch.Reason)
		}
	}
}

// A pass is forgotten while a run in quarantine fails without naming a target: that failure is no
// evidence against any single key, and refuses no change.
func TestForgottenDuringARunInQuarantine(t *testing.T) {
	w := quiet(t, "unit:exit-code:targets:test ~a ~b", config.Rules{}, rule{target: "b", all: []string{"bad"}})
	w.rules.Retries = 0
	p := w.land(edit{"a/code": "fine", "b/code": "bad"})
	w.settleDown()
	ran := w.going()[0]
	k := w.core.facts.Links.LinkTo(ran.build.Commit).Keys[0]
	if k.Target != "a" {
		t.Fatal(k)
	}
	w.now = w.now.Add(time.Second)
	w.step(w.say(w.open(w.main, edit{}), "boss", "/queue forget key="+string(k.ID())))
	w.settleDown()
	w.tell(w.advance(ran)...)
	if e := w.core.s.Ledger[k.ID()]; e != nil && e.Passed == 0 && len(e.Failures) > 0 {
		t.Errorf("a has failed: %+v", e)
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
}

// As in TestMendedBeforeTheControl, and the control does not begin before main is mended: the change
// that mends it lands while the run goes on that fails, or the question which keys main has fails.
func TestMendedBeforeAControlBegins(t *testing.T) {
	for _, during := range []bool{true, false} {
		retries := 1
		if during {
			retries = 0
		}
		w := quiet(t, byStep, config.Rules{Retries: retries})
		w.everything = true
		w.pass(3 * time.Hour)
		w.drifts, w.audit.drifting = []rule{{target: "b", all: []string{"base"}}}, true
		mend, p := w.land(edit{"b/code": "-base mended"}), w.land(edit{"a/code": "fine"})
		w.settleDown()
		late := ""
		runs := func(of *pull) {
			w.now = w.now.Add(minute)
			for _, r := range w.going() {
				if r.build.Change == w.change(of).ID {
					w.tell(w.advance(r)...)
				}
			}
			w.waits = slices.DeleteFunc(w.waits, func(a queue.Action) bool {
				_, is := a.Task.(queue.Watch)
				if is = is && !during && late == ""; is {
					late = a.Key
				}
				return is
			})
			w.settleDown()
		}
		order := []*pull{p, p, mend}
		if during {
			order = []*pull{mend, p}
		}
		for _, x := range order {
			runs(x)
		}
		w.mustBe(mend, queue.Landed)
		if late != "" {
			w.tell(queue.Failed{Action: late, Error: "away", Transient: true})
		}
		w.waitOut()
		w.mustBe(p, queue.Landed)
	}
}

// A command that waits for the end of a push is about the head that it was given for: its author
// pushes another one, which is heard of or not, and has not asked for that.
func TestHeldCommandIsAboutItsHead(t *testing.T) {
	for _, heard := range []string{"yes", "by another person", "no", "an older one"} {
		w := quiet(t, unit, config.Rules{Landing: config.Landing{Methods: []config.Method{config.MethodMerge, config.MethodRebase}}})
		p := w.land(edit{"a/code": "one"})
		w.mustReachPush()
		w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "outside"}))
		pushed := w.mustTake("land")
		w.step(w.say(p, "dev", "/land method=rebase"))
		w.settleDown()
		switch heard {
		case "an older one":
			w.tell(queue.HeadMoved{Number: p.number, Head: "older", By: "eve"})
		default:
			moved := w.headMoves(p, edit{"a/code": "two"})
			by := "dev"
			if heard == "by another person" {
				by = "eve"
			}
			if moved.Body = (queue.HeadMoved{Number: p.number, Head: p.head, By: by}); heard != "no" {
				w.step(moved)
			}
		}
		w.settleDown()
		w.tell(pushed...)
		w.waitOut()
		if heard == "an older one" {
			if ch := w.mustBe(p, queue.Landed); ch.Method != config.MethodRebase {
				t.Errorf("it has landed by %s", ch.Method)
			}
		} else if ch := w.mustBe(p, queue.Cancelled); ch.Reason.Code != queue.ReasonPushed {
			t.Errorf("%s: %+v", heard, ch.Reason)
		}
	}
}

// Somebody pushes while the older head is being pushed to main, and asks to land the new one. The
// push is lost: the command is followed.
func TestAnotherHeadDuringAPushThatIsLost(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for _, event := range []string{"before", "after", "never"} {
			w := quiet(t, unit, config.Rules{})
			p := w.land(edit{"a/code": "one"})
			w.mustReachPush()
			if lost {
				w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "outside"}))
			}
			pushed := w.mustTake("land")
			old := p.head
			moved := w.headMoves(p, edit{"a/code": "two"})
			moved.Body = queue.HeadMoved{Number: p.number, Head: p.head, By: "dev"}
			if event == "before" {
				w.step(moved)
			}
			w.step(w.say(p, "dev", "/land"))
			w.settleDown()
			if got := w.core.s.Pulls[p.number].Notice.Code; got != queue.ReasonTooLate {
				t.Errorf("said %q", got)
			}
			if event == "after" {
				w.step(moved)
				w.settleDown()
			}
			w.mustRestart()
			w.tell(pushed...)
			w.waitOut()
			ch := w.mustBe(p, queue.Landed)
			if got := w.core.s.Pulls[p.number].Notice.Code; (got == queue.ReasonTooLate) == lost {
				t.Errorf("lost %v, %s: said %q", lost, event, got)
			}
			if (ch.Head == old) == lost {
				t.Errorf("lost %v, %s: %s landed", lost, event, ch.Head)
			}
			if n := len(w.core.s.Requests); n > 0 {
				t.Errorf("%d requests are left", n)
			}
		}
	}
}

// As in TestMendedBeforeTheControl, and a control on main as it is by now has passed already, for
// another change, when the run fails that began before main was mended.
func TestMendedBeforeTheFailureIsKnown(t *testing.T) {
	w := quiet(t, byStep, config.Rules{Spare: config.SpareAlways}, rule{target: "a", all: []string{"worse"}, unless: "fine"})
	w.rules.Retries = 0
	w.everything = true
	w.pass(3 * time.Hour)
	w.drifts, w.audit.drifting = []rule{{target: "b", all: []string{"base"}}}, true
	mend, p := w.land(edit{"b/code": "-base mended"}), w.land(edit{"a/code": "fine"})
	w.settleDown()
	slow := map[queue.BuildID]bool{}
	for _, r := range w.going() {
		if r.build.Change == w.change(p).ID {
			slow[r.build.ID] = true
		}
	}
	if len(slow) != 1 {
		t.Fatal(slow)
	}
	rest := func() {
		for range 20 {
			w.now = w.now.Add(minute)
			for _, r := range w.going() {
				if !slow[r.build.ID] && (r.build.Change == "" || w.core.s.Changes[r.build.Change].Number != p.number) {
					w.tell(w.advance(r)...)
					w.settleDown()
				}
			}
		}
	}
	rest()
	w.mustBe(mend, queue.Landed)
	q := w.open(w.main, edit{"a/code": "worse"})
	w.step(w.say(q, "dev", "/land"))
	w.settleDown()
	rest()
	if len(w.core.s.Controls) == 0 {
		t.Fatal("no control is kept")
	}
	for _, r := range w.going() {
		if slow[r.build.ID] {
			w.tell(w.advance(r)...)
		}
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
}
