package speculation

import (
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// asking is a world whose forge asks things of pull requests, with one change to
// each of two targets, of which the first was asked to land first.
func asking(t *testing.T) (w *world, first, second *pull) {
	t.Helper()
	w = newWorld(t, law{targets: []string{"a", "b"}}, tree{stepsFile: unit, "a/code": "base", "b/code": "base"}, rulesOf(config.Rules{}))
	w.requires = true
	w.begin(4)
	return w, w.open(w.main, edit{"a/code": "one"}), w.open(w.main, edit{"b/code": "two"})
}

// inspections returns the outstanding questions to the forge about pull requests.
func (w *world) inspections() (out []queue.Action) {
	for _, a := range w.waits {
		if _, ok := a.Task.(queue.Inspect); ok {
			out = append(out, a)
		}
	}
	return out
}

// held carries out everything but questions to the forge, builds included.
func (w *world) held() {
	w.Helper()
	for range 300 {
		i := 0
		for ; i < len(w.waits); i++ {
			if _, ok := w.waits[i].Task.(queue.Inspect); !ok {
				break
			}
		}
		if i < len(w.waits) {
			w.now++
			w.work(i)
		} else if going := w.going(); len(going) > 0 {
			w.tell(w.advance(going[0])...)
		} else {
			return
		}
	}
	w.Fatalf("no end of actions")
}

func (w *world) phases(pulls ...*pull) string {
	var out []string
	for _, p := range pulls {
		ch := w.change(p)
		out = append(out, strings.TrimSpace(string(ch.Phase)+" "+string(ch.Reason.Code)))
	}
	return strings.Join(out, ", ")
}

// stand has both changes proven, in the train of a paused queue, and then lets time
// pass and the queue go on.
func (w *world) stand(after time.Duration, first, second *pull) {
	w.Helper()
	w.step(w.say(first, "boss", "/queue pause now"))
	w.step(w.say(first, "dev", "/land"))
	w.quiesce()
	w.step(w.say(second, "dev", "/land"))
	w.quiesce()
	if got := w.phases(first, second); got != "pending, pending" {
		w.Fatalf("%s", got)
	}
	w.now = w.now.Add(after)
	w.step(w.say(first, "boss", "/queue resume"))
	for _, a := range w.inspections() { // of the command
		w.waits = []queue.Action{}
		w.now++
		w.tell(w.carryOut(a)...)
	}
}

func TestNothingIsAskedAgainAtOnce(t *testing.T) {
	w, first, second := asking(t)
	w.stand(10*time.Second, first, second)
	if n := len(w.inspections()); n != 0 {
		t.Errorf("%d questions", n)
	}
	w.held()
	if got := w.phases(first, second); got != "landed landed, landed landed" {
		t.Error(got)
	}
}

func TestBothAreAskedAboutTogether(t *testing.T) {
	w, first, second := asking(t)
	w.stand(metFor, first, second)
	if n := len(w.inspections()); n != 2 {
		t.Errorf("%d questions", n)
	}
	if w.core.State().Push != nil {
		t.Error("something lands before there is an answer")
	}
	train := len(w.core.State().Train)
	w.settleDown()
	if got := w.phases(first, second); train != 2 || got != "landed landed, landed landed" {
		t.Errorf("a train of %d: %s", train, got)
	}
}

func TestWhoFailsTheLastQuestionIsPassed(t *testing.T) {
	w, first, second := asking(t)
	w.stand(metFor, first, second)
	first.lacks = []queue.Requirement{{Kind: queue.RequireResolved, Names: []string{"1"}}}
	w.quiesce()
	if got := w.phases(first, second); got != "parked requirements, landed landed" {
		t.Fatal(got)
	}
	builds := len(w.runs)
	first.lacks = nil
	w.tell(queue.Stirred{Number: first.number})
	w.quiesce()
	if got := w.phases(first); got != "landed landed" || len(w.runs) != builds {
		t.Errorf("%s after %d further builds", got, len(w.runs)-builds)
	}
}

// An answer that does not come, or a forge that fails, holds up no other change.
func TestSlowAnswersHoldUpNobodyElse(t *testing.T) {
	for _, fails := range []bool{false, true} {
		w, first, second := asking(t)
		w.stand(metFor, first, second)
		var slow queue.Action
		for _, a := range w.inspections() {
			if a.Task.(queue.Inspect).Number == first.number {
				slow = a
				continue
			}
			w.waits = []queue.Action{}
			w.tell(w.carryOut(a)...)
		}
		if fails {
			w.waits = nil
			w.tell(queue.Failed{Action: slow.Key, Error: "502", Transient: true})
		} else {
			w.now = w.now.Add(boardingFor)
			w.tell(queue.Tick{})
		}
		w.held()
		if got := w.phases(first, second); got != "pending, landed landed" {
			t.Errorf("fails %t: %s", fails, got)
		}
		if !fails {
			continue
		}
		for range 2 * maxAttempts {
			for _, a := range w.inspections() {
				w.waits = nil
				w.now = w.now.Add(minute)
				w.tell(queue.Failed{Action: a.Key, Error: "502", Transient: true})
			}
		}
		if got := w.phases(first); got != "parked action-failed" {
			t.Errorf("in the end: %s", got)
		}
		w.now = w.now.Add(parkedRetry)
		w.tell(queue.Tick{})
		w.quiesce()
		if got := w.phases(first); got != "landed landed" {
			t.Errorf("once the forge is back: %s", got)
		}
	}
}

// The arrival of a change that has waited is when it may enter, not when it was asked for.
func TestWhoWaitedComesLast(t *testing.T) {
	w, first, second := asking(t)
	first.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}}
	builds := len(w.runs)
	w.step(w.say(first, "dev", "/land"))
	w.quiesce()
	if got := w.phases(first); got != "parked requirements" || len(w.runs) != builds {
		t.Fatalf("%s, %d builds", got, len(w.runs)-builds)
	}
	w.now = w.now.Add(time.Hour)
	w.step(w.say(second, "boss", "/queue pause now"))
	w.step(w.say(second, "dev", "/land"))
	w.quiesce()
	w.now = w.now.Add(minute)
	first.lacks = nil
	w.tell(queue.Stirred{Head: first.head})
	w.now = w.now.Add(gather)
	w.tell(queue.Tick{})
	w.quiesce()
	if got := w.phases(first, second); got != "pending, pending" || w.change(first).Arrival <= w.change(second).Arrival {
		t.Errorf("%s, arrived at %v and %v", got, w.change(first).Arrival, w.change(second).Arrival)
	}
}

// A state of a version that asked nothing: its changes land as they did.
func TestChangesOfAFormerVersionAreNotAskedAbout(t *testing.T) {
	w, first, second := asking(t)
	w.requires = false
	w.stand(time.Hour, first, second)
	if n := len(w.inspections()); n != 0 {
		t.Errorf("%d questions", n)
	}
	w.held()
	if got := w.phases(first, second); got != "landed landed, landed landed" {
		t.Error(got)
	}
}

// Another pull request may be another server's, without events: a change that waits for it
// is looked at more often than one that waits for events of the forge.
func TestWhoDependsOnOthersLooksMoreOften(t *testing.T) {
	for kind, most := range map[queue.RequirementKind]time.Duration{queue.RequireReviews: maxWait, queue.RequireLanded: maxWaitOther} {
		w, first, _ := asking(t)
		first.lacks = []queue.Requirement{{Kind: kind, Names: []string{"#9", queue.DependsOpen}}}
		w.step(w.say(first, "dev", "/land"))
		w.quiesce()
		w.now = w.now.Add(5 * time.Hour)
		w.tell(queue.Tick{})
		w.quiesce()
		if got := w.change(first).Until.Sub(w.now); w.phases(first) != "parked requirements" || got > most || got < most-time.Minute {
			t.Errorf("%s: %s, looked at again after %v", kind, w.phases(first), got)
		}
	}
}

// An administrator asks for what somebody else has asked for, and it still waits: a restart does not
// forget the approval that this is.
func TestApprovalByAskingIsStored(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.guards, w.requires, w.sanctioned = true, true, map[queue.CommitID]bool{}
	p := w.open(w.main, edit{"a/code": "fine"})
	p.draft = true
	w.step(w.say(p, "dev", "/land"))
	w.quiesce()
	w.step(w.say(p, "boss", "/land"))
	w.quiesce()
	if ch := w.mustBe(p, queue.Parked); !ch.Vouched || !w.store.load(w).s.Changes[ch.ID].Vouched {
		t.Errorf("%+v", ch.Consent)
	}
}
