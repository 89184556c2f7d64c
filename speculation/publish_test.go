package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// TestWhatAMergeStandsOnIsPublished: a change waits for an approval because of what it
// would be merged on top of, which its pull request is told; when that is another
// change by now, the pull request is told anew.
func TestWhatAMergeStandsOnIsPublished(t *testing.T) {
	facts := func(q queue.Requirement) string {
		var f factWriter
		f.reason(queue.Reason{Code: queue.ReasonRequirements, Unmet: []queue.Requirement{q}})
		return f.String()
	}
	q := queue.Requirement{Kind: queue.RequireUpdate, Names: []string{"p/ci"}, Merged: true, On: []queue.ChangeID{"2.b"}}
	was := facts(q)
	q.On = []queue.ChangeID{"3.c"}
	if facts(q) == was {
		t.Error("what is published is the same on top of another change")
	}
	q.On, q.Merged = nil, false
	if facts(q) == facts(queue.Requirement{Kind: q.Kind, Names: q.Names, Merged: true}) {
		t.Error("what is published is the same for what the change does itself and for what its merge does")
	}
}
