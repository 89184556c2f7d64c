package sim

import (
	"github.com/submitqueue/submitqueue/queue/storetest"
	"math"
	"testing"
)

// Of the intervals that people see about four of five hold, and they are no wider than twice
// what is left, in a queue that has known nothing when it began, and has half the slots that it
// needs, so that each verdict takes longer than those before it.
func TestETAIsCalibrated(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	w := mustWorld(t, func(p *Params) { p.Changes = 500 })
	e := mustRun(t, w, ours{}, 250, nil).ETA
	if e == nil || e.Samples < 500 {
		t.Fatalf("few were looked at: %+v", e)
	}
	if math.Abs(e.Holds-0.8) > 0.12 || e.Width > 2*e.Left {
		t.Errorf("%+v; want 0.68 to 0.92 to hold", e)
	}
}

func TestETAOfNoForecasts(t *testing.T) {
	if e := mustRun(t, mustWorld(t, func(*Params) {}), oracle{}, 50, nil).ETA; e != nil {
		t.Errorf("a strategy that forecasts nothing has %+v", e)
	}
	out := &Outcome{Decisions: []Decision{{Change: 1, At: 10}, {Change: 2, At: 20}},
		Forecasts: []Forecast{{Change: 1, At: 4, Early: 8, Late: 12}, {Change: 2, At: 10, Early: 22, Late: 26}, {Change: 0, At: 1, Early: 2, Late: 3}, {Change: 3, At: 1, Early: 2, Late: 3}}}
	if e := etaOf(out, 1); *e != (ETA{Samples: 2, Holds: 0.5, Early: 0.5, Width: 4, Left: 8}) {
		t.Errorf("%+v", e)
	}
}
