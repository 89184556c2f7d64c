package speculation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// "CI at Scale: Lean, Green, and Fast" (2025). Its P_needed weighs each change
// ahead by the chance to finish before it; we order changes by their expected
// finish once, on arrival, so that this chance is 0 or 1 and the product over
// those that are bypassed falls away:
//
//	P_needed(B_C) = PROD over the conflicting changes that finish before C of P_outcome
//
// Builds of C with a bypassed change below them are needed in no future: that
// one is built on C. B1.2 and B2.1 have the same content (BLRD, theorem 1).

// finishOrder is papers with changes in order of expected finish.
func finishOrder() config.Rules {
	r := papers()
	r.Order = config.OrderFinish
	return r
}

// Its worked numbers of P(FT_y < FT_x) = Phi(Z): arrival, mean and
// deviation of x, the same of y, and the printed chance. Ours is the side of
// 1/2 on which it lies; a tie goes to the earlier one.
func TestCIAtScaleWhoFinishesFirst(t *testing.T) {
	for _, c := range []struct {
		x, y  [2]int // arrival, mean
		first int    // of the order
	}{
		{[2]int{0, 25}, [2]int{5, 20}, 1},  // Z = 0, 0.5
		{[2]int{0, 20}, [2]int{200, 5}, 1}, // as the next, within the bound of overtaking
		{[2]int{0, 20}, [2]int{480, 5}, 1}, // Z = -103.98, 0
		{[2]int{0, 35}, [2]int{1, 15}, 2},  // Z = 2.832, 0.9977
	} {
		model := stated{takes: map[int]time.Duration{1: time.Duration(c.x[1]) * minute, 2: time.Duration(c.y[1]) * minute}}
		s := newStage(t, finishOrder(), model)
		start := s.now
		for _, at := range []int{c.x[0], c.y[0]} {
			s.now = start.Add(time.Duration(at) * minute)
			s.changes("a")
		}
		first, second := s.pulls[c.first], s.pulls[3-c.first]
		v, _ := s.core.View(s.change(first).ID)
		w, _ := s.core.View(s.change(second).ID)
		if v.Position != 1 || len(v.Ahead) > 0 || !slices.Equal(w.Ahead, []queue.ChangeID{v.Change.ID}) {
			t.Errorf("%v: %v is at %d behind %v; the other is behind %v", c, v.Change.ID, v.Position, v.Ahead, w.Ahead)
		}
	}
}

// Its cases 1 to 5 (and the sixth order): the finish times of three
// changes that all conflict. The likeliest build of each has the chances of
// those that finish before it, and the sum over a change's builds is 1.
func TestCIAtScaleCases(t *testing.T) {
	for _, c := range []struct {
		name  string
		order [3]int // by finish
	}{
		{"case 1", [3]int{1, 2, 3}},
		{"case 2", [3]int{2, 1, 3}},
		{"case 3", [3]int{1, 3, 2}},
		{"case 4", [3]int{3, 2, 1}},
		{"case 5", [3]int{3, 1, 2}},
		{"not in the paper", [3]int{2, 3, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			takes := map[int]time.Duration{}
			for place, n := range c.order {
				takes[n] = time.Duration(20+10*place) * minute
			}
			s := newStage(t, finishOrder(), stated{good: paperChances, takes: takes})
			s.changes("a", "a", "a")
			x, y, z := c.order[0], c.order[1], c.order[2]
			px, py := paperChances[x], paperChances[y]
			b := func(n ...int) string {
				return "B" + strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", "."), "[]")
			}
			s.schedule(8)
			s.mustBeWorth(map[string]float64{b(x): 1, b(x, y): px, b(y): 1 - px,
				b(x, y, z): px * py, b(x, z): px * (1 - py), b(y, z): (1 - px) * py})
			for name := range s.values {
				if !slices.Contains([]string{b(x), b(x, y), b(y), b(x, y, z), b(x, z), b(y, z), b(z)}, name) {
					t.Errorf("%s assumes what finishes later", name)
				}
			}
		})
	}
}

// The fallback if no change is to be bypassed: the product over all that
// conflict, which is the paper of 2019 in order of arrival, for any predicted
// durations.
func TestCIAtScaleFallback(t *testing.T) {
	s := newStage(t, papers(), stated{good: paperChances, takes: map[int]time.Duration{1: 90 * minute, 2: 50 * minute, 3: minute}})
	s.changes("a", "a", "a")
	s.schedule(8)
	s.mustBeWorth(map[string]float64{"B1": 1, "B1.2": 0.9, "B1.2.3": 0.9 * 0.8, "B1.3": 0.9 * 0.2, "B2": 0.1, "B2.3": 0.1 * 0.8})
}

// The speculation threshold: builds below it are not started,
// however many slots are free; what is certain to be needed always is.
func TestCIAtScaleSpeculationThreshold(t *testing.T) {
	for _, c := range []struct {
		threshold float64
		want      []string
	}{
		{0.05, []string{"B1", "B1.2", "B1.2.3", "B1.3", "B2", "B2.3"}},
		{0.15, []string{"B1", "B1.2", "B1.2.3", "B1.3"}},
		{0.3, []string{"B1", "B1.2", "B1.2.3"}},
		{0.8, []string{"B1", "B1.2"}},
		{0.95, []string{"B1"}},
	} {
		rules := papers()
		rules.Threshold = c.threshold
		s := newStage(t, rules, stated{good: paperChances})
		s.changes("a", "a", "a")
		s.mustStart(12, c.want...)
	}
}

// Builds that BLRD needs: where a change ahead is expected to take
// much longer, both of its outcomes are built, although one is far below the
// threshold. The paper gives the whole group one priority; we give the
// unlikely one most of it, and only under `spare: always` or while nothing is
// known of changes, because it did not pay.
func TestCIAtScaleBypassIsEligible(t *testing.T) {
	for _, slow := range []bool{true, false} {
		rules := papers()
		rules.Threshold, rules.Spare = 0.3, config.SpareAlways
		takes := map[int]time.Duration{1: minute, 2: minute, 3: minute}
		if slow {
			takes[1] = 60 * minute
		}
		s := newStage(t, rules, stated{good: paperChances, takes: takes})
		s.changes("a", "a", "b")
		s.now = s.now.Add(5 * time.Hour) // which is worth nothing here
		got := s.schedule(4)
		late := slices.Index(got, "B2")
		if late < 0 || s.values["B1.2"] != 0.9 {
			t.Fatalf("started %v, values %v", got, s.values)
		}
		if worth := s.values["B2"]; slow != (worth > 0.45) || worth > 0.9 {
			t.Errorf("C1 slow: %t; B2 is worth %v", slow, worth)
		}
		if !slow && late != len(got)-1 {
			t.Errorf("what only fills free slots starts before others: %v", got)
		}
	}
}

// The purpose of both: a small change behind a large one has both its
// results first, lands first, and the large one needs no other build.
func TestCIAtScaleSmallChangePassesLargeOne(t *testing.T) {
	rules := finishOrder()
	s := newStage(t, rules, stated{takes: map[int]time.Duration{1: 60 * minute, 2: minute}})
	s.changes("a b c d", "b")
	s.mustStart(1, "B2")
	s.mustStart(2, "B2.1")
	s.end("B2")
	s.mustAll(queue.Pending, queue.Landed)
	s.end("B2.1")
	s.mustAll(queue.Landed, queue.Landed)
	s.mustBuilds(s.pulls[1], 1)
	s.calm()
}
