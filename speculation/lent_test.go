package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A build above a quota that binds only while others wait may have a free slot, and is held
// to the same conditions as any other: no code of a change runs that changes a protected path
// which no administrator has approved. Here the path becomes protected while a push is under
// way, for which links by the former globs are kept.
func TestLentSlotRunsNothingUnapproved(t *testing.T) {
	for _, quotas := range [][]config.Quota{nil, {{Name: "bots", Authors: []string{"bot"}, Builds: 1, When: config.WhenContended}}} {
		w := quiet(t, unit, config.Rules{Quotas: quotas, InfraRetries: 5})
		p := w.open(w.main, edit{"c/code": "fine"})
		first, second := w.open(w.main, edit{"a/code": "fine"}), w.open(w.main, edit{"b/code": "fine", guarded: "theirs"})
		first.author, second.author = "bot", "bot"
		w.step(w.say(first, "dev", "/land"), w.say(second, "dev", "/land"), w.say(p, "dev", "/land"))
		w.settleDown()
		runOf := func(p *pull) *run {
			for _, r := range w.going() {
				if r.build.Change == w.change(p).ID {
					return r
				}
			}
			return nil
		}
		if runOf(first) == nil || runOf(second) == nil || runOf(p) == nil {
			t.Fatalf("not all are built: %v", w.going())
		}
		w.tell(w.advance(runOf(p))...)
		for !w.pushesMain() {
			w.work(0)
		}
		pushed := w.mustTake("land")
		breaksOff := func() {
			r := runOf(second)
			r.over = true
			w.tell(queue.BuildDone{Build: r.build.ID, Outcome: queue.JobInfra, Detail: "the machine is gone"})
			w.settleDown()
		}
		breaksOff() // so that it is built again, on what is being pushed

		w.guards, w.sanctioned = true, map[queue.CommitID]bool{}
		w.permissions.Protected = []string{"p/**"}
		w.tell(queue.MainMoved{Branch: "main"})
		w.tell(w.mustTake("observe")...)

		breaksOff()
		if again := runOf(second); again != nil {
			t.Errorf("with quotas %v: build %s runs a change of %s, which nobody has approved", quotas, again.build.ID, guarded)
		}
		w.tell(pushed...)
		w.waitOut()
		w.mustBe(p, queue.Landed)
		w.mustBe(first, queue.Landed)
		w.mustBe(second, queue.Parked)
	}
}
