package predict

import (
	"fmt"
	"math"
	"slices"
)

// FewestDecided is how many decided changes Train needs.
const FewestDecided = 300

// fewestBuilt is how many changes with a build that was not aborted a model of durations
// needs.
const fewestBuilt = 200

// judging is the share of the rows, the latest, on which durations are judged.
const judging = 0.3

// TrainOptions say how Train learns. The zero value is usable.
type TrainOptions struct {
	Seed     uint64
	Stages   int               // at most, of each kind, for the model of durations; 0: 600
	Progress func(what string) // called before each part; may be nil
	Pause    func() error      // called now and then; may be nil. If it returns an error, Train ends the training and returns that error
}

// Report says how a model was made, and how good each part is on changes later than those
// that it was fitted to.
type Report struct {
	Changes  int            `json:"changes"` // decided
	Landed   int            `json:"landed"`  // of these
	Sound    int            `json:"sound"`   // landed, or believed to have broken with others alone
	From     int64          `json:"from"`    // arrival of the first, in milliseconds since 1970
	To       int64          `json:"to"`      // arrival of the last, too
	Success  SuccessReport  `json:"success"`
	Duration DurationReport `json:"duration"`
}

// SuccessReport is about the chance that a change is sound on its own.
type SuccessReport struct {
	Why    string        `json:"why,omitempty"` // why why it is not used; empty: it is used used
	Report *ChanceReport `json:"report,omitempty"`
}

// DurationReport is about how long a change builds.
type DurationReport struct {
	Why    string          `json:"why,omitempty"` // it is not used; empty: it is
	Fitted int             `json:"fitted"`        // rows before the judging rows
	Model  DurationFigures `json:"model"`
	Median DurationFigures `json:"median"` // the median of the fitted rows, with their spread
	// Estimate is the queue's own estimate, from the histories of the targets, with its usual
	// error and spread taken from the fitted rows. It is zero if fewer than half of the rows
	// have one.
	Estimate DurationFigures `json:"estimate,omitzero"`
}

// DurationFigures judge predicted durations against the actual ones.
type DurationFigures struct {
	Rows     int     `json:"rows"`
	MAPE     float64 `json:"mape"` // of the medians, in per cent
	NLL      float64 `json:"nll"`
	Coverage float64 `json:"coverage"` // share within the central 90 %
}

// Train makes a model of the changes of a queue, in time order (Samples). It is
// deterministic for its arguments. A part that does not beat its baselines on the later
// changes is not used, and the report says why: log loss and Brier score of the chance
// against base rate and last outcome (ChanceReport.Beats); MAPE and negative log likelihood
// of the duration against the median and the queue's own estimate.
//
// Success is fitted to whether a change was sound on its own (Sound), for changes that landed or
// failed: breaks with others belong to the rates of pairs, which the queue keeps. Durations are
// LogNormal, with the settings that models of this size were found to do best with.
//
// It is an error if fewer than FewestDecided changes are decided.
func Train(samples []Sample, opt TrainOptions) (*Trained, error) {
	var columns []string
	for _, f := range Features() {
		columns = append(columns, f.Name)
	}
	t, err := newTrained(columns)
	if err != nil {
		return nil, err
	}
	decided := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return !s.Decided })
	if len(decided) < FewestDecided {
		// People read it on the page of each queue, for its first 300 changes.
		return nil, fmt.Errorf("%d decided changes are too few to train on, %d are needed", len(decided), FewestDecided)
	}
	t.report = Report{Changes: len(decided), From: int64(decided[0].At), To: int64(decided[len(decided)-1].At)}
	for _, s := range decided {
		if s.Landed {
			t.report.Landed++
		}
		if s.Sound {
			t.report.Sound++
		}
	}
	if opt.Progress == nil {
		opt.Progress = func(string) {}
	}
	if opt.Pause == nil {
		opt.Pause = func() error { return nil }
	}
	if err := opt.Pause(); err != nil {
		return nil, err
	}
	opt.Progress(fmt.Sprintf("fitting the chance that a change is sound, to %d changes", len(decided)))
	t.fitGood(decided)
	built := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Took <= 0 })
	opt.Progress(fmt.Sprintf("fitting durations, to %d builds", len(built)))
	t.fitTook(built, opt)
	return t, opt.Pause()
}

// beaten is the reason why a part that its baselines beat is not used.
const beaten = "it does not beat its baselines on later changes"

func (t *Trained) fitGood(decided []Sample) {
	x, y := make([][]float64, len(decided)), make([]bool, len(decided))
	for i, s := range decided {
		x[i], y[i] = t.row(s.Case), s.Sound
	}
	if n := t.report.Sound; n == 0 || n == len(decided) {
		t.report.Success.Why = "all changes ended alike"
		return
	}
	c, r, err := FitChance(x, y, nil, ChanceOptions{})
	if err != nil {
		t.report.Success.Why = err.Error()
		return
	}
	t.report.Success.Report = r
	if !r.Beats {
		t.report.Success.Why = beaten
		return
	}
	t.good = c
}

func (t *Trained) fitTook(built []Sample, opt TrainOptions) {
	n := len(built) - int(judging*float64(len(built)))
	r := &t.report.Duration
	r.Fitted = n
	earlier, later := built[:n], ended(built[n:])
	if len(ended(earlier)) < fewestBuilt*7/10 || len(later) < fewestBuilt/5 {
		r.Why = fmt.Sprintf("%d builds of all that a change affects were not aborted, %d are needed", len(ended(built)), fewestBuilt)
		return
	}
	twin, err := t.boost(earlier, opt)
	if err != nil {
		r.Why = err.Error()
		return
	}
	said := make([]Dist, len(later))
	for i, s := range later {
		said[i] = twin.Dist(t.row(s.Case))
	}
	median := medianOf(earlier)
	estimate, _ := estimateOf(earlier)
	_, known := estimateOf(later)
	r.Model, r.Median = judged(said, later), judged(each(later, func(Sample) Dist { return median }), later)
	if 2*known >= len(later) {
		r.Estimate = judged(each(later, func(s Sample) Dist {
			if d := estimate; s.Case.Estimate > 0 {
				d.Mu += math.Log(s.Case.Estimate)
				return d
			}
			return median
		}), later)
	}
	if !r.Model.beats(r.Median) || r.Estimate.Rows > 0 && !r.Model.beats(r.Estimate) {
		r.Why = beaten
		return
	}
	if t.took, err = t.boost(built, opt); err != nil {
		t.took, r.Why = nil, err.Error()
		return
	}
	t.typical = t.middle(built)
}

// middle returns the median of each column over the samples in which it is known, or 0 if
// there are none.
func (t *Trained) middle(built []Sample) []float64 {
	x := make([][]float64, len(built))
	for i, s := range built {
		x[i] = t.row(s.Case)
	}
	out := make([]float64, len(t.columns))
	for i := range out {
		var known []float64
		for _, row := range x {
			if !math.IsNaN(row[i]) {
				known = append(known, row[i])
			}
		}
		if slices.Sort(known); len(known) > 0 {
			out[i] = known[len(known)/2]
		}
	}
	return out
}

func (f DurationFigures) beats(g DurationFigures) bool { return f.MAPE < g.MAPE && f.NLL < g.NLL }

// boost fits durations.
func (t *Trained) boost(built []Sample, opt TrainOptions) (*NGBoost, error) {
	o := NGBoostOptions{Dist: LogNormal, Stages: opt.Stages, Rate: 0.05, RowFrac: 0.5, ColFrac: 0.5, MinLeaf: 5, Validation: 0.2, Patience: 100, Seed: opt.Seed, Pause: opt.Pause}
	if o.Stages == 0 {
		o.Stages = 600
	}
	o.MeanStages = o.Stages
	x, y := make([][]float64, len(built)), make([]float64, len(built))
	o.Censored = make([]bool, len(built))
	for i, s := range built {
		x[i], y[i], o.Censored[i] = t.row(s.Case), s.Took, s.Censored
	}
	return FitNGBoost(x, y, o)
}

// ended returns the samples of builds that were not aborted.
func ended(built []Sample) []Sample {
	return slices.DeleteFunc(slices.Clone(built), func(s Sample) bool { return s.Censored })
}

func each(list []Sample, of func(Sample) Dist) []Dist {
	out := make([]Dist, len(list))
	for i, s := range list {
		out[i] = of(s)
	}
	return out
}

// leastSigma keeps a baseline from being certain.
const leastSigma = 0.01

// spreadOf returns the LogNormal with a logarithm that has the mean and the deviation of logs.
func spreadOf(logs []float64) Dist {
	mu, square := 0.0, 0.0
	for _, v := range logs {
		mu += v / float64(len(logs))
	}
	for _, v := range logs {
		square += (v - mu) * (v - mu) / float64(len(logs))
	}
	return Dist{LogNormal, mu, max(leastSigma, math.Sqrt(square))}
}

func medianOf(built []Sample) Dist {
	var logs []float64
	for _, s := range ended(built) {
		logs = append(logs, math.Log(s.Took))
	}
	d := spreadOf(logs)
	slices.Sort(logs)
	d.Mu = logs[len(logs)/2]
	return d
}

// estimateOf returns by how much, in logarithms, durations differ from the queue's
// estimates, and how many of them have an estimate.
func estimateOf(built []Sample) (Dist, int) {
	var logs []float64
	for _, s := range ended(built) {
		if s.Case.Estimate > 0 {
			logs = append(logs, math.Log(s.Took/s.Case.Estimate))
		}
	}
	if len(logs) == 0 {
		return Dist{LogNormal, 0, 1}, 0
	}
	return spreadOf(logs), len(logs)
}

// judged returns the figures of predictions.
func judged(said []Dist, came []Sample) DurationFigures {
	n := Normals{Log: true}
	var point, y []float64
	for i, d := range said {
		n.Mu, n.Sigma = append(n.Mu, d.Mu), append(n.Sigma, d.Sigma)
		point, y = append(point, math.Exp(d.Mu)), append(y, came[i].Took)
	}
	return DurationFigures{Rows: len(y), MAPE: MAPE(point, y), NLL: n.NLL(y), Coverage: Coverage(n.PIT(y), 0.9)}
}
