package sim

import (
	"container/heap"
	"context"
	"math"
)

// oracle is the in-order oracle of "Keeping Master Green at Scale" (EuroSys'19,
// section 8): it knows every verdict. So it runs exactly one full build for each
// change, on the base that will be the right one, as soon as a worker is free, in order
// of arrival. It decides a change when its build and all earlier changes that may
// conflict with it are done. All ratios are against the oracle with the same number of
// workers. Flakes do not affect it, and a push from outside costs it no build.
type oracle struct{}

var _ Strategy = oracle{}

// Name implements Strategy.
func (oracle) Name() string { return "oracle" }

// Run implements Strategy.
func (oracle) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	began := cpu()
	g := NewGraph(w)
	lands := make([]bool, len(w.Changes))
	soured := souredAt(w)
	free := make(minutes, o.Workers)
	done := make([]float64, len(w.Changes))
	out := &Outcome{}
	for i := range w.Changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := &w.Changes[i]
		took := c.DurationMin + w.TreeStepMin
		start := max(float64(free[0]), c.ArriveMin)
		at := start + took
		free[0] = minute(at)
		heap.Fix(&free, 0)
		for _, j := range g.Earlier[i] {
			at = max(at, done[j])
		}
		done[i] = at
		lands[i] = c.BrokenTarget < 0 && !(c.BreaksTree && w.TreeStepMin > 0) && soured[i] > at
		for _, x := range c.Conflicts {
			lands[i] = lands[i] && !lands[x.With]
		}
		for _, x := range c.TreeFoes {
			lands[i] = lands[i] && !(lands[x] && w.TreeStepMin > 0)
		}
		out.began(start)
		out.WorkerMinutes += took
		out.Decisions = append(out.Decisions, Decision{Change: i, At: at, Landed: lands[i]})
		o.progress(i+1, len(w.Changes))
	}
	out.Decisions = out.inTime()
	for _, d := range out.Decisions {
		if d.Landed {
			out.Landings = append(out.Landings, d.Change)
		}
	}
	out.CPU = cpu() - began
	return out, nil
}

// souredAt returns, by change, the time from which it fails because of a push from
// outside.
func souredAt(w *World) []float64 {
	at := make([]float64, len(w.Changes))
	for i := range at {
		at[i] = math.Inf(1)
	}
	for _, p := range w.Pushes {
		for _, x := range p.Breaks {
			at[x.With] = min(at[x.With], p.AtMin)
		}
	}
	return at
}

// minutes is a heap of times.
type minutes = heaped[minute]

type minute float64

// Before is the order of the heap.
func (a minute) Before(b minute) bool { return a < b }
