package predict

import (
	"math"

	"github.com/submitqueue/submitqueue/queue"
)

// Rate is how often something has succeeded, with exponential forgetting: sums in which
// an observation that is k observations old weighs (1 - 1/memory)^k. The zero value has
// no observation.
type Rate struct {
	Passed float64 `json:"passed"` // weight of the successes
	Seen   float64 `json:"seen"`   // weight of all
}

// Observe returns the rate with one more observation. memory is how many observations
// it remembers, at least 1; a smaller value means 1, the latest alone. NaN or +Inf
// forgets nothing.
func (r Rate) Observe(passed bool, memory float64) Rate {
	keep := 1.0
	if memory < math.Inf(1) {
		keep = 1 - 1/max(memory, 1)
	}
	r.Passed, r.Seen = r.Passed*keep, r.Seen*keep+1
	if passed {
		r.Passed++
	}
	return r
}

// Mean returns the mean of the posterior of a Beta prior with the given mean and
// strength: (strength·prior + Passed) / (strength + Seen). strength is how many
// observations the prior is worth; if it and Seen are 0, the mean is prior.
func (r Rate) Mean(prior, strength float64) float64 {
	if strength+r.Seen <= 0 {
		return prior
	}
	return (strength*prior + r.Passed) / (strength + r.Seen)
}

// Smooth returns the mean of the last of levels, widest first (a repository, then an
// author within it): the prior of each level is the mean of the level before it, and
// that of the first level is prior.
func Smooth(prior, strength float64, levels ...Rate) float64 {
	for _, r := range levels {
		prior = r.Mean(prior, strength)
	}
	return prior
}

// Shift moves the chances of a model by the outcomes since it was fitted, all by the
// same log-odds. After a drift of the world the chances are right on average again. It
// never changes which of two chances is the greater.
//
// It is the mode of a posterior: a normal prior of mean 0 and variance 1/shiftPrior for
// the shift, the likelihood of the outcomes, each weighed by (1 - 1/shiftMemory)^age,
// found by one Newton step per observation.
type Shift struct {
	By          float64 `json:"by"`          // log-odds, within ±shiftBound
	Information float64 `json:"information"` // Σ of p(1-p), with forgetting
}

// The shift's prior has a deviation of a quarter log-odd; 200 outcomes are remembered. The
// shift is never more than 1: it moves 0.9 to 0.77 or 0.96 at most.
const (
	shiftPrior  = 16
	shiftMemory = 200
	shiftBound  = 1
)

// Apply returns a chance p, shifted. 0 and 1 stay.
func (s Shift) Apply(p float64) float64 {
	if s.By == 0 || !(p > 0 && p < 1) {
		return p
	}
	return sigmoid(logit(p) + s.By)
}

// Observe returns the shift with one more outcome; p is the model's chance for it
// before any shift. A p that is not between 0 and 1, both excluded, is not counted.
func (s Shift) Observe(p float64, passed bool) Shift {
	if !(p > 0 && p < 1) {
		return s
	}
	q := s.Apply(p)
	slope := -q
	if passed {
		slope = 1 - q
	}
	const forget = 1.0 / shiftMemory
	slope -= shiftPrior * forget * s.By
	s.Information = s.Information*(1-forget) + q*(1-q)
	s.By += slope / (shiftPrior + s.Information)
	s.By = max(-shiftBound, min(shiftBound, s.By))
	return s
}

// Shifted returns a chance that a model gives, shifted.
func Shifted(s queue.Shift, p float64) float64 { return Shift(s).Apply(p) }

// SeeShift is Shift.Observe for the shift that a queue keeps.
func SeeShift(s queue.Shift, p float64, passed bool) queue.Shift {
	return queue.Shift(Shift(s).Observe(p, passed))
}

// followed returns chances of rows in time order, each shifted by the outcomes of the
// rows before it.
func followed(p []float64, y []bool) []float64 {
	q := make([]float64, len(p))
	var s Shift
	for i, v := range p {
		q[i] = s.Apply(v)
		s = s.Observe(v, y[i])
	}
	return q
}
