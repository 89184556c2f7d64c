package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// lineUp makes a world in which one slot is busy and a change on each of the targets
// waits for its first build.
func lineUp(t *testing.T, steps string, rules config.Rules, edits ...edit) (*world, []*pull) {
	t.Helper()
	l := law{targets: []string{"a", "b", "c", "d"}, needs: map[string][]string{},
		rules: []rule{{target: "b", all: []string{"bad"}}}}
	files := tree{stepsFile: steps, barrier: "go1", unowned: "data"}
	for _, n := range l.targets {
		files[fileOf(n)] = "base"
	}
	w := newWorld(t, l, files, rulesOf(rules))
	w.core.facts.Beliefs.Ask(trusting{})
	w.begin(1)
	busy := w.open(w.main, edit{"d/code": "first"})
	w.step(w.say(busy, "dev", "/land"))
	w.settleDown()
	var pulls []*pull
	for _, e := range edits {
		p := w.open(w.main, e)
		pulls = append(pulls, p)
		w.step(w.say(p, "dev", "/land"))
		w.settleDown()
	}
	w.tell(w.advance(w.going()[0])...)
	w.settleDown()
	w.now++
	w.tell(queue.Tick{})
	w.settleDown()
	return w, pulls
}

// trusting takes everybody to be good.
type trusting struct{ predict.Model }

func (trusting) Good(*queue.Change) float64                              { return 0.99 }
func (trusting) Conflict(*queue.Change, *queue.Change) float64           { return 0.01 }
func (trusting) Duration(*queue.Change) (took time.Duration, known bool) { return minute, true }
func (trusting) Cold() bool                                              { return false }

// Three changes without a common target share the one slot; each has a verdict
// of its own, and only the one that is broken is rejected.
func TestIndependentChangesShareABuild(t *testing.T) {
	w, pulls := lineUp(t, unit, config.Rules{Batch: config.BatchIndependent, BatchMax: 4},
		edit{"a/code": "x"}, edit{"b/code": "bad"}, edit{"c/code": "y"})
	going := w.going()
	if len(going) != 1 || len(going[0].build.For()) < 2 {
		t.Fatalf("%d builds: %+v", len(going), going)
	}
	shared := going[0].build.For()
	if with := going[0].build.Worth.With; !slices.Equal(with, shared) {
		t.Errorf("it is said to be for %v; it is for %v", with, shared)
	}
	for _, id := range shared {
		v, _ := w.core.View(id)
		if len(v.Builds) != 1 || v.Change.Builds != 1 {
			t.Errorf("%s shows builds %+v and has had %d", id, v.Builds, v.Change.Builds)
		}
		if v.Outlook.Next.Code != queue.ReasonWaitsBuild {
			t.Errorf("%s, in whose build it is, is said to wait: %+v", id, v.Outlook.Next)
		}
	}
	w.partnered(nil, shared)
	if got := going[0].build.Assumes(); len(got) != 0 {
		t.Errorf("a build of independent changes assumes %v", got)
	}
	w.waitOut()
	for i, want := range []queue.Phase{queue.Landed, queue.Rejected, queue.Landed} {
		if ch := w.change(pulls[i]); ch.Phase != want {
			t.Errorf("%s is %s, %+v", ch.ID, ch.Phase, ch.Reason)
		} else if want == queue.Landed && slices.Contains(shared, ch.ID) && ch.Verdict.Reused != 0 {
			t.Errorf("%s is told that its own build was another's: %+v", ch.ID, ch.Verdict)
		}
	}
	w.audit.final()
}

// Changes have builds of their own if batching is off, if a step does not name failed
// targets, if they share a target, and if no other waits.
func TestWhoSharesNoBuild(t *testing.T) {
	on := config.Rules{Batch: config.BatchIndependent, BatchMax: 4}
	for name, x := range map[string]struct {
		steps string
		rules config.Rules
		edits []edit
	}{
		"off":               {unit, config.Rules{}, []edit{{"a/code": "x"}, {"b/code": "y"}}},
		"exit code":         {"unit:exit-code:targets:test", on, []edit{{"a/code": "x"}, {"b/code": "y"}}},
		"one by exit code":  {unit + " vet:exit-code:targets:vet", on, []edit{{"a/code": "x"}, {"b/code": "y"}}},
		"a common target":   {unit, on, []edit{{"a/code": "x"}, {"a/code": "y"}}},
		"nobody else waits": {unit, on, []edit{{"a/code": "x"}}},
	} {
		w, _ := lineUp(t, x.steps, x.rules, x.edits...)
		for _, r := range w.going() {
			if len(r.build.Also) > 0 {
				t.Errorf("%s: build for %v", name, r.build.For())
			}
		}
		w.waitOut()
		w.audit.final()
	}
}

// A wrong footprint cannot make a build ask its commit for a target that is not
// there: b takes the target of a away, and its footprint does not say so.
func TestNoBuildAsksForATargetThatIsGone(t *testing.T) {
	l := law{targets: []string{"a", "b", "d"}, needs: map[string][]string{}}
	files := tree{stepsFile: unit, barrier: "go1", unowned: "data", "a/code": "base", "b/code": "base", "d/code": "base"}
	w := newWorld(t, l, files, rulesOf(config.Rules{Batch: config.BatchIndependent, BatchMax: 4}))
	w.footless = func(_ queue.ChangeID, f queue.Footprint) queue.Footprint {
		if slices.Contains(f.Write, "b") {
			f.Write, f.Affected = []string{"b"}, []string{"b"}
		}
		return f
	}
	w.begin(1)
	for _, e := range []edit{{"d/code": "first"}, {"a/code": "x"}, {"a/code": "deleted", "b/code": "y"}} {
		w.step(w.say(w.open(w.main, e), "dev", "/land"))
		w.settleDown()
	}
	w.tell(w.advance(w.going()[0])...)
	w.settleDown()
	if r := w.going(); len(r) == 1 && len(r[0].build.Also) > 0 {
		t.Errorf("build for %v asks for %s", r[0].build.For(), short(r[0].build.Keys()))
	}
	w.waitOut()
	w.audit.final()
}
