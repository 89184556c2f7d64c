package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
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

// Another lane is the default, which comments do not name: the comment of a parked change says so, too.
func TestCommentWhenAnotherLaneIsTheDefault(t *testing.T) {
	w := quiet(t, unit, config.Rules{Lanes: []config.Lane{{Name: "low"}, {Name: "high"}}, DefaultLane: "low"})
	w.requires = true
	p := w.open(w.main, edit{"a/code": "one"})
	p.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}}
	w.step(w.say(p, "dev", "/land"))
	w.quiesce()
	w.mustBe(p, queue.Parked)
	w.rules.DefaultLane = "high"
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "settings"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if q := w.core.s.Pulls[p.number]; q.Shown != digest.Of("facts1", w.core.telling.factsOf(q)) {
		t.Error("it shows what was")
	}
}
