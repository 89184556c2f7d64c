package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// foundLater is what was said on a pull request some time ago and is heard only now.
func (w *world) foundLater(p *pull, user, text string, ago time.Duration) queue.Event {
	said := w.say(p, user, text)
	b := said.Body.(queue.Commented)
	b.Made, b.Late = w.now.Add(-ago), true
	said.Body = b
	return said
}

// A command that is found later on a member of the forge's own stack counts for no member below
// that may have been pushed to since.
func TestHeardLateOfAStack(t *testing.T) {
	for _, changed := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		low := w.open(w.main, edit{"a/code": "one"})
		low.native = low.number
		high := w.openOn(low, edit{"b/code": "two"})
		high.native = low.number
		if changed {
			low.changed = w.now.Add(-minute)
		}
		w.step(w.foundLater(high, "dev", "/land", time.Hour))
		w.settleDown()
		if ch := w.change(low); (ch == nil) != changed {
			t.Errorf("changed %v, and the member below: %+v", changed, ch)
		}
	}
}

// An administrator asks to land a head, which is not heard. Somebody pushes another one, and asks
// for it. When the command is found, it is no approval of the head that the administrator has
// perhaps not seen.
func TestHeardLateVouchesForNothing(t *testing.T) {
	for _, how := range []string{"/land", "/land retry", "/land now it burns", "/land delegate @eve"} {
		w := quiet(t, unit, config.Rules{})
		w.guards, w.sanctioned, w.requires = true, map[queue.CommitID]bool{}, true
		w.permissions.Protected = []string{"p/**"}
		w.roles = map[string]string{"eve": "read"}
		w.tell(queue.MainMoved{Branch: "main"})
		w.quiesce()
		p := w.open(w.main, edit{"a/code": "one", guarded: "one"})
		w.headIsNow(p, edit{guarded: "two"})
		w.step(w.say(p, "dev", "/land"))
		w.settleDown()
		if ch := w.mustBe(p, queue.Parked); !waitsOutside(ch) {
			t.Fatalf("%+v", ch.Reason)
		}
		p.changed = w.now.Add(-minute)
		w.step(w.foundLater(p, "boss", how, time.Hour))
		w.settleDown()
		if ch := w.change(p); ch.Vouched || ch.Approved || ch.Phase != queue.Parked {
			t.Errorf("%s: it is %s, vouched for %v, approved %v", how, ch.Phase, ch.Vouched, ch.Approved)
		}
		if n := len(w.core.s.Pulls[p.number].Trusted); n > 0 {
			t.Errorf("%s: it is delegated", how)
		}
	}
}

// A command is found later while its change is pushed, and waits for the end of the push. The
// change lands: nobody is told anything of the command.
func TestHeardLateDuringLanding(t *testing.T) {
	w := quiet(t, unit, config.Rules{Landing: config.Landing{Methods: []config.Method{config.MethodMerge, config.MethodRebase}}})
	p := w.land(edit{"a/code": "one"})
	w.mustReachPush()
	pushed := w.mustTake("land")
	p.changed = w.now.Add(-minute)
	w.step(w.foundLater(p, "dev", "/land method=rebase", time.Hour))
	w.settleDown()
	w.tell(pushed...)
	w.waitOut()
	w.mustBe(p, queue.Landed)
	if got := w.core.s.Pulls[p.number].Notice.Code; got != "" {
		t.Errorf("said %q", got)
	}
}

// A command is found later on a pull request that was closed or merged meanwhile: its author hears
// that, and is not told to give the command again.
func TestHeardLateOfWhatIsClosed(t *testing.T) {
	for _, merged := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "one"})
		p.open, p.merged, p.changed = false, merged, w.now.Add(-minute)
		w.step(w.foundLater(p, "dev", "/land", time.Hour))
		w.settleDown()
		if got := w.core.s.Pulls[p.number].Notice; got.Code != queue.ReasonNotOpen || len(got.Names) == 0 == merged {
			t.Errorf("merged %v: said %+v", merged, got)
		}
	}
}

// A box of our comment was ticked while the server was away, and the forge delivers that an hour
// later. Somebody has pushed since, and our comment shows the same as before: the head that nobody has
// asked for does not land.
func TestBoxHeardLate(t *testing.T) {
	for _, late := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "one"})
		p.said = queue.Said{Marker: "<!-- submitqueue:acme/shop@main -->", Text: "a"}
		w.step(w.say(p, "dev", "/land help"))
		w.settleDown()
		ticked := w.now
		if late {
			w.headMoves(p, edit{"a/code": "two"}) // and nobody tells the queue
			p.changed = w.now.Add(10 * minute)
			w.now = w.now.Add(time.Hour)
		}
		w.tell(queue.Edited{Number: p.number, Author: "boss", Before: p.said, Command: "/land", Made: ticked})
		w.waitOut()
		if ch := w.change(p); (ch != nil) == late {
			t.Errorf("late %v: %+v", late, ch)
		} else if got := w.core.s.Pulls[p.number].Notice.Code; late && got != queue.ReasonHeardLate {
			t.Errorf("said %q", got)
		}
	}
}
