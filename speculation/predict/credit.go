package predict

import (
	"math"
	"time"
)

// A queue believes a trained model as far as it does better than the queue's knowledge
// without one. It takes the mean of both, weighed by how likely each has made the actual
// outcomes, with forgetting (dynamic model averaging: Raftery, Kárný, Ettler, Online
// Prediction Under Model Uncertainty via Dynamic Model Averaging, Technometrics 2010,
// section 2.2). Without forgetting, the sum of the log losses of such a mean is at most -ln
// of the weight at the beginning, 0.13, above that of the better one, whatever comes.
//
// Weights are kept as the log-odds that have been added since the beginning, so that the
// zero value belongs to a model that has just come into use.
const (
	firstCredit  = 2   // log-odds of a model that has beaten its baselines
	creditMemory = 200 // outcomes
	creditBound  = 6   // log-odds beyond which further success adds nothing
	creditStep   = 2   // log-odds that one outcome adds at most
	timeScale    = 0.2 // of the Laplace distribution that is assumed for errors of logarithms of durations
)

// Weight returns how far a model is believed, from 0 to 1.
func Weight(credit float64) float64 { return sigmoid(firstCredit + credit) }

// Drifted reports that the queue's knowledge without the model has done better lately.
func Drifted(credit float64) bool { return credit < -firstCredit }

// Blend returns the chance between that of a model and that without one.
func Blend(credit, model, without float64) float64 {
	w := Weight(credit)
	return w*model + (1-w)*without
}

// SeeChance returns the credit with one more outcome. model and without are the chances
// that the model, and the queue without it, said before: between 0 and 1, both
// excluded.
func SeeChance(credit, model, without float64, came bool) float64 {
	if !came {
		model, without = 1-model, 1-without
	}
	return moved(credit, math.Log(model)-math.Log(without))
}

// BlendTime returns the duration between that of a model and that without one: their mean as
// logarithms. If one of them is not positive, it returns the other.
func BlendTime(credit float64, model, without time.Duration) time.Duration {
	if model <= 0 || without <= 0 {
		return max(model, without)
	}
	w := Weight(credit)
	return time.Duration(min(math.Exp(w*math.Log(float64(model))+(1-w)*math.Log(float64(without))), float64(Longest)))
}

// SeeTime returns the credit with one more duration. model and without are the durations
// that the model, and the queue without it, said before. If one of the three is not
// positive, the credit stays as it is.
func SeeTime(credit float64, model, without, took time.Duration) float64 {
	if model <= 0 || without <= 0 || took <= 0 {
		return credit
	}
	off := func(said time.Duration) float64 { return math.Abs(math.Log(float64(took) / float64(said))) }
	return moved(credit, (off(without)-off(model))/timeScale)
}

func moved(credit, by float64) float64 {
	if math.IsNaN(by) {
		return credit
	}
	by = max(-creditStep, min(creditStep, by))
	return max(-creditBound, min(creditBound, credit*(1-1.0/creditMemory)+by))
}

// Sound reports whether a change counts as sound on its own for models: it has landed, or
// it was turned down and is believed to have broken with others rather than on its own. A
// break with others belongs to the chances of pairs, and would be counted twice here.
func Sound(landed bool, belief float64) bool { return landed || belief >= 0.5 }
