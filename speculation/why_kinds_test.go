package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// id returns the id of a change by its number.
func (s *stage) id(number int) queue.ChangeID {
	s.t.Helper()
	for id, ch := range s.core.State().Changes {
		if ch.Number == number {
			return id
		}
	}
	s.t.Fatalf("there is no change %d", number)
	return ""
}

func (s *stage) next(number int) queue.Next {
	s.t.Helper()
	v, _ := s.core.View(s.id(number))
	return v.Outlook.Next
}

// mustSay checks the plan's answer for a change, times aside.
func (s *stage) mustSay(number int, want queue.Next) {
	s.t.Helper()
	got := s.next(number)
	got.Until, got.Least = 0, 0
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		s.t.Fatalf("change %d at %d (-want +got):\n%s", number, s.now, diff)
	}
}

// sleep lets time pass until a moment at which the core has asked to be woken.
func (s *stage) sleep(until queue.Instant) {
	s.t.Helper()
	for n := 0; s.now < until; n++ {
		if s.wake == 0 || s.wake > until || n > 100 {
			s.t.Fatalf("nobody is woken at %d; the next turn is at %d", until, s.wake)
		}
		s.now = max(s.wake, s.now+1)
		s.tell(queue.Tick{})
		s.settleDown()
	}
}

// young leaves waiting out of values, so that they are round.
func young(r config.Rules) config.Rules {
	r.Order = config.OrderArrival
	r.Off = append(r.Off, config.IngredientAging, config.IngredientAdaptive)
	return r
}

func TestAnswersWithoutSlots(t *testing.T) {
	s := newStage(t, young(config.Rules{Threshold: 0.3}), stated{})
	s.changes("a", "b", "c", "d", "e", "f", "g", "a", "b", "c")
	s.mustSay(2, queue.Next{Code: queue.ReasonWaitsSlot, Value: 1, Place: 2, Rivals: 8})
	s.mustSay(10, queue.Next{Code: queue.ReasonWaitsWindow, Limit: 8})
	s.tell(queue.Capacity{Slots: 1})
	s.settleDown()
	s.mustSay(1, queue.Next{Code: queue.ReasonWaitsBuild})
	if got := s.next(2); got.Code != queue.ReasonWaitsSlot || got.Least != 1 {
		t.Fatalf("%+v", got)
	}
}

func TestAnswerUntilWaitingHasLiftedIt(t *testing.T) {
	s := newStage(t, config.Rules{Order: config.OrderArrival, Threshold: 0.6, Off: []config.Ingredient{config.IngredientAdaptive}},
		stated{good: map[int]float64{1: 0.5}, takes: map[int]time.Duration{1: 5 * time.Hour}})
	s.changes("a", "a")
	s.tell(queue.Capacity{Slots: 1}) // the first takes it
	s.settleDown()
	s.tell(queue.Capacity{Slots: 4})
	s.settleDown()
	got := s.next(2)
	if got.Code != queue.ReasonWaitsUnlikely || got.Threshold != 0.6 || got.Target || got.Value < 0.5 || got.Value >= 0.6 {
		t.Fatalf("%+v", got)
	}
	if wait := got.Until.Sub(s.core.State().Changes[s.id(2)].Arrival).Round(time.Second); wait != 12*time.Minute {
		t.Fatalf("waits until %v after its arrival", wait)
	}
	s.mustGo("B1")
	s.sleep(got.Until)
	s.mustGo("B1", "B1.2")
}

// What has waited for longer than its builds take is built before its time in a slot that
// is free.
func TestBuiltBeforeItsTimeInAFreeSlot(t *testing.T) {
	s := newStage(t, young(config.Rules{Threshold: 0.3}), stated{good: map[int]float64{1: 0.9, 2: 0.9}, takes: map[int]time.Duration{2: 2 * time.Hour}},
		rule{target: "a", all: []string{"c1"}})
	s.changes("a", "a", "a")
	s.mustStart(3, "B1", "B1.2", "B1.2.3")
	s.end("B1") // fails: the others were built on it
	s.mustAll(queue.Rejected)
	due := s.next(3).Until
	ch := s.core.State().Changes[s.id(3)]
	at := ch.Arrival.Add(ch.Predicted*6/5) + 1
	if at >= due {
		t.Fatalf("it is built at %d anyway", due)
	}
	s.mustGo("B2")
	s.sleep(at)
	s.mustGo("B2", "B2.3")
}

// A build that is not the first of its change waits until those ahead are nearly
// decided, and begins at the moment that people were told.
func TestAnswerJustInTime(t *testing.T) {
	s := newStage(t, young(config.Rules{Threshold: 0.3}), stated{good: map[int]float64{1: 0.9, 2: 0.9}, takes: map[int]time.Duration{2: 2 * time.Hour}},
		rule{target: "a", all: []string{"c1"}})
	s.changes("a", "a", "a")
	s.mustStart(3, "B1", "B1.2", "B1.2.3")
	s.end("B1") // fails: the others were built on it
	s.mustAll(queue.Rejected)
	got := s.next(3)
	if got.Code != queue.ReasonWaitsTime || !slices.Equal(got.For, []queue.ChangeID{s.id(2)}) {
		t.Fatalf("%+v", got)
	}
	if ahead := got.Until.Sub(s.now); ahead < time.Hour || ahead > 2*time.Hour {
		t.Fatalf("it is due in %v", ahead)
	}
	v, _ := s.core.View(s.id(3))
	if last := v.Waits[len(v.Waits)-1]; last.Code != queue.ReasonWaitsTime || last.Until != got.Until {
		t.Fatalf("%+v", v.Waits)
	}
	if o := v.Outlook; len(o.Ahead) != 1 || o.Ahead[0].Change != s.id(2) || o.Ahead[0].Ends <= got.Until || o.Ahead[0].Chance != 0.9 {
		t.Fatalf("%+v", o)
	}
	s.tell(queue.Capacity{Slots: 1})
	s.settleDown()
	s.sleep(got.Until)
	s.tell(queue.Capacity{Slots: 2})
	s.settleDown()
	if !slices.Contains(s.names(), "B2.3") {
		t.Fatalf("at %d going are %v", s.now, s.names())
	}
}

func TestAnswerCaps(t *testing.T) {
	model := stated{good: map[int]float64{1: 0.9, 2: 0.9}, takes: map[int]time.Duration{2: 2 * time.Hour}}
	rules := young(config.Rules{Threshold: 0.3, BuildsPerChange: 2, Off: []config.Ingredient{config.IngredientJustInTime}})
	s := newStage(t, rules, model, rule{target: "a", all: []string{"c1"}})
	s.changes("a", "a", "a", "b", "c", "d")
	s.mustStart(6, "B1", "B4", "B5", "B6", "B1.2", "B1.2.3")
	s.tell(queue.Capacity{Slots: 5})
	s.end("B1") // four of five slots are busy, so half of the cap is all there is
	s.mustSay(3, queue.Next{Code: queue.ReasonWaitsCap, Value: 0.9, Place: 1, Rivals: 1, Limit: 1, Spent: 1})

	s = newStage(t, young(config.Rules{Threshold: 0.3, BuildsPerHour: 2}), stated{})
	s.changes("a", "b")
	s.tell(queue.Capacity{Slots: 4})
	s.settleDown()
	s.mustSay(2, queue.Next{Code: queue.ReasonWaitsHour, Value: 1, Place: 1, Rivals: 1, Limit: 2, Spent: 2})
	s.mustGo("B1")
	s.sleep(s.next(2).Until)
	s.mustGo("B1", "B2")

	s = newStage(t, young(config.Rules{Threshold: 0.3, Quotas: []config.Quota{{Name: "all", Per: config.PerAll, Builds: 1, When: config.WhenAlways}}}), stated{})
	s.changes("a", "b")
	s.tell(queue.Capacity{Slots: 4})
	s.settleDown()
	s.mustSay(2, queue.Next{Code: queue.ReasonWaitsQuota, Value: 1, Place: 1, Rivals: 1})
	if v, _ := s.core.View(s.id(2)); v.Waits[0].Code != queue.ReasonWaitsQuota || v.Waits[0].Names[0] != "all" {
		t.Fatalf("%+v", v.Waits)
	}
}

func TestAnswerKnownAndTrain(t *testing.T) {
	s := newStage(t, young(config.Rules{Threshold: 0.3}), stated{good: map[int]float64{1: 0.9}}, rule{target: "a", all: []string{"c2", "c3"}})
	s.changes("a", "a", "a b", "c")
	s.mustStart(4, "B1", "B4", "B1.2.3", "B1.2")
	s.end("B1.2")
	s.mustSay(2, queue.Next{Code: queue.ReasonWaitsKnown, Known: queue.KnownPassed})
	s.end("B1.2.3")
	if got := s.next(3); got.Code != queue.ReasonWaitsKnown || got.Known != queue.KnownFailed {
		t.Fatalf("%+v", got)
	}
	s.step(s.say(s.pulls[1], "boss", "/queue pause release"))
	s.settleDown()
	s.end("B4")
	v, _ := s.core.View(s.id(4))
	if len(v.Waits) != 2 || v.Waits[0].Code != queue.ReasonPaused || v.Waits[1].Code != queue.ReasonWaitsTrain {
		t.Fatalf("%+v", v.Waits)
	}
}

// The keys of a change are being built already, by one with the same content.
func TestAnswerShared(t *testing.T) {
	s := newStage(t, young(config.Rules{Threshold: 0.3}), stated{good: map[int]float64{1: 0.2}})
	for range 2 {
		s.land(edit{fileOf("a"): "same"})
		s.settleDown()
	}
	s.tell(queue.Capacity{Slots: 1})
	s.settleDown()
	s.tell(queue.Capacity{Slots: 4})
	s.settleDown()
	var first queue.BuildID
	for id, b := range s.core.State().Builds {
		if b.Change == s.id(1) {
			first = id
		}
	}
	got := s.next(2)
	if got.Code != queue.ReasonWaitsShared || !slices.Equal(got.Builds, []queue.BuildID{first}) || !slices.Equal(got.For, []queue.ChangeID{s.id(1)}) {
		t.Fatalf("%+v; going %v", got, s.names())
	}
}

func TestIdleForWantOfNeed(t *testing.T) {
	f := &plan.Future{By: []derived.Status{derived.Unknown, derived.Verified, derived.Unknown}, Needed: []float64{0.2, 0.9, 0.35}}
	want := plan.Answer{Code: queue.ReasonWaitsUnlikely, Target: true, Value: 0.35}
	if got := plan.Idle(f, &plan.Deal{}); got != want {
		t.Errorf("%+v", got)
	}
	if got := plan.Idle(f, &plan.Deal{Busy: []*derived.LiveBuild{{}}}); got != (plan.Answer{Code: queue.ReasonWaitsShared}) {
		t.Errorf("%+v", got)
	}
}

// TestWorth holds what is stored with builds: the parts, and what they assume.
func TestWorth(t *testing.T) {
	rules := config.Rules{Order: config.OrderArrival, Threshold: 0.01, Lanes: config.DefaultLanes(), DefaultLane: "normal",
		Projects: []config.Project{{Name: "p", Targets: []string{"b"}, Benefit: 3}},
		Off:      []config.Ingredient{config.IngredientAging, config.IngredientAdaptive, config.IngredientTargetThreshold, config.IngredientJustInTime}}
	s := newStage(t, rules, stated{good: map[int]float64{1: 0.9}})
	s.changes("a", "a b c")
	s.tell(queue.Capacity{Slots: 3})
	s.settleDown()
	got := map[string]queue.Worth{}
	for _, b := range s.core.State().Builds {
		got[s.name(&run{build: *b})] = b.Worth
	}
	first := s.id(1)
	mean := 1 - 0.1/3 // one of three targets of equal cost hangs on the other change
	want := map[string]queue.Worth{
		"B1": {Kind: queue.WorthAlone, Needed: 1, Aging: 1, Lane: 1, Project: 1, Rank: 2, Rivals: 3, Running: 1, Slots: 3, Covers: queue.Coverage{Asked: 1}},
		"B1.2": {Kind: queue.WorthLikeliest, Needed: mean, Aging: 1, Lane: 1, Project: 3, Threshold: 0.01, Rank: 1, Rivals: 3, Slots: 3,
			Lands: 1, Assumes: []queue.Assumption{{Change: first, Lands: true, Chance: 0.9}}, Least: []queue.Need{{Target: "a", Chance: 0.9}}, Covers: queue.Coverage{Asked: 3}},
		"B2": {Kind: queue.WorthFlip, Needed: mean, Odds: 1.0 / 9, Aging: 1, Lane: 1, Project: 3, Threshold: 0.01, Rank: 1, Rivals: 1, Running: 2, Slots: 3,
			Fails: 1, Assumes: []queue.Assumption{{Change: first, Chance: 0.1, Flipped: true}}, Least: []queue.Need{{Target: "a", Chance: 0.9}}, Covers: queue.Coverage{Asked: 1, Shared: 2}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A change that many others wait for is also built, in idle slots, for the case that a change
// ahead of it ends otherwise than it probably does: else all of them would wait while that is
// made up for.
func TestFlipsOfWhatManyWaitFor(t *testing.T) {
	storetest.OneOf(t, 2)
	for waiting, want := range map[int]float64{0: 0, 7: 0, 40: 0.15} {
		rules := config.Rules{Order: config.OrderArrival, Threshold: 0.3, Spare: config.SpareNever,
			Off: []config.Ingredient{config.IngredientAging, config.IngredientTargetThreshold, config.IngredientJustInTime, config.IngredientSamples}}
		model := stated{good: map[int]float64{1: 0.8}}
		s := newStage(t, rules, model)
		s.core.facts.Beliefs.Ask(unsure{model})
		s.changes(slices.Repeat([]string{"a"}, 2+waiting)...)
		s.tell(queue.Capacity{Slots: 400})
		s.settleDown()
		got := 0.0
		for _, b := range s.core.State().Builds {
			if b.Change == s.id(2) && b.Worth.Kind == queue.WorthFlip {
				got = b.Worth.Threshold
			}
		}
		if got != want {
			t.Errorf("with %d changes behind it, the second is built without the first at a threshold of %v, want %v", waiting, got, want)
		}
	}
}

// TestBeliefsAreShown holds that a failure is shown with the changes that may be
// to blame for it.
func TestBeliefsAreShown(t *testing.T) {
	s := newStage(t, young(config.Rules{Threshold: 0.3}), stated{good: map[int]float64{1: 0.9, 2: 0.8}, pairs: map[[2]int]float64{{1, 2}: 0.05}},
		rule{target: "a", all: []string{"c1", "c2"}})
	s.changes("a", "a b")
	s.mustStart(2, "B1", "B1.2")
	before, _ := s.core.View(s.id(2))
	s.end("B1.2")
	v, _ := s.core.View(s.id(2))
	o := v.Outlook
	if o.Good >= before.Outlook.Good || o.Targets != 2 || o.Tested != 1 || len(o.Pairs) != 1 || o.Pairs[0].With != s.id(1) || o.Pairs[0].Chance <= 0.05 {
		t.Errorf("%+v", o)
	}
	if len(o.Doubts) != 2 || !slices.ContainsFunc(o.Doubts, func(d queue.Suspect) bool { return d.Pair == s.id(1) }) || o.Trust.Accuracy != derived.FirstGuess {
		t.Errorf("%+v", o)
	}
}

// A change whose builds on assumptions are used up still has one on the target branch
// as it is, and its verdict.
func TestCapLeavesBuildsForTheFront(t *testing.T) {
	bad := func(name string) rule { return rule{target: "a", all: []string{name}} }
	rules := young(config.Rules{Threshold: 0.3, BuildsPerChange: 4, Off: []config.Ingredient{config.IngredientJustInTime, config.IngredientFlips, config.IngredientBypass}})
	s := newStage(t, rules, stated{good: map[int]float64{1: 0.9, 2: 0.9, 3: 0.9, 4: 0.9}}, bad("c1"), bad("c2"), bad("c3"), bad("c4"))
	s.changes("a", "a", "a", "a", "a")
	s.mustStart(20, "B1", "B1.2", "B1.2.3", "B1.2.3.4", "B1.2.3.4.5")
	for _, first := range []string{"B1", "B2", "B3"} {
		s.end(first) // fails, and what was built on it is built anew
	}
	s.mustSay(5, queue.Next{Code: queue.ReasonWaitsCap, Value: 0.9, Place: 1, Rivals: 1, Limit: 3, Spent: 3})
	s.end("B4")
	s.mustGo("B5")
	s.end("B5")
	s.mustAll(queue.Rejected, queue.Rejected, queue.Rejected, queue.Rejected, queue.Landed)
}
