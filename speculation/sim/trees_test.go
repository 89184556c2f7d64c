package sim

import "testing"

// independent is a world of changes that have nothing to do with each other but
// for a step on the whole tree: each is built for ten minutes, and 500 arrive in
// an hour.
func independent(n int, set func(i int, c *Change)) *World {
	w := &World{OverheadMin: 1, TreeStepMin: 3, RatePerHour: 500, Arrivals: "fixed", Seed: 1}
	for i := range n {
		w.Targets = append(w.Targets, Target{CostMin: 9, Group: i})
		c := Change{ID: i, ArriveMin: thousandth(float64(i) * 60 / w.RatePerHour), DurationMin: 10, Targets: []int{i}, BrokenTarget: -1,
			Predicted: Prediction{Success: 0.95, DurationMin: 10, DurationSDMin: 1}}
		if set != nil {
			set(i, &c)
		}
		w.Changes = append(w.Changes, c)
	}
	return w
}

// A hundred independent changes at 500 per hour, one step of three minutes on
// the whole tree: 95 of 100 are decided within their own build and twice the
// step.
func TestTrainsCarryATreeStep(t *testing.T) {
	m := mustRun(t, independent(100, nil), ours{}, 1000, nil)
	if m.Bad() || m.Landed != 100 || m.P95 > 10+2*3 {
		t.Errorf("%+v", m)
	}
}
