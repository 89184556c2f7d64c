package sim

import (
	"maps"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// etaEvery is how often the forecasts of all pending changes are looked at, in minutes.
const etaEvery = 3

// Forecast is the answer at some moment to the question when a change would be decided,
// all in minutes.
type Forecast struct {
	Change          int
	At, Early, Late float64
}

// ETA says how good forecasts were, looked at every three minutes for each pending change
// with a forecast. The first changes, which percentiles leave out, are not counted.
type ETA struct {
	Samples int     `json:"samples"`
	Holds   float64 `json:"holds"`     // share of the intervals in which the decision came; 0.8 is right
	Early   float64 `json:"early"`     // share before the interval
	Width   float64 `json:"width_min"` // of the intervals, the median
	Left    float64 `json:"left_min"`  // until the decision, the median
}

// look notes the forecasts of this moment.
func (d *driver) look() {
	if d.now < d.eta {
		return
	}
	d.eta = d.now + instant(etaEvery) - epoch
	all := d.core.Forecasts()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		f := all[id]
		if n, ok := d.ids[id]; ok && f.Late >= d.now {
			d.out.Forecasts = append(d.out.Forecasts, Forecast{Change: n, At: clock(d.now), Early: clock(max(f.Early, d.now)), Late: clock(f.Late)})
		}
	}
}

// etaOf compares forecasts with decisions; it is nil if there are none.
func etaOf(out *Outcome, first int) *ETA {
	decided := map[int]queue.Instant{}
	for _, d := range out.Decisions {
		decided[d.Change] = instant(d.At)
	}
	var widths, left []float64
	e := &ETA{}
	for _, f := range out.Forecasts {
		at, ok := decided[f.Change]
		if !ok || f.Change < first {
			continue
		}
		switch {
		case at < instant(f.Early):
			e.Early++
		case at <= instant(f.Late):
			e.Holds++
		}
		widths, left = append(widths, f.Late-f.Early), append(left, clock(at)-f.At)
	}
	if e.Samples = len(left); e.Samples == 0 {
		return nil
	}
	slices.Sort(widths)
	slices.Sort(left)
	n := float64(e.Samples)
	e.Holds, e.Early = thousandth(e.Holds/n), thousandth(e.Early/n)
	e.Width, e.Left = thousandth(Percentile(widths, 0.5)), thousandth(Percentile(left, 0.5))
	return e
}
