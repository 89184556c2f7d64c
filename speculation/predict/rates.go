package predict

import (
	"math"

	"github.com/submitqueue/submitqueue/queue"
)

// How much a prior weighs against what was seen, in observations, and after how many
// observations what was seen first counts little.
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

// posterior is rounded to steps of about 2 %, so that what was worked out with it stands for a while.
func posterior(r queue.Rate, prior, pull float64) float64 {
	p := (r.Held + pull*prior) / (r.Of + pull)
	odds := math.Log(p / (1 - p))
	p = 1 / (1 + math.Exp(-math.Round(odds*steps)/steps))
	return math.Round(p*1e9) / 1e9
}

const steps = 25
