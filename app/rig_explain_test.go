package app_test

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// An explanation says of a branch of a plain repository, too, that it would be rejected
// because it does not merge, and that what is on main already would land nothing: what
// /land says of each right after.
func TestExplainOfAPlainRepository(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "true\n"})
	r.branch("first", "main", map[string]string{"a": "first\n"})
	r.branch("other", "main", map[string]string{"a": "other\n"})
	if ch := r.verdict(r.land("first")); ch.Phase != queue.Landed {
		t.Fatalf("%s: %+v", ch.Phase, ch.Reason)
	}
	explain := func(branch string) queue.Would {
		n := must(r.forge.Open(t.Context(), branch, "ann"))
		r.say(n, "/land explain")
		return *r.until(n, "explained", func(v queue.View) bool { return v.Change.Would != nil && v.Change.Phase == queue.Tried }).Change.Would
	}
	if w := explain("other"); !slices.Equal(w.Clashes, []string{"a"}) {
		t.Errorf("of what does not merge it is told: %+v", w)
	}
	if w := explain("first"); !w.Already {
		t.Errorf("of what has landed it is told: %+v", w)
	}
	n := r.land("other")
	r.until(n, "rejected", func(v queue.View) bool {
		return v.Change.Phase == queue.Rejected && v.Change.Reason.Code == queue.ReasonMergeConflict
	})
}
