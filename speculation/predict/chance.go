package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Chance is a model of the chance of an outcome, such as that a change succeeds or that a
// pair conflicts. It is a logistic regression on the columns that are worth it, calibrated,
// and shifted by the outcomes since. It is immutable. Its JSON form is exact.
type Chance struct {
	logistic    *Logistic
	calibration Calibration
	shift       Shift
}

// ChanceOptions says how FitChance fits. The zero value is usable.
type ChanceOptions struct {
	// Logistic is for every fit. If C is 0, it is chosen with the columns: of 1, 0.1 and
	// 0.01, each with a separate elimination, the one with the best model.
	Logistic LogisticOptions
	// Validation is the share of the rows, the latest, on which the model is judged. 0
	// is 0.3.
	Validation float64
}

// ChanceReport says how a model was made, and how good it is on rows later than those
// that it was made from.
type ChanceReport struct {
	Fitted     int               `json:"fitted"` // rows before the judging rows
	C          float64           `json:"c"`
	Columns    []int             `json:"columns"` // the columns that are kept, ascending
	Path       []EliminationStep `json:"path"`
	Calibrated string            `json:"calibrated"` // Uncalibrated, Platt or Isotonic
	Trials     []Trial           `json:"trials"`
	// Model is the model as used in service, shifted by each outcome before the next
	// row. Still is the same without shifts.
	Model Figures `json:"model"`
	Still Figures `json:"still"`
	// BaseRate predicts for each row how often the fitted rows were true. LastOutcome
	// predicts how often rows were true that came after a row with the same outcome as
	// the row before.
	BaseRate    Figures `json:"baseRate"`
	LastOutcome Figures `json:"lastOutcome"`
	// Beats reports that Model has a lower log loss and a lower Brier score than both.
	// A model without that is not to be used.
	Beats bool `json:"beats"`
}

// Figures judge chances against outcomes.
type Figures struct {
	Rows             int     `json:"rows"`
	LogLoss          float64 `json:"logLoss"`
	Brier            float64 `json:"brier"`
	AUC              float64 `json:"auc"`
	CalibrationError float64 `json:"calibrationError"` // of 10 bins
}

// Judge returns the figures of chances p of rows with outcomes y.
func Judge(p []float64, y []bool) Figures {
	return Figures{len(p), LogLoss(p, y), Brier(p, y), AUC(p, y), CalibrationError(p, y, 10)}
}

// fewest is how many rows FitChance needs before the judging rows: with fewer, a
// smoothed Rate is as good.
const fewest = 30

// FitChance makes a model from rows in time order. The rows are as in FitLogistic, and
// those of weight 0 are left out everywhere. The result depends only on the arguments.
//
// The latest rows judge. The rows before them are split again: three fifths for the fit,
// two fifths to choose C, the columns (as Eliminate does) and the calibration
// (Calibrate). The choice is by the log loss of chances that are shifted as in service,
// so a drift that the shift follows has no influence on it. If no calibration is chosen,
// the regression is fitted once more to both parts. Else it stays as it is, since a
// calibration is right only for the model that it was fitted to. The judging rows have no
// part in the model that they judge. The returned model is made in the same way from all
// rows. So the figures are those of a twin that was made from fewer rows; C, Columns,
// Path, Calibrated and Trials are of the returned model.
//
// Columns are used as they are given: counts with a long tail tell more as logarithms.
//
// Weights count in the fits. Rows that choose or judge all count alike.
func FitChance(x [][]float64, y []bool, w []float64, opt ChanceOptions) (*Chance, *ChanceReport, error) {
	all, err := checked(x, y, w)
	if err != nil {
		return nil, nil, err
	}
	earlier, later, err := all.hold(opt.Validation)
	if err != nil {
		return nil, nil, err
	}
	n := len(earlier.x)
	if n < fewest {
		return nil, nil, fmt.Errorf("predict: %d rows before those that judge are too few to learn from, %d are needed", n, fewest)
	}
	var made [2]*Chance // the twin, then the returned model
	r := &ChanceReport{Fitted: n}
	for i, rows := range [...]rows{earlier, all} {
		if made[i], err = makeChance(rows, opt.Logistic, r); err != nil {
			return nil, nil, err
		}
	}
	still := later.said(made[0].Prob)
	r.Still, r.Model = Judge(still, later.y), Judge(followed(still, later.y), later.y)
	base, last := baselines(all.y, n)
	r.BaseRate, r.LastOutcome = Judge(base, later.y), Judge(last, later.y)
	r.Beats = r.Model.LogLoss < min(r.BaseRate.LogLoss, r.LastOutcome.LogLoss) &&
		r.Model.Brier < min(r.BaseRate.Brier, r.LastOutcome.Brier)
	return made[1], r, nil
}

// choosing is the share of rows that chooses.
const choosing = 0.4

// makeChance chooses and fits, and writes its choices into r.
func makeChance(all rows, opt LogisticOptions, r *ChanceReport) (*Chance, error) {
	earlier, later := all.split(choosing)
	d := newDesign(earlier)
	judge := func(l *Logistic) float64 { return LogLoss(followed(later.said(l.Prob), later.y), later.y) }
	grid := []float64{opt.C}
	if opt.C == 0 {
		grid = []float64{1, 0.1, 0.01}
	}
	var l *Logistic
	var path []EliminationStep
	least := math.Inf(1)
	for _, c := range grid {
		with := opt
		with.C = c
		m, steps, err := eliminate(d, judge, with)
		if err != nil {
			return nil, err
		}
		if loss := judge(m); loss < least {
			least, l, path, opt.C = loss, m, steps, c
		}
	}
	c := &Chance{}
	c.calibration, r.Trials = Calibrate(later.said(l.Prob), later.y)
	r.C, r.Columns, r.Path, r.Calibrated = opt.C, l.columns(), path, c.calibration.Kind()
	if c.logistic = l; c.calibration.Kind() != Uncalibrated {
		return c, nil
	}
	var err error
	c.logistic, err = newDesign(all).fit(l.columns(), opt)
	return c, err
}

// baselines returns the predictions of base rate and last outcome for the rows from n
// on. Counts begin at one half.
func baselines(y []bool, n int) (base, last []float64) {
	var all Rate
	var after [2]Rate
	of := func(passed bool) *Rate {
		if passed {
			return &after[1]
		}
		return &after[0]
	}
	for i, v := range y[:n] {
		all = all.Observe(v, math.Inf(1))
		if i > 0 {
			r := of(y[i-1])
			*r = r.Observe(v, math.Inf(1))
		}
	}
	for i := range y[n:] {
		base = append(base, all.Mean(0.5, 1))
		last = append(last, of(y[n+i-1]).Mean(0.5, 1))
	}
	return base, last
}

// Prob returns the chance of a row, shifted. Rows are as in Logistic.LogOdds.
func (c *Chance) Prob(x []float64) float64 { return c.shift.Apply(c.still(x)) }

// still returns the chance of a row before any shift.
func (c *Chance) still(x []float64) float64 { return c.calibration.Apply(c.logistic.Prob(x)) }

// After returns the model with the outcome of one more row.
func (c *Chance) After(x []float64, passed bool) *Chance {
	next := *c
	next.shift = c.shift.Observe(c.still(x), passed)
	return &next
}

// Explanation says how a chance came about.
type Explanation struct {
	Bias       float64   `json:"bias"`       // log-odds of an average row
	Columns    []float64 `json:"columns"`    // what each column adds, in log-odds
	Raw        float64   `json:"raw"`        // chance of bias and columns
	Calibrated float64   `json:"calibrated"` // Raw, calibrated
	Shift      float64   `json:"shift"`      // log-odds, added to Calibrated
	Prob       float64   `json:"prob"`
}

// Explain returns how Prob comes to its answer.
func (c *Chance) Explain(x []float64) Explanation {
	raw := c.logistic.Prob(x)
	return Explanation{
		Bias:       c.logistic.Bias(),
		Columns:    c.logistic.Contributions(x, nil),
		Raw:        raw,
		Calibrated: c.calibration.Apply(raw),
		Shift:      c.shift.By,
		Prob:       c.Prob(x),
	}
}

// Columns returns the columns that Prob looks at, ascending.
func (c *Chance) Columns() []int { return c.logistic.columns() }

// chanceJSON is the stored form.
type chanceJSON struct {
	Logistic    *Logistic    `json:"logistic"`
	Calibration *Calibration `json:"calibration"`
	Shift       Shift        `json:"shift"`
}

// MarshalJSON implements json.Marshaler.
func (c *Chance) MarshalJSON() ([]byte, error) {
	return json.Marshal(chanceJSON{c.logistic, &c.calibration, c.shift})
}

// UnmarshalJSON implements json.Unmarshaler. It refuses values that FitChance and After
// cannot have made, so that a model that was read never answers NaN.
func (c *Chance) UnmarshalJSON(data []byte) error {
	var in chanceJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if in.Logistic == nil || in.Calibration == nil {
		return errors.New("predict: a model of a chance lacks its regression or its calibration")
	}
	if math.Abs(in.Shift.By) > shiftBound || in.Shift.Information < 0 || in.Shift.Information > shiftMemory {
		return errors.New("predict: the shift of a chance is out of range")
	}
	*c = Chance{in.Logistic, *in.Calibration, in.Shift}
	return nil
}
