package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// What builds have shown of a change's targets stays with the targets when the
// change is analyzed again.
func TestBeliefsFollowTheTargets(t *testing.T) {
	w := quiet(t, unit, queue.Rules{})
	w.step(w.say(w.open(w.main, edit{"c/code": "other"}), "boss", "/queue pause holidays"))
	w.footless = func(_ queue.ChangeID, f queue.Footprint) queue.Footprint {
		f.Affected = []string{"b", "c"}
		return f
	}
	p := w.land(edit{"b/code": "fine"})
	w.quiesce()
	ch := w.mustBe(p, queue.Pending)
	was := w.core.State().Beliefs[ch.ID]
	if !hasBit(was.Tested, 0) || hasBit(was.Tested, 1) {
		t.Fatalf("of b and c, b has been tested, and they are %b", was.Tested)
	}
	w.tell(queue.Analyzed{Change: ch.ID, Footprint: queue.Footprint{Main: w.main, Affected: []string{"a", "b", "c"}}})
	now := w.core.State().Beliefs[ch.ID]
	if hasBit(now.Tested, 0) || !hasBit(now.Tested, 1) || hasBit(now.Tested, 2) {
		t.Errorf("of a, b and c, b has been tested, and they are %b", now.Tested)
	}
}
