package queue_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// A commit that turned one target red in one step, and another in another, is not by
// that the culprit of the first target in the other step.
func TestACulpritIsOfItsTrails(t *testing.T) {
	red := []queue.RedSpot{{Spot: 0}}
	trail := func(step, target string, named queue.CommitID) queue.Trail {
		return queue.Trail{Step: step, Targets: []string{target}, Good: -1, Spots: []queue.Spot{{At: 0}}, Reds: red, Named: named}
	}
	h := queue.Hunt{Line: []queue.HuntCommit{{Commit: "c1"}}, Culprits: []queue.Culprit{{HuntCommit: queue.HuntCommit{Commit: "c1"},
		Targets: []string{"a", "b"}, Names: []string{"unit", "vet"}}}}
	h.Trails = []queue.Trail{trail("unit", "a", "c1"), trail("vet", "b", "c1"), trail("vet", "a", "")}
	for i, want := range []bool{true, true, false} {
		if got := h.CulpritOf(&h.Trails[i]); (got != nil) != want {
			t.Errorf("%s on %v: %+v", h.Trails[i].Step, h.Trails[i].Targets, got)
		}
	}
	if h.Settled() {
		t.Error("nothing is left to be found")
	}
}
