package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// While a change that has failed on main waits for its second run, the changes behind it
// are built without it: they do not wait another build for an outcome that is all but known.
func TestFirstFailureOnMainCounts(t *testing.T) {
	rules := papers()
	rules.Retries = 1
	s := newStage(t, rules, stated{good: map[int]float64{1: 0.9}}, rule{target: "a", all: []string{"c1"}})
	s.changes("a", "a")
	s.mustStart(2, "B1", "B1.2")
	s.end("B1") // fails, and is run again
	s.tell(queue.Capacity{Slots: 4})
	s.settleDown()
	s.fresh()
	if s.values["B2"] < 0.85 {
		t.Errorf("the build of the second change without the first is worth %v; started: %v", s.values["B2"], s.values)
	}
}

// The cap of a change keeps builds for main, and no more than it needs while slots are idle:
// else changes whose builds are used up wait for each other beside hundreds of idle slots.
func TestAllowanceFollowsLoad(t *testing.T) {
	s := newStage(t, config.Rules{BuildsPerChange: 20}, stated{good: map[int]float64{1: 0.9}})
	s.changes("a", "a", "b", "c", "d", "e", "f", "g")
	for _, c := range []struct {
		slots int
		want  float64
	}{{100, 17}, {12, 15}, {2, 10}} {
		s.tell(queue.Capacity{Slots: c.slots})
		s.settleDown()
		f := s.core.facts
		if c.slots == 12 && (f.Busy() <= derived.IdleShare || f.Busy() >= derived.BusyShare) {
			t.Fatalf("%v of the slots are busy", f.Busy())
		}
		if got := f.Allowance(false); got != c.want || f.Allowance(true) != 20 {
			t.Errorf("with %v of the slots busy: %v builds on assumptions, %v in all", f.Busy(), got, f.Allowance(true))
		}
	}
}

// A change that has waited for long is built early in free slots, if its likeliest future is
// likely: else the build is wasted, and so is the next one.
func TestEarlyBuildsAreOfLikelyFutures(t *testing.T) {
	for likely, early := range map[float64]bool{0.9: true, 0.55: false} {
		rules := papers(config.IngredientFlips)
		rules.Off = slices.DeleteFunc(rules.Off, func(x config.Ingredient) bool { return x == config.IngredientJustInTime })
		model := stated{good: map[int]float64{1: likely, 2: 0.9}, takes: map[int]time.Duration{1: 100 * minute}}
		s := newStage(t, rules, model, rule{target: "a", all: []string{"c2"}})
		s.changes("a", "a", "a")
		s.mustStart(3, "B1", "B1.2", "B1.2.3")
		s.end("B1.2") // the third change's likeliest future is now without the second
		s.end("B1.2.3")
		s.tell(queue.Capacity{Slots: 10})
		s.now = s.now.Add(10 * minute)
		s.tell(queue.Tick{})
		s.settleDown()
		if got := s.fresh(); slices.Contains(got, "B1.3") != early {
			t.Errorf("with the first change landing by %v it starts %v", likely, got)
		}
	}
}
