package sim

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// odds say how likely changes are broken and pairs conflict, and which of these facts
// are known.
type odds struct {
	broken   func(i int) float64                 // chance that a change is broken on its own
	pair     func(i, j int) float64              // chance that two changes that may conflict do
	told     func(i int) (broken, known bool)    // nil: nothing is
	toldPair func(i, j int) (breaks, known bool) // nil: nothing is
}

// odds of a generated world.
func (p *Params) odds(w *World) odds {
	return odds{
		broken: func(int) float64 { return p.Broken },
		pair: func(i, j int) float64 {
			if w.Changes[i].Large || w.Changes[j].Large {
				return p.ConflictLarge
			}
			return p.Conflict
		},
	}
}

// pairsEasier is the difference between d' of conflicts and d' of broken changes in the
// given worlds.
const pairsEasier = 0.85

// outcomes draws the truth about changes that have arrived, and the beliefs of a
// predictor of the wanted quality about each.
func (p *Params) outcomes(w *World, o odds) {
	truth, beliefs := draw(w.Seed, streamTruth), draw(w.Seed, streamBeliefs)
	pairs := p.PredictorPair
	if pairs == 0 && p.Predictor > 0 {
		pairs = p.Predictor + pairsEasier
	}
	g := NewGraph(w)
	for i := range w.Changes {
		c := &w.Changes[i]
		prior := min(0.99, o.broken(i))
		broken := truth.Float64() < prior
		if o.told != nil {
			if is, known := o.told(i); known {
				broken = is
			}
		}
		if broken {
			c.BrokenTarget = c.Targets[truth.IntN(len(c.Targets))]
		}
		for _, j := range g.Earlier[i] {
			d := &w.Changes[j]
			q, near := min(0.99, o.pair(i, j)), c.ArriveMin-d.ArriveMin <= p.WindowMin
			breaks := near && truth.Float64() < q
			if o.toldPair != nil {
				if is, known := o.toldPair(i, j); known {
					breaks = is
				}
			}
			if breaks {
				meet := common(c.Targets, d.Targets)
				c.Conflicts = append(c.Conflicts, Conflict{With: j, Target: meet[truth.IntN(len(meet))]})
			}
			if !near && !breaks {
				continue
			}
			if b := belief(beliefs, q, pairs, breaks); b >= 0.0005 {
				c.Predicted.Conflicts = append(c.Predicted.Conflicts, Chance{With: j, P: b})
			}
		}
		p.believe(beliefs, c, 1-prior)
	}
}

// believe draws the predictions for a change alone.
func (p *Params) believe(r *rand.Rand, c *Change, sound float64) {
	c.Predicted.Success = belief(r, sound, p.Predictor, c.BrokenTarget < 0)
	// The mean of |x| of a normal x is its deviation times sqrt(2/pi).
	sigma := p.MAPE * math.Sqrt(math.Pi/2)
	c.Predicted.DurationMin = max(0.001, thousandth(c.DurationMin*math.Exp(sigma*r.NormFloat64())))
	c.Predicted.DurationSDMin = thousandth(c.Predicted.DurationMin * sigma)
}

// uninformed returns the world as seen without a predictor: all changes, all pairs and
// all durations look alike, with the chances that a new server assumes.
func (w *World) uninformed() *World {
	out := *w
	out.Changes = slices.Clone(w.Changes)
	g := NewGraph(w)
	prior := predict.Default
	for i := range out.Changes {
		c := &out.Changes[i]
		c.Predicted = Prediction{Success: prior.Good(nil), DurationMin: 1}
		for _, j := range g.Earlier[i] {
			c.Predicted.Conflicts = append(c.Predicted.Conflicts, Chance{With: j, P: prior.Conflict(nil, nil)})
		}
	}
	return &out
}

// belief returns the calibrated probability of something with a prior, as seen
// by a predictor. Its views of cases that hold and of those that do not are two
// normal distributions of deviation 1 at a distance of d ("d-prime" of signal
// detection). It is calibrated for every d; d = 0 returns the prior.
func belief(r *rand.Rand, prior, d float64, holds bool) float64 {
	if prior <= 0 || prior >= 1 {
		return min(0.9999, max(0.0001, prior))
	}
	side := -d * d / 2
	if holds {
		side = -side
	}
	odds := math.Log(prior/(1-prior)) + side + d*r.NormFloat64()
	return min(0.9999, max(0.0001, math.Round(1e4/(1+math.Exp(-odds)))/1e4))
}

// pushes draws the commits that reach main without the queue, each in one
// component; some break changes that are pending there.
func (p *Params) pushes(w *World, l *layout) {
	if p.ExternalPush == 0 || len(w.Changes) == 0 {
		return
	}
	r := draw(w.Seed, streamPushes)
	last := w.Changes[len(w.Changes)-1].ArriveMin
	for at := r.ExpFloat64() * 60 / p.ExternalPush; at < last; at += r.ExpFloat64() * 60 / p.ExternalPush {
		x := Push{AtMin: thousandth(at), Targets: l.take(nil, l.component(r), r.IntN(packages), 4)}
		for i := range w.Changes {
			c := &w.Changes[i]
			if c.ArriveMin > x.AtMin {
				break
			}
			meet := common(c.Targets, x.Targets)
			if x.AtMin-c.ArriveMin > p.WindowMin || len(meet) == 0 || r.Float64() >= p.Conflict {
				continue
			}
			x.Breaks = append(x.Breaks, Conflict{With: i, Target: meet[r.IntN(len(meet))]})
		}
		w.Pushes = append(w.Pushes, x)
	}
}

// common returns the numbers that two sorted lists have in common.
func common(a, b []int) []int {
	var out []int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			out = append(out, a[i])
			i, j = i+1, j+1
		}
	}
	return out
}
