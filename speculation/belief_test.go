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

// A build that had another change below it, and ends when that has landed,
// acquits the pair, whichever of the two has the greater id.
func TestPairWithWhatHasLandedIsAcquitted(t *testing.T) {
	for _, swap := range []bool{false, true} {
		w := quiet(t, unit, queue.Rules{})
		w.core.model = wary{}
		p, q := w.open(w.main, edit{"a/code": "one"}), w.open(w.main, edit{"a/code": "two"})
		if swap {
			p, q = q, p
		}
		w.step(w.say(p, "dev", "/land"))
		w.settleDown()
		w.now = w.now.Add(1000)
		w.step(w.say(q, "dev", "/land"))
		w.settleDown()
		behind, below := w.mustBe(q, queue.Pending), w.mustBe(p, queue.Pending)
		going := w.going()
		w.tell(w.advance(going[0])...)
		w.settleDown()
		w.mustBe(p, queue.Landed)
		before := w.core.s.Beliefs[behind.ID].Pairs[below.ID]
		r := going[1]
		if len(r.build.Chain) != 1 || before == 0 {
			t.Fatalf("chain %v, chance %g", r.build.Chain, before)
		}
		w.core.begin(nil)
		w.core.acquit(&r.build, []string{"a"})
		if got := w.core.s.Beliefs[behind.ID].Pairs[below.ID]; got != 0 {
			t.Errorf("%s on %s, which has landed: the chance that they break was %g and is %g, and all that they share has passed", behind.ID, below.ID, before, got)
		}
	}
}

// wary thinks that one pair in five breaks.
type wary struct{ trusting }

func (wary) Conflict(*queue.Change, *queue.Change) float64 { return 0.2 }
