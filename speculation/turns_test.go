package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

// The forge answers about the author of a pause only after it has answered about that of the resume
// that ends it, which does not wait for ever. The pause is over.
func TestPauseIsAnsweredAfterItsResume(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.roles = map[string]string{"boss": "admin"}
	one, two := w.open(w.main, edit{"a/code": "one"}), w.open(w.main, edit{"b/code": "one"})
	w.settleDown()
	w.step(w.say(one, "boss", "/queue pause it burns"))
	first := w.mustTake("inspect")
	w.now = w.now.Add(time.Second)
	w.step(w.say(two, "boss", "/queue resume"))
	w.settleDown()
	w.now = w.now.Add(turnsAfter)
	w.step(w.say(two, "boss", "well"))
	w.settleDown()
	w.tell(first...)
	w.waitOut()
	if p := w.core.s.Main.Paused; p != nil {
		t.Errorf("it is paused: %+v", p)
	}
}

// The last word stands, whichever is found first: a resume that was given before a pause does not end it.
func TestResumeIsFoundAfterALaterPause(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.roles = map[string]string{"boss": "admin"}
	one, two := w.open(w.main, edit{"a/code": "one"}), w.open(w.main, edit{"b/code": "one"})
	w.settleDown()
	w.step(w.say(one, "boss", "/queue pause it burns"))
	w.settleDown()
	w.step(w.foundLater(two, "boss", "/queue resume", time.Hour))
	w.waitOut()
	if w.core.s.Main.Paused == nil {
		t.Errorf("it is not paused")
	}
}

// A pause that was given before a resume is found while the forge is asked about the resume. The pause
// is over.
func TestPauseIsFoundAfterItsResume(t *testing.T) {
	for _, answered := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		w.roles = map[string]string{"boss": "admin"}
		one, two := w.open(w.main, edit{"a/code": "one"}), w.open(w.main, edit{"b/code": "one"})
		w.settleDown()
		w.step(w.foundLater(two, "boss", "/queue resume", time.Hour))
		if answered {
			w.settleDown()
		}
		w.step(w.foundLater(one, "boss", "/queue pause it burns", 2*time.Hour))
		w.settleDown()
		w.waitOut()
		if p := w.core.s.Main.Paused; p != nil {
			t.Errorf("answered %v: it is paused: %+v", answered, p)
		}
	}
}
