package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// "Keeping Master Green at Scale" (EuroSys'19), its equations 1 to 5 and its
// worked cases, with one target that every change affects, in order of arrival.
// Our own departures are configured away (papers): needed is per
// target, results are reused, changes are ordered by expected finish, beliefs
// follow results, and benefit grows with the time waited.
//
// Three differences stay. Of the futures of a change we follow the likeliest and
// those that differ from it in one outcome, not all 2^n. In the latter the other
// changes keep the chances that they have in the likeliest, so that B2.3 has the
// conflict of C1 and C2 in its value although C1 is not on it. And a chance is
// never above 0.999 nor below 0.001.

// chances of changes 1 to 3 in these tests.
var paperChances = map[int]float64{1: 0.9, 2: 0.8, 3: 0.7}

// Section 4, the speculation tree of three changes: 2^3 - 1 builds, of which
// B1.2.3, B1.3, B2.3 and B3 are those of C3. They start by value, the best
// first, wherever in the tree they are (greedy best-first search, section 4).
func TestEuroSysSpeculationTree(t *testing.T) {
	s := newStage(t, papers(), stated{good: paperChances})
	s.changes("a", "a", "a")
	s.mustStart(6, "B1", "B1.2", "B1.2.3", "B1.3", "B2", "B2.3")
	s.mustBeWorth(map[string]float64{"B1": 1, "B1.2": 0.9, "B2": 0.1,
		"B1.2.3": 0.9 * 0.8, "B1.3": 0.9 * 0.2, "B2.3": 0.1 * 0.8})
	// B3 needs two unlikely outcomes. If it is built, then last and for this value.
	for _, b := range s.schedule(8) {
		if b != "B3" {
			t.Errorf("%s is no build of the tree", b)
		}
		s.mustBeWorth(map[string]float64{"B3": 0.1 * 0.2})
	}
}

// Section 4, "with n slots": n of the 2^n - 1 builds suffice to decide n
// changes, if they are the right ones.
func TestEuroSysNoMoreBuildsThanChanges(t *testing.T) {
	rules := papers()
	rules.Threshold = 0.5
	s := newStage(t, rules, stated{good: paperChances})
	s.changes("a", "a", "a")
	s.mustStart(3, "B1", "B1.2", "B1.2.3")
	s.end("B1", "B1.2", "B1.2.3")
	s.mustAll(queue.Landed, queue.Landed, queue.Landed)
	for _, p := range s.pulls {
		s.mustBuilds(p, 1)
	}
	s.calm()
}

// If all changes have waited for very long, builds that are hardly ever needed do not become worth
// a slot by that: a queue that is far behind would only fall back further.
func TestLongWaitsAreWorthTwoHours(t *testing.T) {
	rules := papers()
	rules.Off = slices.DeleteFunc(rules.Off, func(i config.Ingredient) bool { return i == config.IngredientAging })
	s := newStage(t, rules, stated{good: paperChances})
	s.changes("a")
	s.now = s.now.Add(10 * 60 * minute)
	s.changes("a")
	s.schedule(3)
	for _, r := range s.going() {
		waited := 1 + r.build.At.Sub(s.change(s.pulls[2]).Arrival).Hours()
		s.mustBeWorth(map[string]float64{s.name(r): map[string]float64{"B1": 3, "B1.2": 0.9 * waited, "B2": 0.1 * waited}[s.name(r)]})
	}
	if len(s.values) != 3 || s.values["B1"] != queue.MostAging {
		t.Errorf("values = %v", s.values)
	}
}

// Equation 1: the value of a build is its benefit times P_needed. Our benefit
// is the time its change has waited, in hours and one.
func TestEuroSysEquation1Value(t *testing.T) {
	rules := papers()
	rules.Off = slices.DeleteFunc(rules.Off, func(i config.Ingredient) bool { return i == config.IngredientAging })
	s := newStage(t, rules, stated{good: paperChances})
	s.changes("a")
	s.now = s.now.Add(90 * minute)
	s.changes("a")
	first, second := s.change(s.pulls[1]).Arrival, s.change(s.pulls[2]).Arrival
	s.schedule(3)
	for _, r := range s.going() {
		waited := 1 + r.build.At.Sub(second).Hours()
		want := map[string]float64{"B1": 1 + r.build.At.Sub(first).Hours(), "B1.2": 0.9 * waited, "B2": 0.1 * waited}[s.name(r)]
		s.mustBeWorth(map[string]float64{s.name(r): want})
	}
	if len(s.values) != 3 || s.values["B1"] < 2.5 {
		t.Errorf("values = %v", s.values)
	}
}

// Equations 2 and 3: B1 is always needed; B1.2 is if C1 lands, B2 if not. So
// the chances of one change's builds add up to 1.
func TestEuroSysEquations2And3Needed(t *testing.T) {
	for _, p1 := range []float64{0.001, 0.3, 0.5, 0.75, 0.999} {
		s := newStage(t, papers(), stated{good: map[int]float64{1: p1}})
		s.changes("a", "a")
		s.schedule(3)
		s.mustBeWorth(map[string]float64{"B1": 1, "B1.2": p1, "B2": 1 - p1})
	}
}

// Equation 4, the chance of C2 where C1 has landed: P_succ(C2) - P_conf(C1,C2);
// and equation 5: P_needed(B1.2.3) = P_succ(C1) * (P_succ(C2) - P_conf(C1,C2)).
// Our model states the chance of a conflict where both are green alone, q; the
// paper's is that among all cases, P_conf = q * P_succ(C2).
func TestEuroSysEquations4And5Conflicts(t *testing.T) {
	for _, conf := range []float64{0.04, 0.2, 0.3, 0.6} {
		p1, p2 := 0.9, 0.8
		s := newStage(t, papers(), stated{good: paperChances, pairs: map[[2]int]float64{{1, 2}: conf / p2}})
		s.changes("a", "a", "a")
		s.schedule(8)
		s.mustBeWorth(map[string]float64{"B1": 1, "B1.2": p1, "B2": 1 - p1,
			"B1.2.3": p1 * (p2 - conf), "B1.3": p1 * (1 - (p2 - conf))})
	}
}

// Section 4: the search is greedy, best first. With the chances of C1 turned
// round, what assumes its failure goes first, and deep builds go before shallow
// ones that are less likely to be needed.
func TestEuroSysGreedyBestFirst(t *testing.T) {
	for _, c := range []struct {
		good map[int]float64
		want []string
	}{
		{map[int]float64{1: 0.4, 2: 0.9}, []string{"B1", "B2", "B2.3", "B1.2", "B1.2.3", "B3"}},
		{map[int]float64{1: 0.95, 2: 0.94}, []string{"B1", "B1.2", "B1.2.3", "B1.3", "B2", "B2.3"}},
		{map[int]float64{1: 0.7, 2: 0.95}, []string{"B1", "B1.2", "B1.2.3", "B2", "B2.3", "B1.3"}},
	} {
		for slots := 1; slots <= len(c.want); slots++ { // with k slots: the k best
			s := newStage(t, papers(), stated{good: c.good})
			s.changes("a", "a", "a")
			s.tell(queue.Capacity{Slots: slots})
			s.settleDown()
			s.mustGo(c.want[:slots]...)
		}
	}
}

// Section 4: what is not needed any more is aborted, and what is left becomes
// more valuable. C1 fails, so B1.2 and B1.2.3 go, and B2 decides C2.
func TestEuroSysOutcomePrunesTheTree(t *testing.T) {
	s := newStage(t, papers(), stated{good: paperChances}, rule{target: "a", all: []string{"c1"}})
	s.changes("a", "a", "a")
	s.mustStart(6, "B1", "B1.2", "B1.2.3", "B1.3", "B2", "B2.3")
	s.end("B1")
	s.mustAll(queue.Rejected, queue.Pending, queue.Pending)
	s.fresh()
	s.mustGo("B2", "B2.3", "B3")
	s.mustBeWorth(map[string]float64{"B3": 0.2}) // C2 fails
	s.end("B2")
	s.mustAll(queue.Rejected, queue.Landed, queue.Pending)
	s.end("B2.3")
	s.mustAll(queue.Rejected, queue.Landed, queue.Landed)
	s.calm()
}

// Section 5, changes that are all independent: no speculation at all, each is
// built once, alone, and lands alone.
func TestEuroSysIndependentChanges(t *testing.T) {
	s := newStage(t, papers(), stated{good: paperChances})
	s.changes("a", "b", "c")
	s.mustStart(8, "B1", "B2", "B3")
	s.mustBeWorth(map[string]float64{"B1": 1, "B2": 1, "B3": 1})
	s.end("B3", "B1", "B2")
	s.mustAll(queue.Landed, queue.Landed, queue.Landed)
	s.calm()
}

// Section 5, the speculation graph where C1 conflicts with C2 and C3, and those
// two are independent: five builds instead of seven.
func TestEuroSysSpeculationGraphOneAhead(t *testing.T) {
	s := newStage(t, papers(), stated{good: paperChances})
	s.changes("a b", "a", "b")
	s.mustStart(8, "B1", "B1.2", "B1.3", "B2", "B3")
	s.mustBeWorth(map[string]float64{"B1": 1, "B1.2": 0.9, "B1.3": 0.9, "B2": 0.1, "B3": 0.1})
}

// Section 5, the speculation graph where C1 and C2 are independent and C3
// conflicts with both: C1 and C2 are built once each and may land in any order;
// only C3 has futures. It touches everything here, so that it has one target
// and needed is the paper's product.
func TestEuroSysSpeculationGraphTwoAhead(t *testing.T) {
	s := newStage(t, papers(), stated{good: paperChances})
	s.footless = func(id queue.ChangeID, f queue.Footprint) queue.Footprint {
		f.All = len(f.Affected) == 2
		return f
	}
	s.changes("a", "b", "a b")
	s.mustStart(5, "B1", "B2", "B1.2.3", "B1.3", "B2.3")
	s.mustBeWorth(map[string]float64{"B1": 1, "B2": 1, "B1.2.3": 0.9 * 0.8, "B1.3": 0.9 * 0.2, "B2.3": 0.1 * 0.8})
	s.end("B2")
	s.mustAll(queue.Pending, queue.Landed, queue.Pending)
	s.end("B1")
	s.mustAll(queue.Landed, queue.Landed, queue.Pending)
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Landed)
}

// The same graph as we plan it: needed is per target, and a target of C3 hangs
// on that one change ahead only which affects it. Its mean is the value.
func TestNeededPerTargetInsteadOfPerPath(t *testing.T) {
	s := newStage(t, papers(), stated{good: paperChances})
	s.changes("a", "b", "a b")
	s.mustStart(3, "B1", "B2", "B1.2.3")
	s.mustBeWorth(map[string]float64{"B1.2.3": (0.9 + 0.8) / 2})
}
