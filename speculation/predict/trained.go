package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Reader is a Model that reads cases. It is asked once for each analysis of a change, and
// its answer is kept with the change. So the answer does not change with the model.
type Reader interface {
	Model
	// GoodOf returns the chance, before any shift, that the change of a case lands.
	// false means that the model does not know, and Model.Good holds.
	GoodOf(*Case) (float64, bool)
	// DurationOf returns how many seconds building the whole of a change takes. false
	// means that the model does not know, and the histories of the targets are used.
	DurationOf(*Case) (Dist, bool)
}

// Trained is a model of one queue's past, made by Train. It is immutable. If none of its
// parts is used, it acts as the Prior that it embeds. Its JSON form is exact, has its
// version, and names its columns: a version of this package that has more of them can use
// it.
type Trained struct {
	Prior
	columns []string
	index   []int // of columns in Features
	report  Report
	good    *Chance   // nil: not used
	took    *NGBoost  // nil: not used
	typical []float64 // for took: the median of each column over the known values; 0: there are none
}

var _ Reader = (*Trained)(nil)

// Report returns how the model was made and judged.
func (t *Trained) Report() Report { return t.report }

// GoodOf implements Reader.
func (t *Trained) GoodOf(c *Case) (float64, bool) {
	if t.good == nil {
		return 0, false
	}
	return t.good.Prob(t.row(c)), true
}

// DurationOf implements Reader.
func (t *Trained) DurationOf(c *Case) (Dist, bool) {
	if t.took == nil {
		return Dist{}, false
	}
	return t.took.Dist(t.row(c)), true
}

// row returns the model's columns of a case.
func (t *Trained) row(c *Case) []float64 {
	all := c.Vector(nil)
	row := make([]float64, len(t.index))
	for i, at := range t.index {
		row[i] = all[at]
	}
	return row
}

// Reason is the effect of one column on a prediction.
type Reason struct {
	Column string
	Value  float64 // the value in the case; NaN: it is not known
	By     float64 // added to the log-odds, or to the logarithm of the duration
}

// ExplainGood returns how GoodOf comes to its answer, and the columns with an effect on
// it, the greatest effect first. false means that the model does not know.
func (t *Trained) ExplainGood(c *Case) (Explanation, []Reason, bool) {
	if t.good == nil {
		return Explanation{}, nil, false
	}
	e := t.good.Explain(t.row(c))
	return e, t.reasons(c, func(i int) float64 { return e.Columns[i] }), true
}

// ExplainDuration returns the answer of DurationOf, and by how much each column moves
// the logarithm of the median against a case with a typical value there, the greatest
// effect first. With trees, the effects do not add up to the whole. false means that
// the model does not know.
func (t *Trained) ExplainDuration(c *Case) (Dist, []Reason, bool) {
	d, ok := t.DurationOf(c)
	if !ok {
		return d, nil, false
	}
	row := t.row(c)
	return d, t.reasons(c, func(i int) float64 {
		was := row[i]
		row[i] = t.typical[i]
		without := t.took.Dist(row)
		row[i] = was
		return d.Mu - without.Mu
	}), true
}

func (t *Trained) reasons(c *Case, by func(int) float64) []Reason {
	known := c.Known()
	var out []Reason
	for i, name := range t.columns {
		v, ok := known[name]
		if !ok {
			v = math.NaN()
		}
		if x := by(i); x != 0 {
			out = append(out, Reason{name, v, x})
		}
	}
	slices.SortStableFunc(out, func(a, b Reason) int {
		switch x, y := math.Abs(a.By), math.Abs(b.By); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return out
}

// trainedVersion is the version of the JSON form.
const trainedVersion = 1

// storedTrained is the JSON form of a Trained.
type storedTrained struct {
	Model    int       `json:"model"` // trainedVersion
	Columns  []string  `json:"columns"`
	Report   Report    `json:"report"`
	Success  *Chance   `json:"success,omitempty"`
	Duration *NGBoost  `json:"duration,omitempty"`
	Typical  []float64 `json:"typical,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (t *Trained) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedTrained{trainedVersion, t.columns, t.report, t.good, t.took, t.typical})
}

// UnmarshalJSON implements json.Unmarshaler. It is an error if the text is no model, is of
// another version, or has columns that this version does not have.
func (t *Trained) UnmarshalJSON(text []byte) error {
	var s storedTrained
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("predict: no model: %w", err)
	}
	if s.Model == 0 {
		return errors.New("predict: this is no model: it lacks the member model")
	}
	if s.Model != trainedVersion {
		return fmt.Errorf("predict: a model of format %d; only %d can be read here", s.Model, trainedVersion)
	}
	read, err := newTrained(s.Columns)
	if err != nil {
		return err
	}
	if s.Success != nil && s.Success.logistic.width > len(s.Columns) {
		return fmt.Errorf("predict: a model of success with %d columns, of which %d have a name", s.Success.logistic.width, len(s.Columns))
	}
	if s.Duration != nil && (s.Duration.features != len(s.Columns) || len(s.Typical) != len(s.Columns)) {
		return fmt.Errorf("predict: a model of durations with %d columns, of which %d have a name", s.Duration.features, len(s.Columns))
	}
	if s.Duration != nil && s.Duration.family != LogNormal {
		return fmt.Errorf("predict: a model of durations that are %v", s.Duration.family)
	}
	read.report, read.good, read.took, read.typical = s.Report, s.Success, s.Duration, s.Typical
	*t = *read
	return nil
}

// newTrained returns a model with columns and without any part.
func newTrained(columns []string) (*Trained, error) {
	t := &Trained{Prior: Default, columns: columns}
	for i, name := range columns {
		at := slices.IndexFunc(features, func(f column[Case]) bool { return f.Name == name })
		if at < 0 || slices.Contains(columns[:i], name) {
			return nil, fmt.Errorf("predict: a model with a column %q, which is not known here or there twice", name)
		}
		t.index = append(t.index, at)
	}
	return t, nil
}
