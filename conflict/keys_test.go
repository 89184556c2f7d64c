package conflict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The gate stops the third of three changes for its target at a hash that no
// build of a pair has seen. See TestEdgeOfAThirdChange for the planner.
func TestKeysOfThreeChanges(t *testing.T) {
	main := state{"T": {0, nil}, "U": {0, nil}}
	a := state{"T": {0, []string{"U"}}, "U": {0, nil}}
	ab := state{"T": {0, []string{"U"}}, "U": {1, nil}}
	ac := state{"T": {2, []string{"U"}}, "U": {0, nil}}
	abc := state{"T": {2, []string{"U"}}, "U": {1, nil}}
	passed := map[queue.KeyID]bool{}
	for _, s := range []state{main, a, ab, ac} {
		for _, k := range conflict.Keys(nil, snapshotOf(t, s), nil, unit) {
			passed[k.ID()] = true
		}
	}
	var missing []string
	for _, k := range conflict.Keys(snapshotOf(t, ab), snapshotOf(t, abc), unit, unit) {
		if !passed[k.ID()] {
			missing = append(missing, k.Target)
		}
	}
	if d := cmp.Diff([]string{"T"}, missing); d != "" {
		t.Error(d)
	}
}

func TestGone(t *testing.T) {
	before := snapshotOf(t, state{"S": {0, nil}, "T": {0, nil}, "U": {0, nil}})
	after := snapshotOf(t, state{"A": {0, nil}, "T": {1, nil}})
	if d := cmp.Diff([]string{"S", "U"}, conflict.Gone(before, after)); d != "" {
		t.Error(d)
	}
	if got := conflict.Gone(after, after); got != nil {
		t.Errorf("gone from itself: %v", got)
	}
}

func TestKeysFollowTheSteps(t *testing.T) {
	s := snapshotOf(t, state{"T": {0, nil}})
	race := []config.Step{{Name: "unit", Run: "test -race {targets}", Scope: config.ScopeTargets}}
	whole := []config.Step{{Name: "lint", Scope: config.ScopeRepository}}
	for name, tt := range map[string]struct {
		before, after []config.Step
		want          int
	}{
		"the same":     {unit, unit, 0},
		"an edit":      {unit, race, 1},
		"one more":     {unit, append(race, unit...), 1},
		"one less":     {append(race, unit...), unit, 0},
		"of the tree":  {unit, whole, 1},
		"no new tree":  {whole, whole, 0},
		"nothing asks": {unit, nil, 0},
	} {
		if got := conflict.Keys(s, s, tt.before, tt.after); len(got) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := conflict.Keys(s, snapshotOf(t, state{"T": {0, nil}, "new": {}}), whole, whole); len(got) != 1 || got[0].Target != config.TargetTree {
		t.Errorf("a new tree asks for %v", got)
	}
}
