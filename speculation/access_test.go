package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// inspecting returns the action that asks the forge about a pull request.
func (w *world) inspecting(p *pull) *queue.Action {
	for _, a := range w.core.State().Actions {
		if t, ok := a.Task.(queue.Inspect); ok && t.Number == p.number {
			return a
		}
	}
	return nil
}

// While the repository is out of reach no attempt counts: what waits is kept,
// however long that is, and is tried at once when access is given back.
func TestOutOfReachIsNoFailure(t *testing.T) {
	w := quiet(t, unit, queue.Rules{})
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "dev", "/land"))
	for range 3 * maxAttempts {
		a := w.inspecting(p)
		if a == nil || a.Attempt != 1 {
			t.Fatalf("the command is not kept: %+v", a)
		}
		w.step(w.event(queue.Failed{Action: a.Key, Error: "suspended", Away: true}))
	}
	if a := w.inspecting(p); a.NotBefore == 0 || w.core.State().Main.Away != "suspended" {
		t.Errorf("%+v, away %q", a, w.core.State().Main.Away)
	}
	w.step(w.event(queue.Access{}))
	if a := w.inspecting(p); a.NotBefore != 0 || w.core.State().Main.Away != "" {
		t.Errorf("%+v, away %q", a, w.core.State().Main.Away)
	}
	w.waits = nil
	for _, a := range w.core.State().Actions {
		w.waits = append(w.waits, *a)
	}
	w.settleDown()
	if ch := w.core.active(p.number); ch == nil && w.core.s.Pulls[p.number].Last == "" {
		t.Errorf("it never entered: %+v", w.core.s.Pulls[p.number])
	}
}
