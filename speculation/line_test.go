package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// suspects predicts that one change is broken.
type suspects struct {
	predict.Prior
	bad int // number of a pull request
}

func (f suspects) Good(ch *queue.Change) float64 {
	if ch.Number == f.bad {
		return 0.01
	}
	return float64(f.Prior)
}

const linted = unit + " lint:exit-code:repository:lint"

var ugly = rule{target: config.TargetTree, step: "lint", all: []string{"ugly"}}

// A change that probably breaks the step on the whole tree is tried beside the train: those
// that board after it are not built on it, and it has its verdict on the real main.
func TestProbablyBrokenIsTriedAside(t *testing.T) {
	w := quiet(t, linted, config.Rules{}, ugly)
	w.core.facts.Beliefs.Ask(suspects{predict.Default, 1})
	bad := w.land(edit{"a/code": "ugly"})
	second := w.land(edit{"b/code": "fine"})
	third := w.land(edit{"c/code": "fine"})
	w.waitOut()
	w.mustBe(bad, queue.Rejected)
	w.mustBe(second, queue.Landed)
	w.mustBe(third, queue.Landed)
	for _, r := range w.runs {
		if n := w.core.State().Changes[r.build.Change]; n != nil && n.Number != bad.number && len(r.build.Chain) > 0 && r.build.Chain[0] == w.change(bad).ID {
			t.Errorf("pull %d was built on the one that probably fails", n.Number)
		}
	}
	w.audit.final()
}

// A change that was suspected without reason lands all the same, behind others
// that came later.
func TestSuspectedWithoutReasonLands(t *testing.T) {
	w := quiet(t, linted, config.Rules{}, ugly)
	w.core.facts.Beliefs.Ask(suspects{predict.Default, 1})
	first := w.land(edit{"a/code": "fine"})
	second := w.land(edit{"b/code": "fine"})
	w.waitOut()
	w.mustBe(first, queue.Landed)
	w.mustBe(second, queue.Landed)
	w.audit.final()
}

// A suspected change is decided in the end, even if others keep coming.
func TestSuspectedIsDecidedWhileOthersKeepComing(t *testing.T) {
	for _, what := range []string{"fine", "ugly"} {
		w := quiet(t, linted, config.Rules{}, ugly)
		w.core.facts.Beliefs.Ask(suspects{predict.Default, 1})
		p := w.land(edit{"a/code": what})
		for n := range 12 {
			w.land(edit{[]string{"b/code", "c/code"}[n%2]: "fine"})
			w.settleDown()
			if going := w.going(); len(going) > 0 {
				w.now = w.now.Add(30 * time.Second)
				w.tell(w.advance(going[0])...)
			}
		}
		if ch := w.change(p); !ch.Phase.Final() && ch.Phase != queue.Landing {
			t.Errorf("%s: %s, waits for %+v", what, ch.Phase, w.waitsOf(ch.ID))
		}
		w.waitOut()
		w.audit.final()
	}
}

// A change boards while its own build ends, and lands with the end of it.
func TestBoardsEarly(t *testing.T) {
	for _, off := range [][]config.Ingredient{nil, {config.IngredientEarly}} {
		w := quiet(t, linted, config.Rules{Off: off}, ugly)
		warm := w.land(edit{"a/code": "fine"}) // so that it is known how long things take
		w.waitOut()
		w.mustBe(warm, queue.Landed)
		w.land(edit{"a/code": "more"})
		w.settleDown()
		for range 3 {
			w.now = max(w.now, min(w.wake, w.now.Add(20*time.Second)))
			w.tell(queue.Tick{})
			w.settleDown()
		}
		early := false
		for _, r := range w.going() {
			for _, j := range r.build.Jobs {
				early = early || j.Step.Scope == config.ScopeRepository
			}
		}
		if early != (off == nil) {
			t.Errorf("without %v: boards early: %t", off, early)
		}
		w.waitOut()
		w.audit.final()
	}
}
