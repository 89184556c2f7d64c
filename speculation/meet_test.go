package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// Plain files that no target has: "x/..." is text, of which two edits do not merge;
// others merge by token.
const doc, list = "x/intro", "v/list"

func textual(t *testing.T) *world {
	w := quiet(t, unit, config.Rules{})
	w.textual = true
	return w
}

// Two change one target and the same words of a file as well: that they will not
// merge is known at once, before anything is built of it, and said first.
func TestClashIsSaidFirst(t *testing.T) {
	w := textual(t)
	w.step(w.say(w.open(w.main, edit{"c/code": "fine"}), "boss", "/queue pause holidays"))
	other := w.land(edit{"a/code": "fine"})
	first := w.land(edit{"a/code": "fine", doc: "mine"})
	second := w.land(edit{"a/code": "fine", doc: "yours"})
	w.settleDown()
	v, _ := w.core.View(w.mustBe(second, queue.Pending).ID)
	if len(v.Conflicts) != 2 || v.Conflicts[0].With != w.change(first).ID || v.Conflicts[0].Kind != queue.ConflictClash ||
		!slices.Contains(v.Conflicts[0].Witnesses, doc) || v.Conflicts[1].Kind != queue.ConflictTarget {
		t.Errorf("the second's conflicts: %+v", v.Conflicts)
	}
	if v, _ = w.core.View(w.change(first).ID); v.Conflicts[0].With != w.change(second).ID || v.Conflicts[0].Kind != queue.ConflictClash {
		t.Errorf("the first's conflicts: %+v", v.Conflicts)
	}
	if v, _ = w.core.View(w.change(other).ID); slices.ContainsFunc(v.Conflicts, func(k queue.Conflict) bool { return k.Kind == queue.ConflictClash }) {
		t.Errorf("the one that merges with both has conflicts %+v", v.Conflicts)
	}
}

// Two edit the same words of a file that no target has, and each another target:
// the one that came first lands first, however much quicker the other would be.
func TestTextualConflictKeepsTheOrder(t *testing.T) {
	w := textual(t)
	first := w.land(edit{"a/code": "fine", doc: "mine"})
	w.settleDown()
	second := w.land(edit{doc: "yours"})
	w.settleDown()
	ch := w.mustBe(second, queue.Pending)
	v, _ := w.core.View(ch.ID)
	if len(v.Conflicts) != 1 || v.Conflicts[0].Kind != queue.ConflictClash || !slices.Equal(v.Conflicts[0].Witnesses, []string{doc}) ||
		len(v.Waits) == 0 || v.Waits[0].Code != queue.ReasonWaitsAhead {
		t.Errorf("conflicts %+v, waits %+v", v.Conflicts, v.Waits)
	}
	w.waitOut()
	w.mustBe(first, queue.Landed)
	ch = w.mustBe(second, queue.Rejected)
	if ch.Reason.Code != queue.ReasonMergeConflict || !slices.Equal(ch.Verdict.Conflicts, []string{doc}) ||
		!slices.Equal(ch.Verdict.Against, []queue.ChangeID{w.change(first).ID}) {
		t.Errorf("%+v, %+v", ch.Reason, ch.Verdict)
	}
	w.audit.final()
}

// Nor does a lane into which the later one is moved take it past the first: it comes behind the
// first of that lane, of which it is known by then that the two do not merge.
func TestTextualConflictInANewLane(t *testing.T) {
	w := quiet(t, unit, config.Rules{Lanes: []config.Lane{{Name: "high", Least: "write"}, {Name: "normal"}}, DefaultLane: "normal"})
	w.textual = true
	w.step(w.say(w.open(w.main, edit{"c/code": "fine"}), "boss", "/queue pause holidays"))
	first := w.open(w.main, edit{"a/code": "fine", "b/code": "fine", "c/code": "fine", doc: "mine"})
	w.step(w.say(first, "boss", "/land priority=high"))
	w.settleDown()
	second := w.land(edit{doc: "yours"})
	w.settleDown()
	w.step(w.say(second, "boss", "/land priority=high"))
	w.settleDown()
	if a, b := w.mustBe(first, queue.Pending), w.mustBe(second, queue.Pending); a.Lane != "high" || b.Lane != "high" || b.Virtual < a.Virtual {
		t.Errorf("the first stands at %d in lane %s, the second at %d in lane %s", a.Virtual, a.Lane, b.Virtual, b.Lane)
	}
}

// The one ahead fails: the other lands, without a further build.
func TestTextualConflictWithOneThatFails(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}})
	w.textual = true
	first := w.land(edit{"a/code": "bad", doc: "mine"})
	second := w.land(edit{doc: "yours"})
	w.waitOut()
	w.mustBe(first, queue.Rejected)
	w.mustBe(second, queue.Landed)
	w.mustBuilds(second, 0)
	w.audit.final()
}

// A change that shares a path and merges all the same waits for no other.
func TestSharedPathThatMerges(t *testing.T) {
	w := textual(t)
	first := w.land(edit{"a/code": "fine", list: "one"})
	w.settleDown()
	second := w.land(edit{list: "two"})
	w.settleDown()
	w.mustBe(second, queue.Landed)
	w.mustBe(first, queue.Pending)
	w.waitOut()
	w.mustBe(first, queue.Landed)
	w.audit.final()
}

// Nobody can say whether they merge: they count as in conflict, and that is all.
func TestMeetingThatCannotBeHeld(t *testing.T) {
	w := textual(t)
	asked := 0
	w.fails = func(a *queue.Action) (bool, bool) { return false, false }
	first := w.land(edit{"a/code": "fine", list: "one"})
	w.settleDown()
	second := w.land(edit{list: "two"})
	for len(w.waits) > 0 {
		if _, ok := w.waits[0].Task.(queue.Meet); ok {
			a := w.waits[0]
			w.waits = w.waits[1:]
			asked++
			w.tell(queue.Failed{Action: a.Key, Error: "no such object"})
			continue
		}
		w.work(0)
	}
	w.mustBe(second, queue.Pending)
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	w.waitOut()
	w.mustBe(first, queue.Landed)
	w.mustBe(second, queue.Landed)
	w.audit.final()
}

// One path that all touch: each asks about so many pairs and no more.
func TestMeetingsAreBounded(t *testing.T) {
	storetest.OneOf(t, 2)
	w := textual(t)
	w.step(w.say(w.open(w.main, edit{"c/code": "fine"}), "boss", "/queue pause holidays"))
	for range maxMeetings + 10 {
		w.land(edit{list: "n" + time.Duration(len(w.pulls)).String()})
		w.settleDown()
	}
	most := 0
	for id, f := range w.core.State().Footprints {
		most = max(most, len(f.Merges)+len(f.Clashes))
		if len(f.Clashes) > 0 {
			t.Errorf("%s clashes with %v", id, f.Clashes)
		}
	}
	if most != maxMeetings {
		t.Errorf("one has asked about %d", most)
	}
	w.step(w.say(w.pulls[1], "boss", "/queue resume"))
	w.waitOut()
	w.audit.final()
}
