package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// An administrator's /land approves one head. If the forge makes the commits anew, and somebody
// without that right asks to land them before the queue has heard of it, the new head is not
// approved.
func TestNobodyVouchesForARestackedHead(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.guards, w.requires, w.sanctioned = true, true, map[queue.CommitID]bool{}
	w.permissions.Protected = []string{"p/**"}
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "more"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	low := w.open(w.main, edit{"b/code": "fine"})
	low.native = low.number
	w.step(w.say(low, "boss", "/queue pause"))
	w.quiesce()
	high := w.openOn(low, edit{guarded: "fine", "a/code": "fine"})
	high.native = low.number
	w.step(w.say(high, "boss", "/land"))
	w.quiesce()
	if ch := w.change(high); !ch.Vouched || ch.Phase != queue.Pending {
		t.Fatalf("%+v", ch)
	}
	below := w.put(commit{parent: low.head, tree: w.commits[low.head].tree.with(edit{"b/code": "finer"})}).id
	w.movesTo(high, w.put(commit{parent: below, tree: w.commits[below].tree.with(edit{guarded: "fine", "a/code": "fine"})}).id)
	w.step(w.say(high, "dev", "/land"))
	w.quiesce()
	if ch := w.change(high); ch.Head != high.head || ch.Vouched || ch.Phase != queue.Parked || ch.Reason.Code != queue.ReasonRequirements {
		t.Errorf("%s is %s, vouched %v, %+v", ch.ID, ch.Phase, ch.Vouched, ch.Reason)
	}
}

// The forge makes the commits anew of a change that a rule has entered: the rule's label counts
// as before.
func TestAutoLabelTakenOffAfterARestack(t *testing.T) {
	w := quiet(t, unit, autoRules("high"))
	w.step(w.say(w.open(w.main, edit{}), "boss", "/queue pause"))
	w.quiesce()
	p := w.open(w.main, edit{"a/code": "one"})
	p.native, p.labels = p.number, []string{"ready"}
	w.tell(w.offer(p))
	w.quiesce()
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
	w.restack(p, nil, edit{"a/code": "one"})
	w.tell(queue.HeadMoved{Number: p.number, Head: p.head}, w.offer(p))
	w.quiesce()
	if ch := w.change(p); ch.Head != p.head || ch.Phase.Final() {
		t.Fatalf("%+v", ch)
	}
	p.labels = nil
	w.tell(queue.Labeled{Number: p.number, Label: "ready", Actor: "dev"}, w.offer(p))
	w.quiesce()
	if ch := w.mustBe(p, queue.Cancelled); ch.Reason.Code != queue.ReasonUnruled {
		t.Errorf("%+v", ch.Reason)
	}
}

// A member of the forge's own stack waits until the forge has it ask for main. Somebody dissolves
// the stack, of which no webhook tells, and says /land retry: the change lands, and does not wait
// for the forge for ever.
func TestRetryAfterTheStackWasDissolved(t *testing.T) {
	for _, words := range []string{"/land", "/land retry", "/land now it burns"} {
		w := quiet(t, unit, config.Rules{})
		w.requires = true
		low := w.open(w.main, edit{"a/code": "one"})
		low.native = low.number
		high := w.openOn(low, edit{"b/code": "two"})
		high.native = low.number
		w.step(w.say(low, "dev", "/land"), w.say(high, "dev", "/land"))
		w.quiesce()
		w.mustBe(low, queue.Landed)
		low.open, low.merged = false, true
		if ch := w.mustBe(high, queue.Parked); !waitsOutside(ch) {
			t.Fatalf("%+v", ch.Reason)
		}
		low.native, high.native = 0, 0
		w.step(w.say(high, "boss", words))
		w.waitOut()
		if ch := w.change(high); ch.Phase != queue.Landed {
			t.Errorf("%s: it is %s, %+v", words, ch.Phase, w.waitsOf(ch.ID))
		}
	}
}
