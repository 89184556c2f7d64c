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

// SeeGood returns what is known of how many changes are sound, with one more: it was
// sound for certain (1), not at all (0), or as likely as that.
func SeeGood(r queue.Rate, sound float64) queue.Rate { return see(r, sound, 1, goodMemory) }

// SeePairs is the same for pairs: of so many that a change met, so many broke it.
func SeePairs(r queue.Rate, broke, met float64) queue.Rate { return see(r, broke, met, pairMemory) }

func see(r queue.Rate, held, of, memory float64) queue.Rate {
	r.Held, r.Of = r.Held+held, r.Of+of
	if r.Of > memory {
		r.Held, r.Of = r.Held*memory/r.Of, memory
	}
	return r
}

// GoodRate returns the chance that a change is sound of which no more is known, by what
// was seen and a prior: the mean of the Beta distribution that these are together.
func GoodRate(r queue.Rate, prior float64) float64 { return posterior(r, prior, goodPull) }

// PairRate is the same for a pair.
func PairRate(r queue.Rate, prior float64) float64 { return posterior(r, prior, pairPull) }

func posterior(r queue.Rate, prior, pull float64) float64 {
	r = Coarse(r)
	return (r.Held + pull*prior) / (r.Of + pull)
}

// Coarse returns a rate as predictions take it: in steps of some percent, so that what was
// worked out with it stands for a while.
func Coarse(r queue.Rate) queue.Rate {
	if r.Of < 1 {
		return queue.Rate{}
	}
	of := math.Round(math.Pow(1.3, math.Floor(math.Log(r.Of)/math.Log(1.3))))
	p := min(1-1e-6, max(1e-6, r.Held/r.Of))
	odds := math.Round(math.Log(p/(1-p))*steps) / steps
	return queue.Rate{Held: of / (1 + math.Exp(-odds)), Of: of}
}

const steps = 12 // of the odds: 8 %
