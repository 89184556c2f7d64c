package sim

import (
	"fmt"
	"math"
	"slices"
)

// Stats are the figures of a world by which worlds can be compared.
type Stats struct {
	Changes   int     `json:"changes"`
	Hours     float64 `json:"hours"`                  // of arrivals
	Pairs     float64 `json:"conflicts_per_change"`   // earlier changes of the last hour that a change may conflict with
	Broken    float64 `json:"broken"`                 // share of changes that are broken on their own
	Conflicts float64 `json:"rejected_for_conflicts"` // share of changes that are rejected only for a conflict if decided in arrival order
	Accuracy  float64 `json:"predictor_accuracy"`     // of "lands", in arrival order, at 0.5
	MAPE      float64 `json:"duration_error"`         // mean, relative
	MedianMin float64 `json:"median_min"`             // of a full build
	MeanMin   float64 `json:"mean_min"`
	Demand    float64 `json:"oracle_workers"` // busy workers on average, if each change is built once as it arrives
	Large     int     `json:"large"`
	Targets   float64 `json:"targets_per_change"`
	Pushes    int     `json:"pushes,omitempty"`
}

// StatsOf looks at a world.
func StatsOf(w *World) Stats {
	s := Stats{Changes: len(w.Changes), Pushes: len(w.Pushes)}
	if len(w.Changes) == 0 {
		return s
	}
	n := float64(len(w.Changes))
	g, lands := NewGraph(w), arrivalOrder(w)
	var pairs, broken, conflicts, right, targets int
	var durations []float64
	var off, all float64
	for i := range w.Changes {
		c := &w.Changes[i]
		for _, j := range g.Earlier[i] {
			if c.ArriveMin-w.Changes[j].ArriveMin < 60 {
				pairs++
			}
		}
		switch {
		case c.BrokenTarget >= 0:
			broken++
		case !lands[i]:
			conflicts++
		}
		p := c.Predicted.Success
		for _, x := range c.Predicted.Conflicts {
			if lands[x.With] {
				p *= 1 - x.P
			}
		}
		if (p >= 0.5) == lands[i] {
			right++
		}
		if c.Large {
			s.Large++
		}
		targets += len(c.Targets)
		off += math.Abs(c.Predicted.DurationMin/c.DurationMin - 1)
		all += c.DurationMin
		durations = append(durations, c.DurationMin)
	}
	share := func(x float64) float64 { return math.Round(x/n*1e4) / 1e4 }
	s.Pairs, s.Targets, s.MeanMin, s.MAPE = share(float64(pairs)), share(float64(targets)), share(all), share(off)
	s.Broken, s.Conflicts, s.Accuracy = share(float64(broken)), share(float64(conflicts)), share(float64(right))
	slices.Sort(durations)
	s.MedianMin = Percentile(durations, 0.5)
	s.Hours = thousandth((w.Changes[len(w.Changes)-1].ArriveMin - w.Changes[0].ArriveMin) / 60)
	if s.Hours > 0 {
		s.Demand = thousandth(s.MeanMin * (n - 1) / 60 / s.Hours)
	}
	return s
}

// String returns the figures on one line.
func (s Stats) String() string {
	text := fmt.Sprintf("%d changes in %.1f h (%d large), builds %.0f min median, %.0f mean; each may conflict with %.1f of the last hour; "+
		"%.1f%% broken, %.1f%% rejected for conflicts; predictor %.1f%% right, durations %.1f%% off; oracle needs %.0f workers",
		s.Changes, s.Hours, s.Large, s.MedianMin, s.MeanMin, s.Pairs, 100*s.Broken, 100*s.Conflicts, 100*s.Accuracy, 100*s.MAPE, s.Demand)
	if s.Pushes > 0 {
		text += fmt.Sprintf("; %d pushes from outside", s.Pushes)
	}
	return text
}
