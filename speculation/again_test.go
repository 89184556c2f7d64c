package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// analysisOf takes the outstanding analysis of a pull request out of the world:
// its answer does not come.
func (w *world) analysisOf(p *pull) queue.Action {
	w.Helper()
	for i, a := range w.waits {
		if task, ok := a.Task.(queue.Analyze); ok && task.Pick.Number == p.number {
			w.waits = append(w.waits[:i:i], w.waits[i+1:]...)
			return a
		}
	}
	w.Fatalf("pull %d is not being analyzed", p.number)
	return queue.Action{}
}

func (w *world) asked(p *pull) {
	w.Helper()
	for range 3000 {
		for _, a := range w.waits {
			if task, ok := a.Task.(queue.Analyze); ok && task.Pick.Number == p.number {
				return
			}
		}
		if len(w.waits) == 0 {
			w.Fatalf("pull %d is not being analyzed", p.number)
		}
		w.work(0)
	}
}

// An analysis hangs: the change becomes one that touches everything and says
// why, and is analyzed once more at once, then after a while.
func TestAnalysisThatHangs(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.open(w.main, edit{"a/code": "fine"})
	w.step(w.say(p, "dev", "/land"))
	w.asked(p)
	first := w.analysisOf(p)
	w.mustBe(p, queue.Analyzing)

	w.now = first.Deadline
	w.tell(queue.Tick{})
	ch := w.mustBe(p, queue.Pending)
	if !ch.Touches.All || ch.Touches.Unknown != "the analysis did not end within 10m0s" || !ch.Touches.Again {
		t.Fatalf("touches %+v", ch.Touches)
	}
	second := w.analysisOf(p)
	w.now = second.Deadline
	w.tell(queue.Tick{})
	for _, a := range w.waits {
		if _, ok := a.Task.(queue.Analyze); ok {
			t.Fatalf("asked again at once: %+v", a)
		}
	}
	w.now = w.now.Add(againAfter - time.Second)
	w.tell(queue.Tick{})
	if w.wake != w.now.Add(time.Second) {
		t.Errorf("woken at %s, not at %s", w.wake.Time(), w.now.Add(time.Second).Time())
	}
	w.now = w.now.Add(time.Second)
	w.tell(queue.Tick{})
	third := w.analysisOf(p)
	if third.Key == first.Key || third.Key == second.Key {
		t.Errorf("the key %s was had before", third.Key)
	}
	w.tell(w.carryOut(third)...)
	if ch := w.mustBe(p, queue.Pending); ch.Touches.All || ch.Touches.Targets != 1 {
		t.Errorf("touches %+v", ch.Touches)
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// An answer that says that it may be another one later is asked for again, soon
// after main has moved.
func TestAnalysisForNow(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.footless = func(_ queue.ChangeID, f queue.Footprint) queue.Footprint {
		return queue.Footprint{Main: f.Main, All: true, Unknown: "the program is new", Again: true}
	}
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	w.footless = nil
	w.now = w.now.Add(againMoved)
	w.tell(queue.Tick{})
	if ch := w.mustBe(p, queue.Pending); ch.Touches.Unknown != "the program is new" {
		t.Fatalf("touches %+v", ch.Touches)
	}
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "outside"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.settleDown()
	if ch := w.mustBe(p, queue.Pending); ch.Touches.Unknown != "" || ch.Touches.Targets != 1 {
		t.Errorf("touches %+v", ch.Touches)
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// A failed target shows in the next change that affects it.
func TestTouchesKnowsHowOftenTargetsFail(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}})
	w.land(edit{"a/code": "bad"})
	w.waitOut()
	p, other := w.land(edit{"a/code": "fine"}), w.land(edit{"b/code": "fine"})
	w.settleDown()
	if rate := w.change(p).Touches.FailRate; rate <= 0 || rate > 1 {
		t.Errorf("a has failed with rate %g", rate)
	}
	if rate := w.change(other).Touches.FailRate; rate != 0 {
		t.Errorf("b has failed with rate %g", rate)
	}
	w.waitOut()
	w.audit.final()
}

// Several analyzers run one after the other, so what waits for them is patient for
// all of them.
func TestPatienceWithSeveralAnalyzers(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.core.s.Main.Config.Analysis = config.Analysis{Analyzers: []config.SubAnalysis{
		{Analyzer: "bazel", Timeout: 10 * time.Minute}, {Analyzer: "command", Timeout: 8 * time.Minute}, {Analyzer: "gn"}, {Analyzer: "go"}}}
	if got, want := w.core.upkeep.patience(queue.Analyze{}), 10*time.Minute+2*19*time.Minute; got != want {
		t.Errorf("patient for %s, want %s", got, want)
	}
}

// TestTroubleOfAStackedAnalysis: what keeps the analysis of a change that is on top
// of another is told as that of any other.
func TestTroubleOfAStackedAnalysis(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	low := w.land(edit{"a/code": "fine"})
	w.settleDown()
	high := w.openOn(low, edit{"b/code": "more"})
	w.step(w.say(high, "dev", "/land"))
	w.asked(high)
	w.tell(queue.Failed{Action: w.analysisOf(high).Key, Error: "the mirror is away", Transient: true})
	if why := w.waitsOf(w.change(high).ID); len(why) == 0 || why[0].Detail != "the mirror is away" {
		t.Errorf("it waits for %+v", why)
	}
}

// TestAnalyzedAgainWhileHeldBack: a change that waits for what it is on top of is
// analyzed again when that is due, as one in the order is, and a turn is made then.
func TestAnalyzedAgainWhileHeldBack(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	low := w.land(edit{"a/code": "fine"})
	w.asked(low)
	slow := w.analysisOf(low)
	high := w.openOn(low, edit{"b/code": "more"})
	w.step(w.say(high, "dev", "/land"))
	w.asked(high)
	w.tell(queue.Failed{Action: w.analysisOf(high).Key, Error: "an object is missing"})
	w.settleDown()
	ch := w.mustBe(high, queue.Analyzing)
	due := w.core.State().Footprints[ch.ID].At.Add(againAfter)
	for w.now < due {
		if w.wake == 0 || w.wake > due {
			t.Fatalf("the next turn is at %s, and it is due at %s", w.wake.Time(), due.Time())
		}
		w.now = w.wake
		w.tell(queue.Tick{})
	}
	w.tell(w.carryOut(w.analysisOf(high))...)
	if f := w.core.State().Footprints[ch.ID]; f.Unknown != "" {
		t.Errorf("it is still unknown: %+v", f)
	}
	w.tell(w.carryOut(slow)...)
	w.waitOut()
	w.mustBe(low, queue.Landed)
	w.mustBe(high, queue.Landed)
	w.audit.final()
}
