package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
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
	w := quiet(t, unit, config.Rules{})
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
	if ch := w.core.facts.Links.Active(p.number); ch == nil && w.core.s.Pulls[p.number].Last == "" {
		t.Errorf("it never entered: %+v", w.core.s.Pulls[p.number])
	}
}

// A reading of main that was under way when the repository went out of reach does not
// say that it is back: it may be of before. The next one does.
func TestReadingOfBeforeIsNotBack(t *testing.T) {
	for name, lose := range map[string]func(key string) queue.Body{
		"suspended": func(key string) queue.Body { return queue.Failed{Action: key, Error: "lost", Away: true} },
		"renamed":   func(key string) queue.Body { return queue.Renamed{Action: key, From: "main", To: "trunk", Why: "lost"} },
	} {
		t.Run(name, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{})
			p := w.open(w.main, edit{"a/code": "one"})
			w.step(w.say(p, "dev", "/land"))
			w.step(w.event(queue.MainMoved{Branch: "main"}))
			read := func() {
				t.Helper()
				w.step(w.event(w.observe(w.core.mainline.observing, queue.Observe{From: w.core.State().Main.Tip})))
			}
			w.step(w.event(lose(w.inspecting(p).Key)))
			read()
			if away := w.core.State().Main.Away; away != "lost" || w.core.mainline.observing == "" {
				t.Errorf("away %q after a reading of before", away)
			}
			read()
			if away := w.core.State().Main.Away; away != "" {
				t.Errorf("away %q after a reading of now", away)
			}
		})
	}
}

// An event that a repository, or its default branch, was renamed does not mean that it is
// back: main is read at once, and that shows it.
func TestMovedIsNotBack(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "dev", "/land"))
	w.step(w.event(queue.Renamed{Action: w.inspecting(p).Key, From: "main", To: "trunk", Why: "lost"}))
	w.step(w.event(queue.Failed{Action: w.core.mainline.observing, Error: "no main", Away: true}))
	w.step(w.event(queue.Access{Moved: true}))
	if m, a := w.core.State().Main, w.core.State().Actions[w.core.mainline.observing]; m.Away != "no main" || m.Renamed != "trunk" || a == nil || a.NotBefore > w.now {
		t.Errorf("away %q, renamed %q, and main is read %+v", m.Away, m.Renamed, a)
	}
	w.step(w.event(w.observe(w.core.mainline.observing, queue.Observe{From: w.core.State().Main.Tip})))
	if m := w.core.State().Main; m.Away != "" {
		t.Errorf("away %q after a reading", m.Away)
	}
}

// A branch that was renamed takes its queue along, unless that is told to stand still:
// then it says the new name, and looks again whether the branch is back.
func TestBranchIsRenamed(t *testing.T) {
	for name, c := range map[string]struct {
		why                   string
		branch, formerly, now string // Branch, Formerly and Renamed of the state
	}{
		"the queue goes along": {"", "trunk", "main", ""},
		"it stands still":      {"serve trunk", "main", "", "trunk"},
	} {
		t.Run(name, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{})
			p := w.open(w.main, edit{"a/code": "one"})
			w.step(w.say(p, "dev", "/land"))
			a := w.inspecting(p)
			w.step(w.event(queue.Renamed{Action: "nobody's", From: "main", To: "trunk", Why: c.why}))
			if m := w.core.State().Main; m.Branch != "main" || m.Renamed != "" {
				t.Fatalf("an answer to nothing is taken in: %+v", m)
			}
			w.step(w.event(queue.Renamed{Action: a.Key, From: "main", To: "trunk", Why: c.why}))
			m := w.core.State().Main
			if m.Branch != c.branch || m.Formerly != c.formerly || m.Renamed != c.now || m.Away != c.why {
				t.Errorf("%+v", m)
			}
			again := w.inspecting(p)
			if again == nil || (again.NotBefore > 0) != (c.why != "") {
				t.Fatalf("the command is not kept: %+v", again)
			}
			if c.why == "" {
				w.step(w.event(queue.Renamed{Action: again.Key, From: "main", To: "elsewhere"}))
				if m := w.core.State().Main; m.Branch != "trunk" {
					t.Errorf("old news is followed: %+v", m)
				}
				w.step(w.event(queue.Renamed{Action: w.inspecting(p).Key, From: "trunk", To: "main"}))
				if m := w.core.State().Main; m.Branch != "main" || m.Formerly != "" {
					t.Errorf("it is back, and %+v", m)
				}
				return
			}
			w.step(w.event(queue.Access{}))
			if m := w.core.State().Main; m.Away != "" || m.Renamed != "" {
				t.Errorf("it is back, and %+v", m)
			}
		})
	}
}

// A pull request that asks for another branch is looked at twice before it leaves: its
// branch may have been renamed, and the forge does not say so yet. It boards no push
// in between.
func TestOtherBaseIsLookedAtTwice(t *testing.T) {
	for name, back := range map[string]bool{"it was renamed": true, "somebody has chosen it": false} {
		t.Run(name, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{})
			p := w.open(w.main, edit{"a/code": "one"})
			w.step(w.say(p, "boss", "/queue pause now"))
			w.step(w.say(p, "dev", "/land"))
			w.quiesce()
			elsewhere := func(a *queue.Action) {
				t.Helper()
				if a == nil {
					t.Fatal("nobody looks")
				}
				w.step(w.event(queue.Inspected{Action: a.Key, Open: true, Head: p.head, Base: "trunk", ConfigAt: w.core.State().Main.ConfigAt, Permission: "write"}))
			}
			w.tell(queue.Retargeted{Number: p.number})
			elsewhere(w.inspecting(p))
			a := w.inspecting(p)
			if ch := w.change(p); ch.Phase.Final() || a == nil || a.NotBefore != w.now.Add(baseAgain) || a.Error != "" {
				t.Fatalf("%s %+v", ch.Phase, a)
			}
			for range 2 {
				w.waits = nil // of these, the forge answers nothing yet
				w.step(w.say(p, "boss", "/queue resume"))
			}
			if w.core.State().Push != nil {
				t.Error("it lands meanwhile")
			}
			if !back {
				elsewhere(a)
				if ch := w.change(p); ch.Phase != queue.Cancelled || ch.Reason.Code != queue.ReasonRetargeted {
					t.Errorf("%s %+v", ch.Phase, ch.Reason)
				}
				return
			}
			w.step(w.event(queue.Renamed{Action: a.Key, From: "main", To: "trunk"}))
			if ch := w.change(p); ch.Phase.Final() || w.core.State().Main.Branch != "trunk" {
				t.Errorf("%s %+v", ch.Phase, ch.Reason)
			}
		})
	}
}

// A question that is asked anew because something has happened meanwhile has not
// failed: however many comments come while it is under way, one error of the forge
// is one error. And no key is used twice, since an answer may come late.
func TestAskedAnewIsNoFailure(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
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
