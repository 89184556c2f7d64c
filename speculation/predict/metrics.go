package predict

import (
	"math"
	"slices"
)

// The functions here judge predictions against outcomes. Their slices have one entry
// per row; they panic if lengths differ. Without rows, each error is 0.

// LogLoss returns -mean(ln P(outcome)), in nats. p is cut to [1e-15, 1-1e-15], so that a
// certainty that fails counts 34.5.
func LogLoss(p []float64, y []bool) float64 {
	return mean(p, y, func(p float64, y bool) float64 {
		if !y {
			p = 1 - p
		}
		return -math.Log(max(1e-15, min(1-1e-15, p)))
	})
}

// Brier returns mean((p - y)²), y being 1 or 0 (Brier 1950, for one of the two outcomes:
// from 0 to 1).
func Brier(p []float64, y []bool) float64 {
	return mean(p, y, func(p float64, y bool) float64 {
		if y {
			p--
		}
		return p * p
	})
}

// mean returns the mean over the rows, or 0 if there are none.
func mean[T any](a []float64, b []T, f func(float64, T) float64) float64 {
	same(len(a), len(b))
	if len(a) == 0 {
		return 0
	}
	sum := 0.0
	for i, v := range a {
		sum += f(v, b[i])
	}
	return sum / float64(len(a))
}

// same panics if lengths differ.
func same(a, b int) {
	if a != b {
		panic("predict: predictions and outcomes differ in number")
	}
}

// AUC returns the chance that a true row, drawn at random, has a greater p than a false
// one; equal ones count one half (the Mann-Whitney statistic by mid-ranks). If all
// rows are of one kind it is 0.5.
func AUC(p []float64, y []bool) float64 {
	same(len(p), len(y))
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	var ranks, yes float64 // sum of the mid-ranks of the true rows, and their number
	for from := 0; from < len(order); {
		to := from
		tied := 0.0
		for to < len(order) && p[order[to]] == p[order[from]] {
			if y[order[to]] {
				tied++
			}
			to++
		}
		to = max(to, from+1) // NaN equals nothing, itself included
		ranks += tied * float64(from+1+to) / 2
		yes += tied
		from = to
	}
	no := float64(len(p)) - yes
	if yes == 0 || no == 0 {
		return 0.5
	}
	return (ranks - yes*(yes+1)/2) / (yes * no)
}

// CalibrationError returns the expected calibration error: with the rows in so many bins
// of equal width (at least 1; a p at a bin's upper end belongs to the next bin, 1 to the
// last), Σ rows of bin / rows × |mean p - share of true rows| (Naeini, Cooper,
// Hauskrecht 2015; Guo et al. 2017, section 2).
func CalibrationError(p []float64, y []bool, bins int) float64 {
	same(len(p), len(y))
	if len(p) == 0 {
		return 0
	}
	bins = max(bins, 1)
	off := make([]float64, bins)
	for i, v := range p {
		b := int(max(0, min(float64(bins-1), v*float64(bins))))
		if off[b] += v; y[i] {
			off[b]--
		}
	}
	sum := 0.0
	for _, v := range off {
		sum += math.Abs(v)
	}
	return sum / float64(len(p))
}

// MAPE returns the mean absolute percentage error, 100 × mean(|predicted - y| / |y|), in
// per cent. Rows with y = 0 have no such error and are left out.
func MAPE(predicted, y []float64) float64 {
	same(len(predicted), len(y))
	sum, n := 0.0, 0
	for i, v := range y {
		if v != 0 {
			sum += math.Abs((predicted[i] - v) / v)
			n++
		}
	}
	return 100 * sum / float64(max(n, 1))
}

// Normals are predictions that are normal distributions: row i has the mean Mu[i] and
// the deviation Sigma[i] > 0. With Log the logarithm is normal, and observations are
// above 0.
type Normals struct {
	Mu, Sigma []float64
	Log       bool
}

// z returns the observation of row i standardised, and its Jacobian's logarithm.
func (n Normals) z(i int, y float64) (z, jacobian float64) {
	if n.Log {
		y = math.Log(y)
		jacobian = y
	}
	return (y - n.Mu[i]) / n.Sigma[i], jacobian
}

// NLL returns the mean negative log likelihood of y, in nats:
// mean(ln σ + ½ ln 2π + ½ z²), z = (y-μ)/σ; for LogNormals z = (ln y-μ)/σ and + ln y.
func (n Normals) NLL(y []float64) float64 {
	row := 0
	return mean(n.Sigma, y, func(sigma, y float64) float64 {
		z, jacobian := n.z(row, y)
		row++
		return math.Log(sigma) + math.Log(2*math.Pi)/2 + z*z/2 + jacobian
	})
}

// PIT returns the probability integral transform: per row the chance, as predicted, of
// no more than y. They are uniform if the distributions are right (Dawid 1984).
func (n Normals) PIT(y []float64) []float64 {
	same(len(n.Mu), len(y))
	pit := make([]float64, len(y))
	for i, v := range y {
		z, _ := n.z(i, v)
		pit[i] = math.Erfc(-z/math.Sqrt2) / 2
	}
	return pit
}

// Coverage returns the share of rows with a PIT in the central interval of a level,
// [(1-level)/2, (1+level)/2]: level itself if the distributions are right.
func Coverage(pit []float64, level float64) float64 {
	in := 0
	for _, v := range pit {
		if math.Abs(v-0.5) <= level/2 {
			in++
		}
	}
	return float64(in) / float64(max(len(pit), 1))
}

// Uneven returns how far the PITs are from uniform: the greatest distance between their
// empirical distribution and the uniform one (the Kolmogorov statistic), from 0 to 1.
func Uneven(pit []float64) float64 {
	sorted := slices.Sorted(slices.Values(pit))
	worst := 0.0
	for i, v := range sorted {
		below, upTo := float64(i)/float64(len(sorted)), float64(i+1)/float64(len(sorted))
		worst = max(worst, v-below, upTo-v)
	}
	return worst
}
