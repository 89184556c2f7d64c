package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A person who asks what would become of a change that was rejected as it is hears of that, and
// not only that it could enter. After a push nothing is said of it.
func TestExplainNamesAnEarlierRejection(t *testing.T) {
	l, files := plain("a", "b")
	l.rules = []rule{{target: "a", all: []string{"bad"}}}
	files[stepsFile] = unit
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.begin(8)
	explained := func(p *pull) []string {
		w.step(w.say(p, "dev", "/land explain"))
		w.quiesce()
		ch := w.core.State().Changes[w.core.State().Pulls[p.number].Tried]
		if ch == nil || ch.Would == nil {
			t.Fatalf("%+v", ch)
		}
		return ch.Would.Failed
	}
	p := w.land(edit{"a/code": "bad"})
	w.quiesce()
	ch := w.change(p)
	if got := explained(p); ch.Phase != queue.Rejected || len(got) == 0 || !slices.Equal(got, ch.Reason.Names) {
		t.Errorf("%s for %v; explained with %v", ch.Phase, ch.Reason.Names, got)
	}
	w.step(w.headMoves(p, edit{"a/code": "-bad one"}))
	if got := explained(p); len(got) > 0 {
		t.Errorf("after a push: %v", got)
	}
}
