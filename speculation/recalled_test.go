package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Somebody asks to land a change, and that is not heard; then to cancel it, and that is. The first
// command is found later: it was taken back.
func TestLandIsFoundAfterItsCancel(t *testing.T) {
	for _, queued := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "one"})
		if queued { // by another person, who was heard
			w.step(w.say(p, "dev", "/land"))
			w.step(w.say(p, "boss", "/queue pause wait"))
			w.settleDown()
		}
		w.step(w.say(p, "dev", "/land cancel"))
		w.settleDown()
		w.step(w.foundLater(p, "dev", "/land", time.Hour))
		w.step(w.say(p, "boss", "/queue resume"))
		w.waitOut()
		if ch := w.change(p); ch != nil && ch.Phase != queue.Cancelled {
			t.Errorf("queued %v: it is %s", queued, ch.Phase)
		}
	}
}

// A change is parked, and its pull request is closed, made a draft or given another base, of which
// the queue does not hear. Somebody says something on it: the forge's answer shows that it is not to
// land any more.
func TestCommandOnWhatIsNotToLandAnyMore(t *testing.T) {
	for _, requires := range []bool{false, true} {
		for _, words := range []string{"/land retry", "/land", "/land status"} {
			for name, how := range map[string]func(*pull){"closed": func(p *pull) { p.open = false }, "other base": func(p *pull) { p.base = "release" }, "draft": func(p *pull) { p.draft = true }} {
				w := quiet(t, unit, config.Rules{InfraRetries: 1})
				w.infra, w.requires = func(*queue.Build) (bool, bool) { return true, false }, requires
				p := w.land(edit{"a/code": "one"})
				w.quiesce()
				if ch := w.mustBe(p, queue.Parked); ch.Reason.Code != queue.ReasonInfra {
					t.Fatalf("%+v", ch.Reason)
				}
				w.infra = nil
				how(p)
				w.step(w.say(p, "dev", words))
				w.quiesce()
				w.pass(11 * time.Minute)
				w.waitOut()
				if ch := w.change(p); ch.Phase != queue.Cancelled && !(p.draft && waitsOutside(ch)) {
					t.Errorf("%s: %s, requirements %t: it is %s", name, words, requires, ch.Phase)
				}
			}
		}
	}
}

// A pull request is made a draft, or loses an approval, of which the queue does not hear. Somebody
// says something on it, right before its change could land: the forge's answer counts.
func TestCommandOnWhatLacksSomething(t *testing.T) {
	for name, how := range map[string]func(*pull){"draft": func(p *pull) { p.draft = true },
		"no approval": func(p *pull) { p.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}} }} {
		for _, words := range []string{"/land status", "/land try", "/land explain", "/queue blame"} {
			w := quiet(t, unit, config.Rules{})
			w.requires = true
			p := w.land(edit{"a/code": "one"})
			w.settleDown()
			how(p)
			w.step(w.say(p, "dev", words))
			w.quiesce()
			if ch := w.change(p); ch.Phase == queue.Landed {
				t.Errorf("%s: %s: it has landed", name, words)
			}
		}
	}
}

// A command waits for the end of a push, and somebody takes the change back meanwhile. The push is lost,
// and the forge answers about the later word first: that is the last one.
func TestCommandThatWaitsIsTakenBack(t *testing.T) {
	for _, words := range []string{"/land method=squash", "/land now it burns"} {
		w := quiet(t, unit, config.Rules{Landing: config.Landing{Methods: []config.Method{config.MethodMerge, config.MethodSquash}}})
		answers := func(kind string) []queue.Body {
			i := slices.IndexFunc(w.waits, func(a queue.Action) bool { k, _ := a.Task.Name(); return k == kind })
			a := w.waits[i]
			w.waits = slices.Delete(slices.Clone(w.waits), i, i+1)
			return w.carryOut(a)
		}
		p := w.land(edit{"a/code": "one"})
		w.mustReachPush()
		w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
		w.step(w.say(p, "boss", words))
		w.tell(answers("inspect")...)
		w.step(w.say(p, "dev", "/land cancel"))
		cancel := answers("inspect")
		for kind := "land"; w.core.s.Push != nil; kind = "observe" {
			w.tell(answers(kind)...)
		}
		w.tell(cancel...)
		w.waitOut()
		if ch := w.change(p); ch.Phase != queue.Cancelled {
			t.Errorf("%s: it is %s", words, ch.Phase)
		}
	}
}
