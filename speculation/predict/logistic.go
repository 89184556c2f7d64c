package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// LogisticOptions says how FitLogistic fits. The zero value is C = 1.
type LogisticOptions struct {
	// C is the inverse of the penalty's strength, as in scikit-learn: the fit minimises
	// ½|w|² + C Σ_i weight_i × loss_i, over standardised columns; the intercept carries
	// no penalty. 0 is 1.
	C float64
	// Steps is how many Newton steps are made at most. 0 is 200; five to ten are usual.
	Steps int
	// Tolerance ends the fit when no coefficient has moved by more than this share of 1
	// + the largest. 0 is 1e-8, which leaves an error near 1e-15, since Newton's method
	// squares the error with each step.
	Tolerance float64
}

// Logistic is a logistic regression with an L2 penalty: P = 1/(1 + exp(-(bias + Σ w·z))),
// z = (x - mean)/sd. It holds finite numbers only. Its JSON form is exact.
type Logistic struct {
	bias  float64
	width int
	terms []term
}

// term is one column that is not constant.
type term struct {
	Column int     `json:"column"`
	Weight float64 `json:"weight"`
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
}

// zLimit bounds standardised values, so that no sum overflows. No row of a fit comes
// near it.
const zLimit = 1e6

// z standardises a value; ok is false where it is missing.
func (t *term) z(v float64) (z float64, ok bool) {
	z = (v - t.Mean) / t.SD
	if z > zLimit {
		z = zLimit
	} else if z < -zLimit {
		z = -zLimit
	}
	return z, v == v
}

// FitLogistic fits P(y | x) to the rows of x. All rows have the same number of values.
//
// Columns are standardised by their weighted mean and population standard deviation
// (divisor: the sum of the weights), so that one penalty suits all; constant columns
// are dropped, and their weight is 0. NaN is a missing value: it takes no part in mean
// and deviation, and stands for the mean (0 after standardising), in the fit and in
// Prob. w has the weights of the rows; nil means 1 for each. A row of weight 0 counts
// as absent.
//
// If y has one value only, there is nothing to separate: all weights are 0 and the
// bias is ln((P+½)/(N+½)) of the weights of both outcomes (Jeffreys' prior).
//
// Newton's method with step halving, Hessian by Cholesky (iteratively reweighted least
// squares: Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, 4.4.1
// and 18.4). Separable rows are safe by the penalty. The order of the rows does not
// matter beyond rounding.
//
// An error names the row and the column of a wrong value: lengths that differ, an
// infinite value, a weight that is negative or not finite, options out of range, no row.
func FitLogistic(x [][]float64, y []bool, w []float64, opt LogisticOptions) (*Logistic, error) {
	r, err := checked(x, y, w)
	if err != nil {
		return nil, err
	}
	d := newDesign(r)
	return d.fit(d.live(), opt)
}

// LogOdds returns ln(P/(1-P)) of a row. Values beyond the columns of the fit are
// ignored; values that x lacks are missing.
func (l *Logistic) LogOdds(x []float64) float64 {
	sum := l.bias
	for i := range l.terms {
		t := &l.terms[i]
		if t.Column >= len(x) {
			break
		}
		if z, ok := t.z(x[t.Column]); ok {
			sum += t.Weight * z
		}
	}
	return sum
}

// Prob returns the chance, from 0 to 1, that a row is true.
func (l *Logistic) Prob(x []float64) float64 { return sigmoid(l.LogOdds(x)) }

// Contributions appends to dst the part of each column in the log-odds of a row, 0 for
// a column that is dropped or missing. Bias plus their sum is LogOdds.
func (l *Logistic) Contributions(x, dst []float64) []float64 {
	base := len(dst)
	for range l.width {
		dst = append(dst, 0)
	}
	for i := range l.terms {
		t := &l.terms[i]
		if t.Column >= len(x) {
			break
		}
		if z, ok := t.z(x[t.Column]); ok {
			dst[base+t.Column] = t.Weight * z
		}
	}
	return dst
}

// Bias returns the intercept: the log-odds of a row with every column at its mean.
func (l *Logistic) Bias() float64 { return l.bias }

// Weights returns the coefficients of the standardised columns, 0 for those dropped:
// log-odds per standard deviation.
func (l *Logistic) Weights() []float64 {
	w := make([]float64, l.width)
	for _, t := range l.terms {
		w[t.Column] = t.Weight
	}
	return w
}

// columns returns the columns that are not dropped, ascending.
func (l *Logistic) columns() []int {
	cols := make([]int, len(l.terms))
	for i, t := range l.terms {
		cols[i] = t.Column
	}
	return cols
}

// logisticJSON is the stored form.
type logisticJSON struct {
	Bias  float64 `json:"bias"`
	Width int     `json:"width"`
	Terms []term  `json:"terms"`
}

// MarshalJSON implements json.Marshaler.
func (l *Logistic) MarshalJSON() ([]byte, error) {
	return json.Marshal(logisticJSON{l.bias, l.width, l.terms})
}

// UnmarshalJSON implements json.Unmarshaler. It refuses values that no fit can have
// made, so that a model that was read never answers NaN.
func (l *Logistic) UnmarshalJSON(data []byte) error {
	var in logisticJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	const limit = 1e100
	if in.Width < 0 || in.Width > 1<<20 || math.Abs(in.Bias) > limit {
		return errors.New("predict: a logistic model has a width or a bias out of range")
	}
	last := -1
	for _, t := range in.Terms {
		if t.Column <= last || t.Column >= in.Width {
			return fmt.Errorf("predict: column %d of a logistic model is out of order or range", t.Column)
		}
		if math.Abs(t.Weight) > limit || !(t.SD >= minSD) {
			return fmt.Errorf("predict: column %d of a logistic model has a weight or a deviation out of range", t.Column)
		}
		last = t.Column
	}
	l.bias, l.width, l.terms = in.Bias, in.Width, in.Terms
	return nil
}

// sigmoid returns 1/(1 + exp(-v)), exact in both tails.
func sigmoid(v float64) float64 {
	e := math.Exp(-math.Abs(v))
	if v < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// logit returns ln(p/(1-p)).
func logit(p float64) float64 { return math.Log(p) - math.Log1p(-p) }
