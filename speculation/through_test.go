package speculation

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// opened is a stage in a freeze that lets changes with the label hotfix through.
func opened(t *testing.T, rules config.Rules, truth ...rule) *stage {
	t.Helper()
	return openedOf(t, unit, rules, truth...)
}

// openedOf is opened with other steps.
func openedOf(t *testing.T, steps string, rules config.Rules, truth ...rule) *stage {
	t.Helper()
	rule, start := daily(stageBegins, config.FreezeExcept{Labels: []string{"hotfix"}})
	rule.For = 10 * time.Hour
	rules.Landing.Freeze = []config.Freeze{rule}
	s := newStageOf(t, steps, rules, stated{}, truth...)
	s.requires = true
	s.sleep(start)
	return s
}

// hotfix puts the label on pull requests.
func (s *stage) hotfix(numbers ...int) {
	s.t.Helper()
	for _, n := range numbers {
		s.pulls[n].spared = []string{"hotfix"}
		s.tell(queue.Labeled{Number: n, Label: "hotfix", Actor: "boss", On: true})
	}
	s.settleDown()
}

// A rollup that a freeze holds for the sake of some of its members does not hold the others.
func TestWindowSplitsRollups(t *testing.T) {
	for _, say := range []string{"", "/land now it burns"} {
		t.Run(say, func(t *testing.T) {
			s := opened(t, config.Rules{Batch: config.BatchRollup, BatchMax: 4})
			s.tell(queue.Capacity{Slots: 1})
			s.changes("d", "a", "a", "a")
			s.finish(s.going()[0])
			s.now++
			s.tell(queue.Tick{})
			s.settleDown()
			if ch := s.change(s.pulls[3]); ch.Rollup != s.change(s.pulls[2]).ID {
				t.Fatalf("it is in rollup %q", ch.Rollup)
			}
			if say == "" {
				s.hotfix(3)
			} else {
				s.step(s.say(s.pulls[3], "boss", say))
				s.settleDown()
			}
			s.finishAll()
			s.mustBe(s.pulls[3], queue.Landed)
			s.mustBe(s.pulls[2], queue.Pending)
			s.calm()
		})
	}
}

// The first part of a rollup that has failed passes, and the freeze holds it: a change of the rest that
// the freeze lets through does not wait for it to land.
func TestWindowAndTheRestOfARollup(t *testing.T) {
	for _, say := range []string{"", "/land now it burns"} {
		t.Run(say, func(t *testing.T) {
			s := opened(t, config.Rules{Batch: config.BatchRollup, BatchMax: 4}, rule{target: "a", all: []string{"c2", "c3"}})
			s.tell(queue.Capacity{Slots: 1})
			s.changes("d", "a", "a")
			for range 3 {
				s.finish(s.going()[0])
				s.now++
				s.tell(queue.Tick{})
				s.settleDown()
			}
			if ch := s.change(s.pulls[3]); ch.After == "" {
				t.Fatalf("it does not wait for a part: %+v", ch)
			}
			if say == "" {
				s.hotfix(3)
			} else {
				s.step(s.say(s.pulls[3], "boss", say))
				s.settleDown()
			}
			s.finishAll()
			s.mustBe(s.pulls[3], queue.Landed)
			s.calm()
		})
	}
}

// Nor does a rollup take in both.
func TestWindowKeepsRollupsApart(t *testing.T) {
	for _, say := range []string{"", "/land now it burns"} {
		t.Run(say, func(t *testing.T) {
			s := opened(t, config.Rules{Batch: config.BatchRollup, BatchMax: 4})
			s.changes("d", "a", "a", "a", "a", "a")
			if say == "" {
				s.hotfix(4)
			} else {
				s.step(s.say(s.pulls[4], "boss", say))
				s.settleDown()
			}
			s.tell(queue.Capacity{Slots: 1})
			s.settleDown()
			for range 10 {
				if len(s.going()) > 0 {
					s.finish(s.going()[0])
				}
				s.now++
				s.tell(queue.Tick{})
				s.settleDown()
			}
			s.finishAll()
			s.mustBe(s.pulls[4], queue.Landed)
			s.mustBe(s.pulls[3], queue.Pending)
			s.calm()
		})
	}
}

// A change that a freeze lets through is not put behind a proven one that the freeze holds, turn by turn.
func TestWindowTurnsAreQuiet(t *testing.T) {
	s := opened(t, config.Rules{})
	s.changes("a")
	s.tell(queue.Capacity{Slots: 1})
	s.settleDown()
	s.finishAll()
	s.tell(queue.Capacity{Slots: 0})
	s.changes("a")
	s.hotfix(2)
	if s.change(s.pulls[2]).Virtual >= s.change(s.pulls[1]).Virtual {
		t.Fatal("not before")
	}
	for range 3 {
		s.now = s.now.Add(time.Second)
		turn := s.step(queue.Event{ID: "tick" + s.now.Time().String(), At: s.now, Body: queue.Tick{}})
		if slices.ContainsFunc(turn.Changed, func(r queue.Ref) bool { return r.Kind == queue.KindChange }) {
			t.Errorf("a turn in which nothing happens changes %v", turn.Changed)
		}
	}
	s.tell(queue.Capacity{Slots: 1})
	s.settleDown()
	s.finishAll()
	s.mustAll(queue.Pending, queue.Landed)
	s.calm()
}

// Changes that a freeze lets through keep their order among each other.
func TestWindowKeepsTheOrder(t *testing.T) {
	s := opened(t, config.Rules{Spare: config.SpareNever})
	s.changes("a", "b", "a b")
	s.hotfix(2, 3)
	s.changes("a b")
	s.hotfix(4)
	var at []int
	for _, n := range []int{2, 3, 4, 1} {
		at = append(at, s.core.facts.Order.Rank[s.change(s.pulls[n]).ID])
	}
	if !slices.IsSorted(at) {
		t.Errorf("the places of 2, 3, 4 and 1 are %v", at)
	}
	s.tell(queue.Capacity{Slots: 9})
	s.settleDown()
	s.finishAll()
	s.mustAll(queue.Pending, queue.Landed, queue.Landed, queue.Landed)
	s.calm()
}

// A stack goes through in its order if all of it is let through, and not if its lowest is held.
func TestWindowAndStacks(t *testing.T) {
	s := opened(t, config.Rules{Spare: config.SpareNever})
	s.changes("a b")
	low := s.open(s.main, edit{fileOf("a"): "low"})
	high := s.openOn(low, edit{fileOf("b"): "high"})
	for _, p := range []*pull{low, high} {
		s.step(s.say(p, "dev", "/land"))
	}
	s.settleDown()
	s.hotfix(3)
	s.tell(queue.Capacity{Slots: 9})
	s.settleDown()
	s.finishAll()
	s.mustAll(queue.Pending, queue.Pending, queue.Pending)
	if v, _ := s.core.View(s.id(3)); !hasReason(v.Waits, queue.ReasonPaused) {
		t.Errorf("the upper one of the stack is not told of the freeze that holds the lower: %+v", v.Waits)
	}
	s.hotfix(2)
	if v, _ := s.core.View(s.id(3)); hasReason(v.Waits, queue.ReasonPaused) {
		t.Errorf("the freeze holds none of the stack, and the upper one is told so: %+v", v.Waits)
	}
	s.finishAll()
	s.mustAll(queue.Pending, queue.Landed, queue.Landed)
	s.calm()
}

// A change that is on the train behind one that a freeze holds leaves it when it may land through the
// freeze: it is built on main alone, and lands.
func TestWindowTakesOneOffTheTrain(t *testing.T) {
	for _, say := range []string{"", "/land now it burns"} {
		t.Run(say, func(t *testing.T) {
			s := opened(t, config.Rules{Spare: config.SpareNever})
			s.changes("a b", "a")
			s.tell(queue.Capacity{Slots: 9})
			s.settleDown()
			s.finishAll()
			if len(s.core.State().Train) != 2 {
				t.Fatalf("on the train are %v", s.core.State().Train)
			}
			if say == "" {
				s.hotfix(2)
			} else {
				s.step(s.say(s.pulls[2], "boss", say))
				s.settleDown()
			}
			s.finishAll()
			s.mustAll(queue.Pending, queue.Landed)
			s.calm()
		})
	}
}

// A change that loses its label during the freeze goes back to its place, unless it is being built.
func TestWindowGivesThePlaceBack(t *testing.T) {
	for _, slots := range []int{0, 9} {
		s := opened(t, config.Rules{Spare: config.SpareNever})
		s.changes("a", "a")
		was := s.change(s.pulls[2]).Virtual
		s.hotfix(2)
		if s.change(s.pulls[2]).Virtual >= was {
			t.Fatal("it is not before the other")
		}
		s.tell(queue.Capacity{Slots: slots})
		s.settleDown()
		s.pulls[2].spared = nil
		s.tell(queue.Labeled{Number: 2, Label: "hotfix", Actor: "boss"})
		s.settleDown()
		if back := s.change(s.pulls[2]).Virtual == was; back != (slots == 0) {
			t.Errorf("with %d slots it is at %d, and was at %d", slots, s.change(s.pulls[2]).Virtual, was)
		}
		s.tell(queue.Capacity{Slots: 9})
		s.settleDown()
		s.finishAll()
		s.mustAll(queue.Pending, queue.Pending)
		s.calm()
	}
}

// However a queue is set up, a freeze lets a change through that came behind one that it holds and that
// shares a target with it. The one that it holds lands when the freeze ends.
func TestWindowOfEachKindOfQueue(t *testing.T) {
	for name, x := range map[string]struct {
		steps string
		rules config.Rules
		all   bool   // each change touches everything
		say   string // of the change that is held
	}{
		"in the order of arrival":     {rules: config.Rules{Order: config.OrderArrival}},
		"no future but the likeliest": {rules: config.Rules{Spare: config.SpareNever}},
		"steps on the whole tree":     {steps: linted},
		"and in the order of arrival": {steps: linted, rules: config.Rules{Order: config.OrderArrival}},
		"no analyzer":                 {all: true},
		"no analyzer, in batches":     {all: true, rules: config.Rules{Batch: config.BatchRollup, BatchMax: 4}},
		"a lane of those that are held": {say: "/land priority=high",
			rules: config.Rules{Lanes: []config.Lane{{Name: "high", Least: "write"}, {Name: "normal"}}, DefaultLane: "normal"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := openedOf(t, cmp.Or(x.steps, unit), x.rules)
			if x.all {
				s.footless = func(_ queue.ChangeID, f queue.Footprint) queue.Footprint {
					return queue.Footprint{Main: f.Main, All: true}
				}
			}
			s.tell(queue.Capacity{Slots: 4})
			s.changes("a b")
			if x.say != "" {
				s.step(s.say(s.pulls[1], "dev", x.say))
				s.settleDown()
			}
			s.changes("b", "c")
			s.hotfix(2)
			s.finishAll()
			s.mustAll(queue.Pending, queue.Landed, queue.Pending)
			s.sleep(s.core.State().Main.Paused.Until)
			s.finishAll()
			s.mustAll(queue.Landed, queue.Landed, queue.Landed)
			s.calm()
		})
	}
}
