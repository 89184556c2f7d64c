package sim

import (
	"github.com/submitqueue/submitqueue/queue/storetest"
	"math"
	"testing"
)

// Of the intervals that people see about four of five hold, and they are not much wider than twice
// what is left, in queues that have known nothing when they began, and have half the slots that they
// need, so that each verdict takes longer than those before it. One such queue says little: of
// six, between 75 and 88 % hold.
func TestETAIsCalibrated(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	const worlds = 6
	var holds, width, left float64
	for i := range uint64(worlds) {
		w := mustWorld(t, func(p *Params) { p.Changes, p.Seed = 500, p.Seed+i })
		e := mustRun(t, w, ours{}, 250, nil).ETA
		if e == nil || e.Samples < 500 {
			t.Fatalf("few were looked at: %+v", e)
		}
		holds, width, left = holds+e.Holds/worlds, width+e.Width, left+e.Left
	}
	if math.Abs(holds-0.8) > 0.05 || width > 2.25*left {
		t.Errorf("%.3f of the intervals hold, and they are %.2f times as wide as what is left; want 0.75 to 0.85, and 2.25", holds, width/left)
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
