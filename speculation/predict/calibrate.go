package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Kinds of calibration.
const (
	Uncalibrated = "none"
	Platt        = "platt"
	Isotonic     = "isotonic"
)

// Calibration maps the chances that a model says to the observed frequencies. It never
// decreases, and lies within [1e-4, 1-1e-4]. The zero value is of kind Uncalibrated. It
// holds finite numbers only, and its JSON form is exact.
type Calibration struct {
	kind          string
	slope, offset float64   // Platt: on log-odds
	at, to        []float64 // Isotonic: knots, linear between them, flat beyond
}

// sure is how near to 0 and 1 a calibrated chance comes.
const sure = 1e-4

// Trial says how well a kind of calibration did on the rows by which the kind was
// chosen.
type Trial struct {
	Kind    string  `json:"kind"`
	LogLoss float64 `json:"logLoss"`
}

// Calibrate chooses a calibration for a model's chances of rows that it was not fitted
// to, in time order. Each kind is fitted to the earlier half and judged by log loss on
// the later one. There each row is shifted by those before it (Shift), so that no kind
// is chosen for a drift alone. If neither kind is better than no calibration by more
// than two standard errors of the difference, the result is Uncalibrated; else it is
// the better kind, fitted to all rows.
//
// Platt is a logistic regression on the log-odds, of targets (N₊+1)/(N₊+2) and 1/(N₋+2)
// (Platt, Probabilistic Outputs for Support Vector Machines, 1999). Isotonic is the
// non-decreasing least-squares fit by pooling adjacent violators (Zadrozny, Elkan 2002),
// with half a success added at the lowest p and half a failure at the highest, and
// linear between the means of its blocks. Log loss on the rows given never gets worse.
//
// It panics if the lengths differ.
func Calibrate(p []float64, y []bool) (Calibration, []Trial) {
	same(len(p), len(y))
	half := len(p) / 2
	raw := Calibration{}.each(p)
	still := followed(raw[half:], y[half:])
	fits := [...]func([]float64, []bool) (Calibration, bool){fitPlatt, fitIsotonic}
	best := Trial{Uncalibrated, LogLoss(still, y[half:])}
	trials := []Trial{best}
	for _, fit := range fits {
		c, ok := fit(p[:half], y[:half])
		if !ok {
			continue
		}
		q := followed(c.each(p[half:]), y[half:])
		t := Trial{c.kind, LogLoss(q, y[half:])}
		trials = append(trials, t)
		if t.LogLoss < best.LogLoss && trials[0].LogLoss-t.LogLoss > 2*gainError(still, q, y[half:]) {
			best = t
		}
	}
	for _, fit := range fits {
		if c, ok := fit(p, y); ok && c.kind == best.Kind && LogLoss(c.each(p), y) <= LogLoss(raw, y) {
			return c, trials
		}
	}
	return Calibration{}, trials
}

// each returns the calibrated chance of each of p.
func (c Calibration) each(p []float64) []float64 {
	q := make([]float64, len(p))
	for i, v := range p {
		q[i] = c.Apply(v)
	}
	return q
}

// gainError returns the standard error of the difference of the log losses of a and b.
func gainError(a, b []float64, y []bool) float64 {
	var sum, square float64
	for i, v := range y {
		d := math.Log(a[i] / b[i])
		if !v {
			d = math.Log((1 - a[i]) / (1 - b[i]))
		}
		sum += d
		square += d * d
	}
	n := float64(len(y))
	return math.Sqrt(max(square/n-(sum/n)*(sum/n), 0) / n)
}

// Kind returns Uncalibrated, Platt or Isotonic.
func (c Calibration) Kind() string {
	if c.kind == "" {
		return Uncalibrated
	}
	return c.kind
}

// Apply returns the calibrated chance of a chance p.
func (c Calibration) Apply(p float64) float64 {
	switch c.kind {
	case Platt:
		p = sigmoid(c.slope*odds(p) + c.offset)
	case Isotonic:
		i := sort.SearchFloat64s(c.at, p) // at[i-1] < p <= at[i]
		switch {
		case i == 0:
			p = c.to[0]
		case i == len(c.at):
			p = c.to[i-1]
		default:
			share := (p - c.at[i-1]) / (c.at[i] - c.at[i-1])
			p = min(c.to[i-1]+(c.to[i]-c.to[i-1])*share, c.to[i])
		}
	}
	return max(sure, min(1-sure, p))
}

// odds returns the log-odds of a chance, which is cut to [1e-9, 1-1e-9].
func odds(p float64) float64 { return logit(max(1e-9, min(1-1e-9, p))) }

func fitPlatt(p []float64, y []bool) (Calibration, bool) {
	var yes, no float64
	for _, v := range y {
		if v {
			yes++
		} else {
			no++
		}
	}
	if yes == 0 || no == 0 {
		return Calibration{}, false
	}
	// A soft target is two rows with weights that sum to 1.
	var x [][]float64
	var outcomes []bool
	var w []float64
	for i, v := range p {
		target := 1 / (no + 2)
		if y[i] {
			target = (yes + 1) / (yes + 2)
		}
		row := []float64{odds(v)}
		x = append(x, row, row)
		outcomes = append(outcomes, true, false)
		w = append(w, target, 1-target)
	}
	l, err := FitLogistic(x, outcomes, w, LogisticOptions{C: 1e6})
	if err != nil || len(l.terms) == 0 || !(l.terms[0].Weight > 0) {
		return Calibration{}, false
	}
	t := l.terms[0]
	slope := t.Weight / t.SD
	c := Calibration{kind: Platt, slope: slope, offset: l.bias - slope*t.Mean}
	return c, c.check() == nil
}

func fitIsotonic(p []float64, y []bool) (Calibration, bool) {
	if len(p) == 0 {
		return Calibration{}, false
	}
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if p[a] < p[b] {
			return -1
		}
		if p[a] > p[b] {
			return 1
		}
		return 0
	})
	type block struct{ at, n, yes, weight float64 }
	var blocks []block
	push := func(b block) {
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.yes*b.weight < b.yes*last.weight {
				break
			}
			b.at = (last.at*last.n + b.at*b.n) / (last.n + b.n)
			b.n, b.yes, b.weight = b.n+last.n, b.yes+last.yes, b.weight+last.weight
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for from := 0; from < len(order); {
		b := block{at: p[order[from]]}
		for ; from < len(order) && p[order[from]] == b.at; from++ {
			b.n++
			if y[order[from]] {
				b.yes++
			}
		}
		if b.n == 0 {
			return Calibration{}, false // NaN
		}
		b.weight = b.n
		if len(blocks) == 0 && b.at == p[order[0]] {
			b.yes, b.weight = b.yes+0.5, b.weight+0.5
		}
		if from == len(order) {
			b.weight += 0.5
		}
		push(b)
	}
	c := Calibration{kind: Isotonic}
	for _, b := range blocks {
		c.at, c.to = append(c.at, b.at), append(c.to, b.yes/b.weight)
	}
	return c, c.check() == nil
}

// check refuses values that no fit can have made.
func (c Calibration) check() error {
	switch c.kind {
	case Platt:
		if c.slope > 0 && c.slope <= 1e6 && math.Abs(c.offset) <= 1e9 {
			return nil
		}
	case Isotonic:
		rising := func(v []float64) bool {
			return slices.IsSorted(v) && v[0] >= 0 && v[len(v)-1] <= 1
		}
		if len(c.at) > 0 && len(c.at) == len(c.to) && rising(c.at) && rising(c.to) {
			return nil
		}
	default:
		return fmt.Errorf("predict: no calibration is called %q", c.kind)
	}
	return errors.New("predict: a calibration is out of range")
}

// calibrationJSON is the stored form.
type calibrationJSON struct {
	Kind   string    `json:"kind"`
	Slope  float64   `json:"slope,omitempty"`
	Offset float64   `json:"offset,omitempty"`
	At     []float64 `json:"at,omitempty"`
	To     []float64 `json:"to,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (c Calibration) MarshalJSON() ([]byte, error) {
	return json.Marshal(calibrationJSON{c.Kind(), c.slope, c.offset, c.at, c.to})
}

// UnmarshalJSON implements json.Unmarshaler. It refuses values that no fit can have
// made.
func (c *Calibration) UnmarshalJSON(data []byte) error {
	var in calibrationJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if in.Kind == Uncalibrated {
		*c = Calibration{}
		return nil
	}
	read := Calibration{in.Kind, in.Slope, in.Offset, in.At, in.To}
	if err := read.check(); err != nil {
		return err
	}
	*c = read
	return nil
}
