package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A change overtakes another if it gains more than building again what they
// share takes, and more than a share of its own duration; a change that has been
// overtaken already is not waited for.
func TestMargin(t *testing.T) {
	for _, c := range []struct {
		name  string
		slots int
		rules config.Rules
		good  map[int]float64
		takes []time.Duration // by change, each a second after the one before
		want  []int
	}{
		{slots: 9, name: "gains much", takes: []time.Duration{30, 20}, want: []int{2, 1}},
		{slots: 9, name: "gains little", takes: []time.Duration{30, 27}, want: []int{1, 2}},
		{slots: 9, name: "gains a share of its own", takes: []time.Duration{20, 12}, want: []int{2, 1}},
		{slots: 9, name: "of all its own", rules: config.Rules{Margin: 1}, takes: []time.Duration{20, 12}, want: []int{1, 2}},
		{slots: 9, name: "built again anyway", takes: []time.Duration{30, 15, 27}, want: []int{2, 3, 1}},
		{name: "not built yet", takes: []time.Duration{30, 27}, want: []int{2, 1}},
		{slots: 9, name: "turned down, probably", good: map[int]float64{1: 0.8}, takes: []time.Duration{30, 27}, want: []int{2, 1}},
		{slots: 9, name: "without", rules: config.Rules{Off: []config.Ingredient{config.IngredientMargin}}, takes: []time.Duration{30, 27}, want: []int{2, 1}},
		{slots: 9, name: "in order of arrival", rules: config.Rules{Order: config.OrderArrival}, takes: []time.Duration{30, 27}, want: []int{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := stated{good: c.good, takes: map[int]time.Duration{}}
			for i, d := range c.takes {
				model.takes[i+1] = d * minute
			}
			s := newStage(t, c.rules, model)
			s.tell(queue.Capacity{Slots: c.slots})
			for range c.takes {
				s.changes("a b")
				s.now = s.now.Add(time.Second)
			}
			s.core.landing.sortOrder()
			var got []int
			for _, id := range s.core.facts.Order.IDs {
				got = append(got, s.core.s.Changes[id].Number)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("in order %v, want %v", got, c.want)
			}
		})
	}
}

// A change that shares little with the other does not wait for it: that part is
// built again at once.
func TestMarginIsWhatRebuildingTakes(t *testing.T) {
	s := newStage(t, config.Rules{Margin: 2}, stated{takes: map[int]time.Duration{1: 60 * minute, 2: 40 * minute, 3: 30 * minute}})
	s.tell(queue.Capacity{Slots: 9})
	s.changes("a b c d e", "e f g")
	s.core.landing.sortOrder()
	if s.core.facts.Order.IDs[0] != s.id(2) {
		t.Errorf("building one of five targets again takes 18 minutes, and 2 waits 20 for it")
	}
	s.changes("a b c d e")
	s.core.landing.sortOrder()
	if got := s.core.landing.rebuild(s.id(1), s.id(3)); got != time.Hour {
		t.Errorf("building all of it again takes %s", got)
	}
}
