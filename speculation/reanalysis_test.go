package speculation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A change that is analyzed again, because main's graph has changed under it,
// may affect fewer targets or more, and a result of its build or a merge may
// come in the same turn.

func TestFootprintShrinksAsItsBuildEnds(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
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
	w := quiet(t, unit, config.Rules{})
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

// A result for a change before its first footprint counts once that is known:
// a merge that was asked for in turns that the store has lost may be told of
// before the change is analyzed anew.
func TestMergeIsToldBeforeTheFirstFootprint(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
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

// An analysis takes longer than the next landing on a busy main. Its answer is
// good for all that: what makes it old has another one asked for.
func TestMainMovesDuringEveryAnalysis(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.step(w.say(w.open(w.main, edit{"c/code": "first"}), "boss", "/queue pause holidays"))
	p := w.land(edit{"a/code": "fine"})
	w.quiesce()
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "outside"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.step(w.say(w.open(w.main, edit{"c/code": "second"}), "boss", "/queue resume"))
	var answers []queue.Body
	slow := func() {
		for i := 0; i < len(w.waits); {
			if t, analyze := w.waits[i].Task.(queue.Analyze); analyze && t.Pick.Number == p.number {
				answers = append(answers, w.carryOut(w.waits[i])...)
				w.waits = slices.Delete(slices.Clone(w.waits), i, i+1)
				continue
			}
			w.now++
			w.work(i)
			i = 0
		}
	}
	for n := range 8 {
		q := w.land(edit{"c/code": fmt.Sprint("news", n)})
		for slow(); w.change(q).Phase != queue.Landed; slow() {
			w.now = w.now.Add(time.Minute)
			w.tell(w.advance(w.going()[0])...)
		}
		for _, x := range answers {
			w.tell(x)
		}
		answers = nil
	}
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// A change is parked while it is analyzed, and returns when main is another. The
// answer about the main of before comes last, and does not count.
func TestOldAnalysisOfAChangeThatHasReturned(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	ch := w.mustBe(p, queue.Pending)
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "one"}))
	w.tell(queue.MainMoved{Branch: "main"})
	old := w.mustTake("analyze")
	w.infra = func(b *queue.Build) (bool, bool) { return true, true }
	w.tell(queue.BuildDone{Build: w.going()[0].build.ID, Outcome: queue.JobInfra, NoRunner: true})
	w.going()[0].over = true
	w.settleDown()
	w.mustBe(p, queue.Parked)
	w.infra = nil
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "two"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.settleDown()
	w.step(w.say(p, "dev", "/land"))
	w.settleDown()
	w.tell(old...)
	if f := w.core.s.Footprints[ch.ID]; f.Main != w.main {
		t.Errorf("the footprint is of %s, and main is %s", f.Main, w.main)
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// mustTake carries out actions up to the first of a kind, and returns what comes
// of that one: its answer is on its way.
func (w *world) mustTake(kind string) []queue.Body {
	w.Helper()
	for len(w.waits) > 0 {
		a := w.waits[0]
		if k, _ := a.Task.Name(); k == kind {
			w.waits = slices.Clone(w.waits[1:])
			return w.carryOut(a)
		}
		w.work(0)
	}
	w.Fatalf("nobody asks to %s", kind)
	return nil
}

// A change that is suspected to break with another turns out, on another main, to
// have nothing in common with it. The other's landing moves its chance alike in a
// core that goes on and in one made from the stored state.
func TestSuspectsHaveNothingInCommonAnyMore(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}})
	w.commitOutside(w.commits[w.main].tree.with(edit{barrier: "go2"})) // and nobody hears of it
	one := w.land(edit{"c/code": "fine"})
	w.settleDown()
	w.tell(w.advance(w.going()[0])...)
	lost := w.mustTake("land")
	two := w.land(edit{"a/code": "bad", "b/code": "fine"})
	w.settleDown()
	w.tell(w.advance(w.going()[0])...)
	suspect := w.core.State().Beliefs[w.mustBe(two, queue.Pending).ID]
	if suspect == nil || suspect.Pairs[w.mustBe(one, queue.Landing).ID] == 0 {
		t.Fatalf("the second is not suspected to break with the first: %+v", suspect)
	}
	w.tell(lost...)
	w.waitOut()
	w.mustBe(one, queue.Landed)
	w.mustBe(two, queue.Rejected)
	w.audit.final()
}
