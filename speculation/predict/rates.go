package predict

import (
	"math"

	"github.com/submitqueue/submitqueue/queue"
)

// The weight of a prior, in observations, and the number of observations after which the
// first ones count little.
const (
	goodPull, goodMemory = 20, 300
	pairPull, pairMemory = 1000, 20000
)

// SeeGood returns the rate of sound changes with one more change; sound is the chance
// that it was sound, from 0 to 1.
func SeeGood(r queue.Rate, sound float64) queue.Rate { return see(r, sound, 1, goodMemory) }

// SeePairs is the same for pairs: a change met so many other changes, and so many of
// these broke it.
func SeePairs(r queue.Rate, broke, met float64) queue.Rate { return see(r, broke, met, pairMemory) }

func see(r queue.Rate, held, of, memory float64) queue.Rate {
	r.Held, r.Of = r.Held+held, r.Of+of
	if r.Of > memory {
		r.Held, r.Of = r.Held*memory/r.Of, memory
	}
	return r
}

// GoodRate returns the chance that a change is sound, by the observed rate and a prior
// alone: the mean of the Beta distribution that both make together.
func GoodRate(r queue.Rate, prior float64) float64 { return posterior(r, prior, goodPull) }

// PairRate is the same for a pair.
func PairRate(r queue.Rate, prior float64) float64 { return posterior(r, prior, pairPull) }

func posterior(r queue.Rate, prior, pull float64) float64 {
	r = Coarse(r)
	return (r.Held + pull*prior) / (r.Of + pull)
}

// Coarse returns a rate as predictions use it: in steps of some percent, so that results
// worked out with it stay valid for a while.
func Coarse(r queue.Rate) queue.Rate {
	if r.Of < 1 {
		return queue.Rate{}
	}
	of := math.Round(math.Pow(1.3, math.Floor(math.Log(r.Of)/math.Log(1.3))))
	p := min(1-1e-6, max(1e-6, r.Held/r.Of))
	odds := math.Round(math.Log(p/(1-p))*steps) / steps
	return queue.Rate{Held: of / (1 + math.Exp(-odds)), Of: of}
}

const steps = 12 // so many steps for each e-fold of the odds: 8 %
