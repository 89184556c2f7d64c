package speculation

import (
	"math"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Results of a change's targets stay with the targets when the change is analyzed
// again.
func TestBeliefsFollowTheTargets(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.step(w.say(w.open(w.main, edit{"c/code": "other"}), "boss", "/queue pause holidays"))
	w.footless = func(_ queue.ChangeID, f queue.Footprint) queue.Footprint {
		f.Affected = []string{"b", "c"}
		return f
	}
	p := w.land(edit{"b/code": "fine"})
	w.quiesce()
	ch := w.mustBe(p, queue.Pending)
	was := w.core.State().Beliefs[ch.ID]
	if !hasBit(was.Tested, 0) || hasBit(was.Tested, 1) {
		t.Fatalf("of b and c, b has been tested, and they are %b", was.Tested)
	}
	w.tell(queue.Analyzed{Change: ch.ID, Footprint: queue.Footprint{Main: w.main, Affected: []string{"a", "b", "c"}}})
	now := w.core.State().Beliefs[ch.ID]
	if hasBit(now.Tested, 0) || !hasBit(now.Tested, 1) || hasBit(now.Tested, 2) {
		t.Errorf("of a, b and c, b has been tested, and they are %b", now.Tested)
	}
}

// A build that had another change below it, and ends when that has landed,
// acquits the pair, in either order of their ids.
func TestPairWithWhatHasLandedIsAcquitted(t *testing.T) {
	for _, swap := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		w.core.facts.Beliefs.Ask(wary{})
		p, q := w.open(w.main, edit{"a/code": "one"}), w.open(w.main, edit{"a/code": "two"})
		if swap {
			p, q = q, p
		}
		w.step(w.say(p, "dev", "/land"))
		w.settleDown()
		w.now = w.now.Add(1000)
		w.step(w.say(q, "dev", "/land"))
		w.settleDown()
		behind, below := w.mustBe(q, queue.Pending), w.mustBe(p, queue.Pending)
		going := w.going()
		w.tell(w.advance(going[0])...)
		w.settleDown()
		w.mustBe(p, queue.Landed)
		before := w.core.s.Beliefs[behind.ID].Pairs[below.ID]
		r := going[1]
		if len(r.build.Chain) != 1 || before == 0 {
			t.Fatalf("chain %v, chance %g", r.build.Chain, before)
		}
		w.core.begin(nil)
		w.core.blaming.acquit(&r.build, []string{"a"})
		if got := w.core.s.Beliefs[behind.ID].Pairs[below.ID]; got != 0 {
			t.Errorf("%s on %s, which has landed: the chance that they break was %g and is %g, and all that they share has passed", behind.ID, below.ID, before, got)
		}
	}
}

// wary thinks that one pair in five breaks.
type wary struct{ trusting }

func (wary) Conflict(*queue.Change, *queue.Change) float64 { return 0.2 }

// A change that arrives after another has landed may break with it: that is
// believed from the start, and what passes with both takes it back.
func TestWhatHasLandedBeforeMayBreakIt(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.core.facts.Beliefs.Ask(wary{})
	first := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(first, "dev", "/land"))
	w.settleDown()
	w.tell(w.advance(w.going()[0])...)
	w.settleDown()
	landed := w.mustBe(first, queue.Landed)
	apart, late := w.open(w.main, edit{"b/code": "two"}), w.open(w.main, edit{"a/code": "three"})
	for _, p := range []*pull{apart, late} {
		w.step(w.say(p, "dev", "/land"))
		w.settleDown()
	}
	one, other := w.mustBe(apart, queue.Pending), w.mustBe(late, queue.Pending)
	if b := w.core.s.Beliefs[one.ID]; b != nil && len(b.Pairs) > 0 {
		t.Errorf("%s shares nothing with what has landed, and is believed to break with it: %v", one.ID, b.Pairs)
	}
	if q := w.core.facts.Beliefs.PairChance(landed.ID, other.ID); q != 0.2 || other.Chance >= one.Chance {
		t.Fatalf("%s breaks with what has landed by %g, and lands by %g; %s, which shares nothing, by %g", other.ID, q, other.Chance, one.ID, one.Chance)
	}
	for _, r := range w.going() {
		if r.build.Change == other.ID {
			w.core.begin(nil)
			w.core.blaming.acquit(&r.build, []string{"a"})
		}
	}
	if q := w.core.facts.Beliefs.PairChance(landed.ID, other.ID); q != 0 {
		t.Errorf("all that they share has passed with both, and they break by %g", q)
	}
}

// The blame for what fails on something that has landed lowers the chance that
// the change lands, and stays with the change when the other is forgotten.
func TestBlameWithWhatHasLandedCounts(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.core.facts.Beliefs.Ask(wary{})
	first := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(first, "dev", "/land"))
	w.settleDown()
	w.tell(w.advance(w.going()[0])...)
	w.settleDown()
	landed := w.mustBe(first, queue.Landed)
	late := w.open(w.main, edit{"a/code": "two"})
	w.step(w.say(late, "dev", "/land"))
	w.settleDown()
	ch := w.mustBe(late, queue.Pending)
	n := w.core.facts.Futures.Node(ch.ID)
	w.core.begin(nil)
	if q := w.core.planner.Expect(n, nil); q < 0.75 || q > 0.85 {
		t.Fatalf("before any build it lands by %.3g; it breaks with what has landed by 0.2", q)
	}
	for _, r := range w.going() {
		if r.build.Change == ch.ID {
			w.core.blaming.suspect(&r.build, []string{"a"})
		}
	}
	w.core.facts.Beliefs.Blame()
	if q := w.core.planner.Expect(n, nil); q > 0.05 {
		t.Errorf("it has failed on what has landed, alone, and lands by %.3g", q)
	}
	w.core.upkeep.forgetPair(w.core.blaming.belief(ch.ID), landed.ID, landed)
	delete(w.core.s.Footprints, landed.ID)
	w.core.facts.Futures.Forget(landed.ID)
	w.core.touch(queue.KindFootprint, string(landed.ID))
	w.core.facts.Beliefs.Blame()
	if q := w.core.planner.Expect(n, nil); q > 0.05 {
		t.Errorf("the other is forgotten, and it lands by %.3g", q)
	}
}

// Two changes are to blame for a failure. When what has failed passes with the
// first of them alone, the second one is.
func TestBlameIsPassedOn(t *testing.T) {
	s := newStage(t, young(config.Rules{Threshold: 0.3}), stated{good: map[int]float64{1: 0.9, 2: 0.9}}, rule{target: "a", all: []string{"c2"}})
	s.changes("a", "a")
	s.mustStart(2, "B1", "B1.2")
	s.end("B1.2")
	one, two := s.core.facts.Beliefs.Good(s.id(1)), s.core.facts.Beliefs.Good(s.id(2))
	if one > 0.6 || two > 0.6 {
		t.Fatalf("after a build of both has failed the first is good by %.3g, the second by %.3g", one, two)
	}
	s.core.begin(nil)
	for _, r := range s.going() {
		if s.name(r) == "B1" {
			s.core.blaming.acquit(&r.build, []string{"a"})
		}
	}
	s.core.facts.Beliefs.Blame()
	if got := s.core.facts.Beliefs.Good(s.id(2)); got > 0.05 {
		t.Errorf("what has failed passes without the second, which is good by %.3g", got)
	}
}

// The result of a target stays known when a change below it that does not affect
// the target is turned down, and is forgotten if it affects it.
func TestProofsOutliveWhoIsTurnedDown(t *testing.T) {
	s := newStage(t, papers(), stated{good: map[int]float64{1: 0.9, 2: 0.9}}, rule{target: "a", all: []string{"c1"}})
	s.changes("a", "a b")
	s.mustStart(2, "B1", "B1.2")
	for _, r := range s.going() {
		if r.build.Change == s.id(2) {
			s.tell(queue.JobDone{Build: r.build.ID, Step: r.build.Jobs[0].Step.Digest(), Outcome: queue.JobPassed, Passed: []string{"b"}})
		}
	}
	s.end("B1")
	s.mustAll(queue.Rejected)
	c := s.core
	x := c.facts.Futures.AffectedBy(s.id(2))
	for name, want := range map[string]derived.Status{"a": derived.Unknown, "b": derived.Verified} {
		target := c.facts.Futures.Assumed.Number(name)
		if got, _ := c.facts.Futures.Look(c.facts.Futures.Assumed.At(target) ^ x.Mark); got != want {
			t.Errorf("%s on main with the second change is of status %d, want %d", name, got, want)
		}
	}
	for m, k := range c.facts.Futures.Assumed.Known {
		for _, from := range k.From {
			if slices.Contains(from.Link.Chain, s.id(1)) && c.facts.Futures.Assumed.Names[from.Target] == "a" {
				t.Errorf("%x: a is still known on the change that was turned down", m)
			}
		}
	}
}

// Thresholds are lower where predictions are often wrong and slots are idle, and only there:
// more builds where there are no slots for them make a queue slower and slower.
func TestThresholdsFollowAccuracyAndSlots(t *testing.T) {
	s := newStage(t, config.Rules{Threshold: 0.3}, stated{})
	for _, x := range []struct {
		accuracy      float64
		slots         int
		worth, single float64
	}{
		{0.96, 0, 0.3, 0.4}, {0.96, 100, 0.3, 0.4},
		{0.88, 0, 0.3, 0.4}, {0.88, 100, 0.03, 0.045}, {0.5, 100, 0.03, 0.045},
	} {
		s.core.s.Accuracy, s.core.s.Slots = x.accuracy, x.slots
		if worth, single := s.core.facts.Thresholds(); math.Abs(worth-x.worth) > 1e-9 || math.Abs(single-x.single) > 1e-9 {
			t.Errorf("of %g predictions right, with %d slots and no build: %g, %g; want %g, %g", x.accuracy, x.slots, worth, single, x.worth, x.single)
		}
	}
}
