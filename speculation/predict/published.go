package predict

import "math"

// Arrival is a change as CI at Scale: Lean, Green, and Fast (2025) sees it: its arrival
// time, and mean and deviation of its build time.
type Arrival struct{ At, Mean, SD float64 }

// PublishedArrival returns a change that came at a time and has some builds under
// way: its mean and its variance are the averages of those of the builds. No
// builds count as one build that takes no time.
func PublishedArrival(at float64, builds ...Dist) Arrival {
	a := Arrival{At: at}
	if len(builds) == 0 {
		return a
	}
	var variance float64
	for _, d := range builds {
		a.Mean += d.Mean() / float64(len(builds))
		variance += d.SD() * d.SD() / float64(len(builds))
	}
	a.SD = math.Sqrt(variance)
	return a
}

// PublishedBefore returns P(y ends before x) by the published rule:
//
//	P(Ty - Tx < ATx - ATy) = Phi(Z), Z = ((ATx-ATy) - (mu_y-mu_x)) / sqrt(sx^2+sy^2)
//
// It knows nothing of starts, of elapsed time or of a third change; Before does.
func PublishedBefore(y, x Arrival) float64 { return upper(-publishedZ(y, x)) }

func publishedZ(y, x Arrival) float64 {
	d, s := (x.At-y.At)-(y.Mean-x.Mean), math.Hypot(x.SD, y.SD)
	if s == 0 && d == 0 {
		return 0
	}
	return d / s
}

// PublishedZero is the value below which the product of the chances to be first counts
// as 0; the paper gives no number.
const PublishedZero = 1e-3

// PublishedNeeded returns P_needed of a build by the published formula, the
// product of outcomes and of P(it ends before k) for each k that it may bypass.
// If the latter product tends to 0, it returns the fallback: the product of the
// outcomes of all changes ahead. ahead and passable are as in Needed, before has P(c
// ends before k) for each passable k.
func PublishedNeeded(ahead, passable, before []float64) float64 {
	if first := product(before); first >= PublishedZero {
		return product(ahead) * first
	}
	return product(ahead) * product(passable)
}
