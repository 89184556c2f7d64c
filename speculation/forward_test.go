package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The store has lost that a change landed by fast-forward: its head is on main's line,
// without a word of ours, and that is its landing.
func TestFastForwardIsRecognised(t *testing.T) {
	w := newWorld(t, law{targets: []string{"a"}}, tree{stepsFile: unit, "a/code": "base"}, rulesOf(config.Rules{}))
	w.rules.Method = config.MethodFastForward
	w.audit.off = true
	w.begin(2)
	p := w.open(w.main, edit{"a/code": "new"})
	w.step(w.say(p, "boss", "/land"))
	for len(w.waits) > 0 && w.core.facts.Links.Active(p.number) == nil {
		a := w.waits[0]
		w.waits = w.waits[1:]
		w.tell(w.carryOut(a)...)
	}
	ch := w.core.facts.Links.Active(p.number)
	if ch == nil || ch.Method != config.MethodFastForward {
		t.Fatalf("%+v", ch)
	}
	w.main = p.head
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if ch.Phase != queue.Landed || ch.Verdict == nil || ch.Verdict.Commit != p.head {
		t.Errorf("its head is on main, and it is %s: %+v", ch.Phase, ch)
	}
}
