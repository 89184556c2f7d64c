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

// A question that is asked anew because something has happened meanwhile has not
// failed: however many comments come while it is under way, one error of the forge
// is one error. And no key is used twice, since an answer may come late.
func TestAskedAnewIsNoFailure(t *testing.T) {
	w := quiet(t, unit, queue.Rules{})
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "dev", "/land"))
	keys := map[string]bool{}
	asked := func() *queue.Action {
		t.Helper()
		a := w.inspecting(p)
		if a == nil {
			t.Fatalf("the command is not kept: %+v", w.core.s.Pulls[p.number])
		}
		if keys[a.Key] {
			t.Fatalf("the key %s is used again", a.Key)
		}
		keys[a.Key] = true
		return a
	}
	asked()
	for failed := range maxAttempts - 1 {
		for range 2 * maxAttempts {
			w.step(w.event(queue.Stirred{Number: p.number}))
			if a := asked(); a.Attempt != failed+1 {
				t.Fatalf("after %d failures it is attempt %d", failed, a.Attempt)
			}
		}
		w.step(w.event(queue.Failed{Action: w.inspecting(p).Key, Error: "502", Transient: true}))
		waits := asked()
		w.step(w.event(queue.Stirred{Number: p.number}))
		if a := w.inspecting(p); a.Key != waits.Key {
			t.Errorf("what waits for the forge to recover is asked at once: %+v", a)
		}
		w.now = w.now.Add(maxBackoff)
	}
	w.step(w.event(queue.Failed{Action: w.inspecting(p).Key, Error: "suspended", Away: true}))
	asked()
	w.step(w.event(queue.Access{}))
	a := asked()
	w.step(w.event(queue.Failed{Action: a.Key, Error: "502", Transient: true}))
	if a, why := w.inspecting(p), w.core.s.Pulls[p.number].Notice; a != nil || why.Code != queue.ReasonForge {
		t.Errorf("after %d failures: %+v, %+v", maxAttempts, a, why)
	}
}
