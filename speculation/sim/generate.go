package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// Params say what world to generate. The defaults are those of the given worlds, which
// follow the figures of "Keeping Master Green at Scale" (EuroSys'19, sections 2 and 8):
// 14 potential conflicts for each change at 500 changes per hour, 6.5 % broken on their
// own, 8 to 9 % rejected for a conflict, a predictor that is right for 97 % of changes,
// builds of 27 minutes at the median and 120 at most.
type Params struct {
	RatePerHour float64 // arrivals per hour
	Changes     int
	Seed        uint64
	Arrivals    string // fixed: evenly; poisson; bursts: poisson at 2.2 times the rate for 20 minutes of each hour, 0.4 times for the rest

	Components  int     // parts of the repository; each is one group of targets
	Zipf        float64 // how unevenly changes fall on components: chance of the k-th is like k^-Zipf
	Shared      float64 // share of a change's work on targets that all changes of its component share; the rest is on one of four packages
	MedianMin   float64 // of a full build, log-normal
	Sigma       float64 // deviation of the logarithm
	CapMin      float64 // longest build
	OverheadMin float64 // of each build

	Broken        float64 // share of changes that are broken on their own
	Conflict      float64 // chance that two changes which may conflict do
	ConflictLarge float64 // the same if one of the pair is a large diff
	WindowMin     float64 // only changes that arrive this close really conflict

	Large float64 // share of large diffs: half of all components, 60 minutes to CapMin

	Predictor     float64 // d': distance of sound from broken changes, in standard deviations of what the predictor sees; 3.4 is right for 97 %, 1.5 for 88 %
	PredictorPair float64 // d' of conflicts; 0: 0.85 above Predictor, or none where that is 0
	MAPE          float64 // mean error of a predicted duration, relative

	Flaky        float64 // chance that a build reports a sound target as failed
	ExternalPush float64 // commits per hour that reach main without the queue
	TreeStepMin  float64 // a step on the whole tree that each landing needs
	TreeBroken   float64 // share of changes that break it, unpredicted
	Opaque       bool    // targets of changes are not known, as with analyzer: none
}

// Defaults returns the parameters of the given worlds at 500 changes per hour.
func Defaults() Params {
	return Params{RatePerHour: 500, Changes: 1500, Seed: 1, Arrivals: "fixed",
		Components: 200, Zipf: 0.7, Shared: 0.5, MedianMin: 27, Sigma: 0.5, CapMin: 120, OverheadMin: 4,
		Broken: 0.065, Conflict: 0.01, ConflictLarge: 0.001, WindowMin: 60, Predictor: 3.4, MAPE: 0.05}
}

const (
	shortestMin  = 6  // no build is shorter
	largeMin     = 60 // no build of a large diff is shorter
	slots        = 32 // units of work of the longest build
	packages     = 4  // of a component, beside what its changes share
	largeUnits   = 8  // shared and own targets of a large diff in each component
	burstFactor  = 2.2
	burstMinutes = 20
)

func (p *Params) validate() error {
	for _, x := range []struct {
		name     string
		v, least float64
		most     float64
	}{
		{"rate", p.RatePerHour, 1e-3, 1e6}, {"changes", float64(p.Changes), 1, 1e6},
		{"components", float64(p.Components), 1, 1e5}, {"zipf", p.Zipf, 0, 10}, {"shared", p.Shared, 0.01, 1},
		{"median", p.MedianMin, shortestMin, 1e4}, {"sigma", p.Sigma, 0, 5}, {"cap", p.CapMin, largeMin + 1, 1e5},
		{"overhead", p.OverheadMin, 0, shortestMin - 1}, {"broken", p.Broken, 0, 0.99}, {"conflict", p.Conflict, 0, 0.99},
		{"conflict of large diffs", p.ConflictLarge, 0, 0.99}, {"window", p.WindowMin, 0, 1e5}, {"large", p.Large, 0, 1},
		{"predictor", p.Predictor, 0, 20}, {"predictor of pairs", p.PredictorPair, 0, 20}, {"mape", p.MAPE, 0, 2},
		{"flaky", p.Flaky, 0, 0.99}, {"external pushes", p.ExternalPush, 0, 1e4}, {"tree step", p.TreeStepMin, 0, 1e4},
		{"broken in the tree step", p.TreeBroken, 0, 0.99},
	} {
		if math.IsNaN(x.v) || x.v < x.least || x.v > x.most {
			return fmt.Errorf("%s is %v; it must be from %v to %v", x.name, x.v, x.least, x.most)
		}
	}
	if !slices.Contains([]string{"fixed", "poisson", "bursts"}, p.Arrivals) {
		return fmt.Errorf("arrivals are %q; they can be fixed, poisson or bursts", p.Arrivals)
	}
	return nil
}

// draw returns one stream of random numbers. Each part of a world has its own stream,
// so that the same seed with a better predictor or more pushes gives the same changes.
func draw(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

const (
	streamArrivals = iota + 1
	streamChanges
	streamTruth
	streamBeliefs
	streamPushes
	streamTree
	streamFeatures
)

// Generate makes a world. The same parameters make the same world.
func Generate(p Params) (*World, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	w := &World{Seed: p.Seed, Arrivals: p.Arrivals, RatePerHour: p.RatePerHour, LargeShare: p.Large,
		OverheadMin: p.OverheadMin, Flaky: p.Flaky, TreeStepMin: p.TreeStepMin}
	l := layoutOf(&p)
	for c := range p.Components {
		for range l.size {
			w.Targets = append(w.Targets, Target{CostMin: l.unit, Group: c})
		}
	}
	arrivals, r := draw(p.Seed, streamArrivals), draw(p.Seed, streamChanges)
	for i := range p.Changes {
		c := Change{ID: i, ArriveMin: p.arrival(arrivals, i, w), BrokenTarget: -1, Large: r.Float64() < p.Large}
		if c.Large {
			c.DurationMin = thousandth(largeMin + r.Float64()*(p.CapMin-largeMin))
			c.Targets = l.large(r)
		} else {
			c.DurationMin = thousandth(min(p.CapMin, max(shortestMin, p.MedianMin*math.Exp(p.Sigma*r.NormFloat64()))))
			c.Targets = l.small(r, c.DurationMin)
		}
		w.Changes = append(w.Changes, c)
	}
	p.outcomes(w, p.odds(w))
	p.pushes(w, l)
	if tree := draw(p.Seed, streamTree); p.TreeBroken > 0 {
		for i := range w.Changes {
			w.Changes[i].BreaksTree = tree.Float64() < p.TreeBroken
		}
	}
	p.features(w)
	w.Opaque = p.Opaque // changes still break at targets
	return w, nil
}

// arrival returns when the i-th change arrives.
func (p *Params) arrival(r *rand.Rand, i int, w *World) float64 {
	gap := 60 / p.RatePerHour
	if p.Arrivals == "fixed" {
		return thousandth(float64(i) * gap)
	}
	at, left := 0.0, r.ExpFloat64()*gap
	if i > 0 {
		at = w.Changes[i-1].ArriveMin
	}
	if p.Arrivals == "poisson" {
		return thousandth(at + left)
	}
	// left is in minutes at the mean rate; these pass faster in a burst.
	const calm = (60 - burstFactor*burstMinutes) / (60 - burstMinutes)
	for {
		hour := math.Floor(at/60) * 60
		speed, end := burstFactor, hour+burstMinutes
		if at >= end {
			speed, end = calm, hour+60
		}
		if (end-at)*speed > left {
			return thousandth(at + left/speed)
		}
		left -= (end - at) * speed
		at = end
	}
}

// layout says where a component's targets are: first the targets that its changes
// share, then those of each package.
type layout struct {
	shared, own, size int
	unit              float64 // cost of a target
	overhead          float64
	chances           []float64 // of components, added up
}

func layoutOf(p *Params) *layout {
	l := &layout{shared: max(1, int(math.Round(slots*p.Shared))), unit: (p.CapMin - p.OverheadMin) / slots, overhead: p.OverheadMin}
	l.own = slots - l.shared
	l.size = l.shared + packages*l.own
	sum := 0.0
	for k := range p.Components {
		sum += math.Pow(float64(k+1), -p.Zipf)
		l.chances = append(l.chances, sum)
	}
	return l
}

// component draws a component by its chance.
func (l *layout) component(r *rand.Rand) int {
	x := r.Float64() * l.chances[len(l.chances)-1]
	return min(sort.SearchFloat64s(l.chances, x), len(l.chances)-1)
}

// small returns the targets of a change: in one or two components, as much work
// as its duration says.
func (l *layout) small(r *rand.Rand, duration float64) []int {
	parts := []int{l.component(r)}
	if len(l.chances) > 1 && r.Float64() < 0.5 {
		for len(parts) < 2 {
			if c := l.component(r); c != parts[0] {
				parts = append(parts, c)
			}
		}
	}
	units := max(1, math.Ceil((duration-l.overhead)/l.unit/2/float64(len(parts)))) // shared, and as many of its own at a half
	var out []int
	for _, c := range parts {
		out = l.take(out, c, r.IntN(packages), 2*units)
	}
	slices.Sort(out)
	return out
}

// large returns the targets of a large diff: half of all components.
func (l *layout) large(r *rand.Rand) []int {
	var out []int
	for c := range l.chances {
		if r.Float64() < 0.5 || c == len(l.chances)-1 && len(out) == 0 {
			out = l.take(out, c, r.IntN(packages), 2*largeUnits)
		}
	}
	return out
}

// take adds the first targets of a component and of one of its packages.
func (l *layout) take(out []int, component, pkg int, units float64) []int {
	shared := min(l.shared, max(1, int(math.Round(units*float64(l.shared)/slots))))
	own := min(l.own, int(math.Round(units*float64(l.own)/slots)))
	first := component * l.size
	for i := range shared {
		out = append(out, first+i)
	}
	for i := range own {
		out = append(out, first+l.shared+pkg*l.own+i)
	}
	return out
}

// thousandth rounds to three decimals, as files of worlds do.
func thousandth(x float64) float64 { return math.Round(x*1000) / 1000 }
