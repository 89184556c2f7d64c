package sim

import (
	"fmt"
	"math"
)

// World is a part of a merge queue's life, including the truth. Times and costs are in
// minutes. A World is read-only once it has been made.
type World struct {
	Seed        uint64  // the seed it was drawn from; 0 if it was not drawn
	Arrivals    string  // fixed, poisson, bursts, or trace
	RatePerHour float64 // arrivals per hour
	LargeShare  float64 // share of large diffs among the changes
	OverheadMin float64 // cost of each build besides its targets
	Targets     []Target
	Changes     []Change // in order of arrival; a change's index is its id

	// Beyond the three given worlds. Zero values mean "none".
	Flaky       float64 // chance that a build reports a sound target as failed
	TreeStepMin float64 // a step on the whole tree that each landing needs; part of each peer's builds
	Pushes      []Push  // commits that reach main without the queue, by time
	Opaque      bool    // targets of changes are not known: each is built whole, and conflicts with every other
}

// Target is the smallest unit that is built; its id is its index.
type Target struct {
	CostMin float64 // work, relative to the other targets'
	Group   int     // targets of one group are built one after the other
}

// Change is one change that asks to land.
type Change struct {
	ID           int
	ArriveMin    float64
	DurationMin  float64 // of a full build of it alone
	Large        bool
	Targets      []int      // affected, sorted; never empty
	BrokenTarget int        // this target fails wherever the change is in; -1: sound on its own
	Conflicts    []Conflict // earlier changes that it really breaks with
	BreaksTree   bool       // the tree step fails wherever this change is in
	TreeFoes     []int      // earlier changes with which it breaks the tree step
	Predicted    Prediction
	Features     *Features // nil: nothing is known of it
}

// Conflict says that two changes together break a target of both.
type Conflict struct {
	With   int // an earlier change
	Target int // of both; fails where both are in
}

// Prediction holds the beliefs about a change when it arrived.
type Prediction struct {
	Success       float64 // P(sound on its own)
	DurationMin   float64
	DurationSDMin float64
	Conflicts     []Chance // with earlier changes; pairs not listed are below 0.0005
}

// Chance is a predicted conflict.
type Chance struct {
	With int
	P    float64
}

// Push is a commit that reached main without the queue. It is sound: a pending
// change that breaks with it has to be mended, and the author of the push has
// adapted landed changes that would break with it.
type Push struct {
	AtMin   float64
	Targets []int
	Breaks  []Conflict // pending changes that fail on it, and where
}

// check returns what is wrong with a change at index i, given those before it.
func (w *World) check(i int) error {
	c := &w.Changes[i]
	switch {
	case c.ID != i:
		return fmt.Errorf("change %d is at place %d; ids are places", c.ID, i)
	case !finite(c.ArriveMin) || i > 0 && c.ArriveMin < w.Changes[i-1].ArriveMin:
		return fmt.Errorf("change %d arrives before the one ahead of it", i)
	case !(c.DurationMin > 0 && c.DurationMin <= mostMin):
		return fmt.Errorf("change %d takes %v minutes", i, c.DurationMin)
	case len(c.Targets) == 0:
		return fmt.Errorf("change %d affects no target", i)
	}
	for j, t := range c.Targets {
		if t < 0 || t >= len(w.Targets) || j > 0 && t <= c.Targets[j-1] {
			return fmt.Errorf("change %d: target %d is unknown or out of order", i, t)
		}
	}
	if c.BrokenTarget != -1 && !c.affects(c.BrokenTarget) {
		return fmt.Errorf("change %d is broken at target %d, which it does not affect", i, c.BrokenTarget)
	}
	for _, x := range c.Conflicts {
		if x.With < 0 || x.With >= i || !c.affects(x.Target) || !w.Changes[x.With].affects(x.Target) {
			return fmt.Errorf("change %d: no conflict with %d at target %d is possible", i, x.With, x.Target)
		}
	}
	for _, x := range c.TreeFoes {
		if x < 0 || x >= i {
			return fmt.Errorf("change %d: it cannot break the tree step with %d", i, x)
		}
	}
	if c.Features != nil {
		if err := c.Features.check(); err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
	}
	p := &c.Predicted
	if !chance(p.Success) || !(p.DurationMin > 0 && p.DurationMin <= 10*mostMin) || !(p.DurationSDMin >= 0 && p.DurationSDMin <= 10*mostMin) {
		return fmt.Errorf("change %d: the prediction is not one", i)
	}
	for _, x := range p.Conflicts {
		if x.With < 0 || x.With >= i || !chance(x.P) {
			return fmt.Errorf("change %d: a conflict with %d of %v cannot be predicted", i, x.With, x.P)
		}
	}
	return nil
}

// checkTargets returns what is wrong with the parts of a world that are not about a
// change.
func (w *World) checkTargets() error {
	if !finite(w.OverheadMin) || w.OverheadMin < 0 || !chance(w.Flaky) || !finite(w.TreeStepMin) || w.TreeStepMin < 0 {
		return fmt.Errorf("the overhead, the flaky share or the tree step is out of range")
	}
	for i, t := range w.Targets {
		if !finite(t.CostMin) || t.CostMin <= 0 || t.Group < 0 {
			return fmt.Errorf("target %d costs %v in group %d", i, t.CostMin, t.Group)
		}
	}
	for i, p := range w.Pushes {
		if !finite(p.AtMin) || i > 0 && p.AtMin < w.Pushes[i-1].AtMin {
			return fmt.Errorf("push %d is out of order", i)
		}
		for _, t := range p.Targets {
			if t < 0 || t >= len(w.Targets) {
				return fmt.Errorf("push %d: target %d is unknown", i, t)
			}
		}
	}
	return nil
}

// checkPushes returns what is wrong with the conflicts of pushes. It is called last,
// since it needs the changes.
func (w *World) checkPushes() error {
	for i, p := range w.Pushes {
		for _, x := range p.Breaks {
			if x.With < 0 || x.With >= len(w.Changes) || !w.Changes[x.With].affects(x.Target) {
				return fmt.Errorf("push %d: no conflict with %d at target %d is possible", i, x.With, x.Target)
			}
		}
	}
	return nil
}

// affects reports whether a target is among the change's.
func (c *Change) affects(target int) bool {
	lo, hi := 0, len(c.Targets)
	for lo < hi {
		if mid := (lo + hi) / 2; c.Targets[mid] < target {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(c.Targets) && c.Targets[lo] == target
}

// mostMin bounds the duration of a build: more is a mistake, and does not fit into a
// clock.
const mostMin = 1e5

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) && math.Abs(x) < 1e12 }

func chance(x float64) bool { return x >= 0 && x <= 1 }
