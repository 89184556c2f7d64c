package sim_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

// small is a world of three changes on one target: 1 breaks with 0, 2 is broken.
func small() *sim.World {
	w := &sim.World{OverheadMin: 1, Targets: []sim.Target{{1, 0}, {1, 1}}}
	for i := range 3 {
		w.Changes = append(w.Changes, sim.Change{ID: i, ArriveMin: float64(i), DurationMin: 30, Targets: []int{0, 1}, BrokenTarget: -1,
			Predicted: sim.Prediction{Success: 0.9, DurationMin: 30, DurationSDMin: 1}})
	}
	w.Changes[1].Conflicts = []sim.Conflict{{With: 0, Target: 1}}
	w.Changes[2].BrokenTarget = 0
	return w
}

func TestCheckerCatches(t *testing.T) {
	land := func(at float64, c int) sim.Decision { return sim.Decision{Change: c, At: at, Landed: true} }
	reject := func(at float64, c int) sim.Decision { return sim.Decision{Change: c, At: at} }
	for _, x := range []struct {
		name      string
		decisions []sim.Decision
		landings  []int
		want      sim.Verdict
	}{
		{"nothing wrong", []sim.Decision{land(1, 0), reject(2, 1), reject(3, 2)}, []int{0},
			sim.Verdict{Landed: 1, Rejected: 2}},
		{"the second of a pair landed instead of the first", []sim.Decision{land(1, 1), reject(2, 0), reject(3, 2)}, []int{1},
			sim.Verdict{Landed: 1, Rejected: 2, Harmed: 1}},
		{"a broken change has landed", []sim.Decision{land(1, 0), reject(2, 1), land(3, 2)}, []int{0, 2},
			sim.Verdict{Landed: 2, Rejected: 1, RedCommits: 1}},
		{"both of a pair have landed", []sim.Decision{land(1, 0), land(2, 1), reject(3, 2)}, []int{0, 1},
			sim.Verdict{Landed: 2, Rejected: 1, RedCommits: 1}},
		{"both of a pair, the later first", []sim.Decision{land(1, 1), land(2, 0), reject(3, 2)}, []int{1, 0},
			sim.Verdict{Landed: 2, Rejected: 1, RedCommits: 1}},
		{"sound, on red", []sim.Decision{land(1, 2), land(2, 0), reject(3, 1)}, []int{2, 0},
			sim.Verdict{Landed: 2, Rejected: 1, RedCommits: 2}},
		{"told out of order", []sim.Decision{reject(3, 2), land(2, 0), reject(2.5, 1)}, []int{0},
			sim.Verdict{Landed: 1, Rejected: 2}},
		{"twice", []sim.Decision{land(1, 0), reject(2, 1), reject(3, 2), reject(4, 0)}, []int{0},
			sim.Verdict{Landed: 1, Rejected: 2, DecidedTwice: 1}},
		{"not at all", []sim.Decision{land(1, 0), reject(2, 1)}, []int{0},
			sim.Verdict{Landed: 1, Rejected: 1, Undecided: 1}},
		{"landed without a decision", []sim.Decision{land(1, 0), reject(2, 1), reject(3, 2)}, []int{0, 2},
			sim.Verdict{Landed: 1, Rejected: 2, DecidedTwice: 1}},
		{"decided to land, and did not", []sim.Decision{land(1, 0), reject(2, 1), reject(3, 2)}, nil,
			sim.Verdict{Landed: 1, Rejected: 2, DecidedTwice: 1}},
	} {
		if got := sim.Check(small(), &sim.Outcome{Decisions: x.decisions, Landings: x.landings}); got != x.want {
			t.Errorf("%s: %+v; want %+v", x.name, got, x.want)
		} else if got.Bad() != (got.RedCommits+got.DecidedTwice+got.Undecided > 0) {
			t.Errorf("%s: bad is %t", x.name, got.Bad())
		}
	}
}

func TestCheckerKnowsTheTreeStep(t *testing.T) {
	for _, x := range []struct {
		name     string
		landings []int
		red      int
	}{
		{"what breaks it alone", []int{0, 1, 2}, 1},
		{"two that break it together", []int{0, 3}, 1},
		{"the same, the later first", []int{3, 0, 1}, 2},
		{"one of the two", []int{3, 1}, 0},
	} {
		w := small()
		w.TreeStepMin = 3
		w.Changes[1].Conflicts, w.Changes[2].BrokenTarget, w.Changes[2].BreaksTree = nil, -1, true
		w.Changes = append(w.Changes, w.Changes[1])
		w.Changes[3].ID, w.Changes[3].TreeFoes = 3, []int{0}
		k, s := sim.NewChecker(w), sim.NewState(w)
		for i, c := range x.landings {
			k.Decide(c, true, float64(i))
			s.Add(c)
		}
		if v := k.Verdict(); v.RedCommits != x.red || s.TreeFails() != (x.red > 0) {
			t.Errorf("%s: %d red commits, the tree step fails: %t; want %d", x.name, v.RedCommits, s.TreeFails(), x.red)
		}
		for _, c := range x.landings {
			s.Remove(c)
		}
		if _, tree := s.With(x.landings, nil); tree != (x.red > 0) || s.TreeFails() {
			t.Errorf("%s: With says that the tree step fails: %t", x.name, tree)
		}
	}
}

func TestPushesFromOutsideBreakWhatIsPending(t *testing.T) {
	w := small()
	w.Pushes = []sim.Push{{AtMin: 10, Targets: []int{0}, Breaks: []sim.Conflict{{With: 0, Target: 0}}}}
	for at, red := range map[float64]int{9: 0, 11: 1} {
		k := sim.NewChecker(w)
		k.Decide(0, true, at)
		if v := k.Verdict(); v.RedCommits != red {
			t.Errorf("landed at %v: %d red commits; want %d", at, v.RedCommits, red)
		}
		s := sim.NewState(w)
		if at < 10 {
			s.Add(0)
		}
		s.Push(&w.Pushes[0])
		s.Add(0)
		if s.Fails(0) != (red > 0) {
			t.Errorf("landed at %v: the state says fails: %t", at, s.Fails(0))
		}
	}
}

// Changes that land as one commit are judged as one: one red commit for any number of
// pairs, and each change still has one decision.
func TestCheckerTakesARollupAsOneCommit(t *testing.T) {
	as := func(commit, c int) sim.Decision { return sim.Decision{Change: c, At: 1, Landed: true, Commit: commit} }
	for name, x := range map[string]struct {
		decisions []sim.Decision
		want      sim.Verdict
	}{
		"red":   {[]sim.Decision{as(1, 0), as(1, 1), as(1, 2)}, sim.Verdict{Landed: 3, RedCommits: 1}},
		"apart": {[]sim.Decision{as(1, 0), as(2, 1), as(3, 2)}, sim.Verdict{Landed: 3, RedCommits: 2}},
		"twice": {[]sim.Decision{as(1, 0), as(1, 0), as(1, 1), as(1, 2)}, sim.Verdict{Landed: 3, RedCommits: 1, DecidedTwice: 1}},
	} {
		if got := sim.Check(small(), &sim.Outcome{Decisions: x.decisions, Landings: []int{0, 1, 2}}); got != x.want {
			t.Errorf("%s: %+v; want %+v", name, got, x.want)
		}
	}
	w := small()
	w.Changes[1].Conflicts, w.Changes[2].BrokenTarget = nil, -1
	if got := sim.Check(w, &sim.Outcome{Decisions: []sim.Decision{as(1, 0), as(1, 1), as(1, 2)}, Landings: []int{0, 1, 2}}); got.Bad() || got.Landed != 3 {
		t.Errorf("sound: %+v", got)
	}
}
