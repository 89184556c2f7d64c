package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Evidence that a new configuration makes decisive fades like any other: a core
// that has lived through the change is woken when it does.
func TestFewerRetriesMakeASetDecisive(t *testing.T) {
	w := quiet(t, shard, config.Rules{Retries: 1}, rule{target: "b", all: []string{"bad"}})
	w.land(edit{"a/code": "slow"})
	p := w.land(edit{"a/code": "fine", "b/code": "bad"})
	w.settleDown()
	for _, r := range w.going() {
		if r.build.Change == w.change(p).ID {
			w.tell(w.advance(r)...)
		}
	}
	failed := w.now
	w.settleDown()
	w.rules.Retries = 0
	w.now = w.now.Add(time.Second)
	w.tell(queue.MainMoved{Branch: "main"})
	w.settleDown()
	for n := 0; w.wake < failed.Add(queue.FailureExpiry); n++ {
		if w.now = w.wake; n > 50 {
			t.Fatal("woken again and again")
		}
		w.tell(queue.Tick{})
		w.settleDown()
	}
	if w.wake != failed.Add(queue.FailureExpiry) {
		t.Errorf("woken at %s, but the failure expires at %s", w.wake.Time(), failed.Add(queue.FailureExpiry).Time())
	}
}

// A failure while main was red is no evidence once main is whole, even if main has
// moved meanwhile and no link on it is left.
func TestFailuresOnARedMainAreForgotten(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.audit.trusting = true
	w.flake = func(keys []queue.Key) bool { return keys[0].Target == "a" }
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "outside"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	p := w.land(edit{"a/code": "fine"})
	w.quiesce()
	if ch := w.mustBe(p, queue.Parked); ch.Reason.Code != queue.ReasonRedMain {
		t.Fatalf("reason = %+v", ch.Reason)
	}
	w.flake = nil
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "outside"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}
