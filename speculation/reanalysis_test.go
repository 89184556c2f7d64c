package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// A change that is analyzed again, because main's graph has changed under it,
// may affect fewer targets or more, and a result of its build or a merge may
// come in the same turn.

func TestFootprintShrinksAsItsBuildEnds(t *testing.T) {
	w := quiet(t, unit, queue.Rules{})
	p := w.land(edit{"a/code": "fine", "b/code": "fine"})
	w.settleDown()
	ch := w.mustBe(p, queue.Pending)
	again := queue.Analyzed{Change: ch.ID, Footprint: queue.Footprint{Main: w.main, Write: []string{"a"}, Affected: []string{"a"}}}
	w.tell(append([]queue.Body{again}, w.advance(w.going()[0])...)...)
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

func TestFootprintGrowsAsItsMergeIsMade(t *testing.T) {
	w := quiet(t, unit, queue.Rules{})
	w.footless = func(_ queue.ChangeID, f queue.Footprint) queue.Footprint {
		f.Affected = f.Affected[:1]
		return f
	}
	other := w.land(edit{"c/code": "fine"})
	w.step(w.say(other, "boss", "/queue pause holidays"))
	p := w.land(edit{"a/code": "fine", "b/code": "fine"})
	w.settleDown()
	w.tell(w.advance(w.going()[1])...)
	w.settleDown()
	ch, below := w.mustBe(p, queue.Pending), w.mustBe(other, queue.Pending)
	w.footless = nil
	w.tell(queue.Analyzed{Change: ch.ID, Footprint: w.footprint(queue.Analyze{Change: ch.ID, Main: w.main, Pick: pickOf(ch)})},
		w.resolveChain("", queue.Resolve{Base: w.main, Picks: []queue.Pick{pickOf(below), pickOf(ch)}}))
	w.step(w.say(other, "boss", "/queue resume"))
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// What tells of a change before its first footprint is known counts once it is:
// a merge that was asked for in turns that the store has lost may be told of
// before the change is analyzed anew.
func TestMergeIsToldBeforeTheFirstFootprint(t *testing.T) {
	w := quiet(t, unit, queue.Rules{})
	p := w.open(w.main, edit{"a/code": "fine"})
	w.step(w.say(p, "dev", "/land"))
	for len(w.waits) > 0 {
		if _, analyze := w.waits[0].Task.(queue.Analyze); analyze {
			break
		}
		w.work(0)
	}
	ch := w.mustBe(p, queue.Analyzing)
	w.tell(w.resolveChain("", queue.Resolve{Base: w.main, Picks: []queue.Pick{pickOf(ch)}}))
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}
