package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// While a change that has failed on main waits for its second run, the changes behind it
// are built without it: nobody waits another build for what is all but known.
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
// changes whose builds were used up have waited for each other beside hundreds of them.
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
