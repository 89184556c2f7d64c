package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// unsure is a model that knows only an average.
type unsure struct{ stated }

func (unsure) Cold() bool { return true }

// Far behind changes some of which are surely bad, a first build leaves some of them out where
// they share its hot target, and keeps those that share another: with all of them it would fail
// like all others. A model that knows more than an average, and a likely future, have no samples.
func TestSamplesAreOfDeepLines(t *testing.T) {
	good := map[int]float64{}
	for n := range 14 {
		good[n+1] = 0.9
	}
	hot := slices.Repeat([]string{"a"}, 14)
	hot[1], hot[13] = "a b", "a b"
	for _, c := range []struct {
		name    string
		model   stated
		off     []config.Ingredient
		samples bool
	}{
		{"deep", stated{good: good}, nil, true},
		{"left out of the planner", stated{good: good}, []config.Ingredient{config.IngredientSamples}, false},
		{"likely", stated{}, nil, false},
	} {
		rules := config.Rules{Order: config.OrderArrival, Threshold: 1e-6, Spare: config.SpareNever, Off: append(c.off, config.IngredientFlips, config.IngredientAdaptive)}
		s := newStage(t, rules, c.model)
		s.core.facts.Beliefs.Ask(unsure{c.model})
		s.changes(hot...)
		s.tell(queue.Capacity{Slots: 40})
		s.settleDown()
		var last *run
		for _, r := range s.going() {
			if r.build.Change == s.id(14) {
				last = r
			}
		}
		if last == nil {
			t.Fatalf("%s: the last change is not built: %v", c.name, s.names())
		}
		if sample := last.build.Worth.Kind == queue.WorthSample; sample != c.samples || sample != (len(last.build.Chain) < 13) {
			t.Errorf("%s: the last change is built on %v, for %s", c.name, last.build.Chain, last.build.Worth.Kind)
		}
		if !slices.Contains(last.build.Chain, s.id(2)) {
			t.Errorf("%s: the second change shares b with it, and is left out of %v", c.name, last.build.Chain)
		}
	}
}

// From builds of overlapping sets follows which of the changes is to blame, long before it is
// the only one that is left: the changes behind are built without it.
func TestBlameFollowsFromAllResults(t *testing.T) {
	good := map[int]float64{}
	for n := range 6 {
		good[n+1] = 0.9
	}
	rules := config.Rules{Order: config.OrderArrival, Threshold: 1e-6, Spare: config.SpareNever, Retries: 1, Off: []config.Ingredient{config.IngredientFlips, config.IngredientAdaptive}}
	s := newStage(t, rules, stated{good: good}, rule{target: "a", all: []string{"c3"}})
	s.changes("a", "a", "a", "a", "a", "a")
	s.tell(queue.Capacity{Slots: 10})
	s.settleDown()
	for _, b := range []string{"B1.2.3.4.5", "B1.2.3.4.5.6", "B1.2.3", "B1.2"} {
		s.end(b)
	}
	f := s.core.facts.Beliefs
	for n, want := range map[int][2]float64{1: {0.99, 1}, 2: {0.99, 1}, 3: {0, 0.05}, 4: {0.85, 0.95}, 5: {0.85, 0.95}} {
		if q := f.Good(s.id(n)); q < want[0] || q > want[1] {
			t.Errorf("change %d is good by %.3f, want %v", n, q, want)
		}
	}
	why := f.Suspects(s.id(3))
	if len(why) != 1 || why[0].Pair != "" || why[0].Chance < 0.95 || len(why[0].Others) > 0 {
		t.Errorf("the third change is suspected so: %+v", why)
	}
	if got := s.names(); !slices.Contains(got, "B1.2.4.5") {
		t.Errorf("building %v, and nothing of the fifth change without the third", got)
	}
}
