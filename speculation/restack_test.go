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
