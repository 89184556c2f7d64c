package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A change of great benefit takes the slot of one that is worth little, and never that of
// the build which it waits for itself.
func TestNobodyStopsWhatTheyWaitFor(t *testing.T) {
	for _, c := range []struct {
		name, second string
		going        string
	}{
		{"in its way", "a b", "B1"},
		{"another matter", "b", "B2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, config.Rules{Order: config.OrderArrival, Projects: []config.Project{{Name: "p", Targets: []string{"b"}, Benefit: 9}},
				Off: []config.Ingredient{config.IngredientAdaptive}}, stated{good: map[int]float64{1: 0.9, 2: 0.9}})
			s.tell(queue.Capacity{Slots: 1})
			s.changes("a", c.second)
			s.settleDown()
			s.mustGo(c.going)
		})
	}
}
