package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// minSD is the least deviation of a column that is kept: the least number of full
// precision.
const minSD = 0x1p-1022

// rows are rows that have been checked, each with a weight.
type rows struct {
	width int
	x     [][]float64
	y     []bool
	w     []float64
}

// checked returns the rows that have a weight. Its errors are those of FitLogistic.
func checked(x [][]float64, y []bool, w []float64) (rows, error) {
	switch {
	case len(x) == 0:
		return rows{}, errors.New("predict: no rows to fit")
	case len(y) != len(x):
		return rows{}, fmt.Errorf("predict: %d rows but %d outcomes", len(x), len(y))
	case w != nil && len(w) != len(x):
		return rows{}, fmt.Errorf("predict: %d rows but %d weights", len(x), len(w))
	}
	r := rows{width: len(x[0])}
	total := 0.0
	for i, row := range x {
		if len(row) != r.width {
			return rows{}, fmt.Errorf("predict: row %d has %d columns, row 0 has %d", i, len(row), r.width)
		}
		for j, v := range row {
			if math.IsInf(v, 0) {
				return rows{}, fmt.Errorf("predict: row %d, column %d is infinite", i, j)
			}
		}
		weight := 1.0
		if w != nil {
			weight = w[i]
		}
		if !(weight >= 0) || math.IsInf(weight, 0) {
			return rows{}, fmt.Errorf("predict: row %d has weight %g", i, weight)
		}
		if total += weight; weight > 0 {
			r.x, r.y, r.w = append(r.x, row), append(r.y, y[i]), append(r.w, weight)
		}
	}
	if len(r.x) == 0 {
		return rows{}, errors.New("predict: every row has weight 0")
	}
	if total > 1e100 {
		return rows{}, fmt.Errorf("predict: the weights sum to %g, more than 1e100", total)
	}
	return r, nil
}

// split divides the rows in time order: later is the latest share of them, at least one
// row, and earlier the rest.
func (r rows) split(share float64) (earlier, later rows) {
	n := len(r.x) - int(math.Ceil(share*float64(len(r.x))))
	return rows{r.width, r.x[:n], r.y[:n], r.w[:n]}, rows{r.width, r.x[n:], r.y[n:], r.w[n:]}
}

// said returns a model's chance of each row.
func (r rows) said(prob func([]float64) float64) []float64 {
	p := make([]float64, len(r.x))
	for i, row := range r.x {
		p[i] = prob(row)
	}
	return p
}

// design is rows made ready for fits: standardised, missing values filled.
type design struct {
	rows
	terms      []term    // per column; SD is 0 if the column is constant
	z          []float64 // rows × width
	total, yes float64   // sum of the weights, and of those of true rows
}

func newDesign(r rows) *design {
	d := &design{rows: r}
	for i, w := range r.w {
		if d.total += w; r.y[i] {
			d.yes += w
		}
	}
	d.standardise()
	return d
}

// standardise sets terms and z. Sums are of values divided by a scale per column, so
// that neither they nor their squares overflow.
func (d *design) standardise() {
	type column struct{ low, high, scale, n, mean, square float64 }
	cols := make([]column, d.width)
	for j := range cols {
		cols[j].low, cols[j].high = math.Inf(1), math.Inf(-1)
	}
	for i, row := range d.x {
		for j, v := range row {
			if v == v {
				c := &cols[j]
				c.low, c.high = min(c.low, v), max(c.high, v)
				c.n += d.w[i]
			}
		}
	}
	for j := range cols {
		c := &cols[j]
		c.scale = 1
		if m := max(math.Abs(c.low), math.Abs(c.high)); m > 1e100 || m < 1e-100 {
			c.scale = m
		}
	}
	for i, row := range d.x {
		for j, v := range row {
			if v == v {
				cols[j].mean += d.w[i] / cols[j].n * (v / cols[j].scale)
			}
		}
	}
	for i, row := range d.x {
		for j, v := range row {
			if v == v {
				c := &cols[j]
				off := v/c.scale - c.mean
				c.square += d.w[i] / c.n * off * off
			}
		}
	}
	d.terms = make([]term, d.width)
	for j, c := range cols {
		d.terms[j].Column = j
		sd := math.Sqrt(c.square)
		largest := max(math.Abs(c.low), math.Abs(c.high)) / c.scale
		// A deviation near the rounding error of the values comes from rounding.
		if c.low < c.high && sd > 1e-13*largest && sd*c.scale >= minSD {
			d.terms[j].Mean, d.terms[j].SD = c.mean*c.scale, sd*c.scale
		}
	}
	d.z = make([]float64, len(d.x)*d.width)
	for i, row := range d.x {
		z := d.z[i*d.width:][:d.width]
		for j, v := range row {
			if t := &d.terms[j]; t.SD > 0 {
				if s, ok := t.z(v); ok {
					z[j] = s
				}
			}
		}
	}
}

// live returns the columns that are not constant.
func (d *design) live() []int {
	var cols []int
	for j, t := range d.terms {
		if t.SD > 0 {
			cols = append(cols, j)
		}
	}
	return cols
}

// fit fits the given columns, which ascend; constant columns are dropped.
func (d *design) fit(cols []int, opt LogisticOptions) (*Logistic, error) {
	if opt.C == 0 {
		opt.C = 1
	}
	if opt.Steps == 0 {
		opt.Steps = 200
	}
	if opt.Tolerance == 0 {
		opt.Tolerance = 1e-8
	}
	if !(opt.C > 0 && opt.C <= 1e12) || opt.Steps < 0 || !(opt.Tolerance > 0 && opt.Tolerance < 1) {
		return nil, fmt.Errorf("predict: logistic options out of range: %+v", opt)
	}
	l := &Logistic{width: d.width}
	cols = slices.DeleteFunc(slices.Clone(cols), func(j int) bool { return d.terms[j].SD == 0 })
	for _, j := range cols {
		l.terms = append(l.terms, d.terms[j])
	}
	no := d.total - d.yes
	if d.yes == 0 || !(no > 0) {
		l.bias = math.Log((d.yes + 0.5) / (max(no, 0) + 0.5))
		return l, nil
	}
	k := len(cols) + 1
	m := newton{k: k, y: d.y, z: make([]float64, len(d.y)*k), s: make([]float64, len(d.y)), beta: make([]float64, k)}
	for i := range d.y {
		row, from := m.z[i*k:][:k], d.z[i*d.width:][:d.width]
		row[0] = 1
		for a, j := range cols {
			row[a+1] = from[j]
		}
		m.s[i] = opt.C * d.w[i]
	}
	m.beta[0] = math.Log(d.yes) - math.Log(no)
	if err := m.run(opt.Steps, opt.Tolerance); err != nil {
		return nil, fmt.Errorf("%w in %d steps", err, opt.Steps)
	}
	l.bias = m.beta[0]
	for a := range cols {
		l.terms[a].Weight = m.beta[a+1]
	}
	return l, nil
}
