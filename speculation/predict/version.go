package predict

import (
	"encoding/json"

	"github.com/submitqueue/submitqueue/queue"
)

// Learn makes the version of a model that a queue asks for, from its event archive. The
// version number is the seed, so the same archive gives the same model. Errors are those
// of Train.
func Learn(rows []queue.Row, t queue.Learn, now queue.Instant, opt TrainOptions) (*queue.Model, error) {
	opt.Seed = uint64(t.Version)
	trained, err := Train(Samples(rows), opt)
	if err != nil {
		return nil, err
	}
	m, err := trained.Version()
	if err != nil {
		return nil, err
	}
	m.Version, m.At, m.Cause = t.Version, now, t.Cause
	return m, nil
}

// Version returns the record that a queue keeps of a model that was learned from its
// changes: all but when, why and as which version. It is an error if the model cannot be
// JSON, such as a figure that is NaN.
func (t *Trained) Version() (*queue.Model, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	r := t.report
	m := &queue.Model{Changes: r.Changes, First: queue.Instant(r.From), Last: queue.Instant(r.To), Text: string(text),
		Good: queue.ModelPart{Used: r.Success.Why == "", Why: r.Success.Why},
		Took: queue.ModelPart{Used: r.Duration.Why == "", Why: r.Duration.Why}}
	if s := r.Success.Report; s != nil {
		m.Good.Figures = []queue.ModelFigures{s.Model.named("model"), s.BaseRate.named("base rate"), s.LastOutcome.named("last outcome")}
	}
	if d := r.Duration; d.Model.Rows > 0 {
		m.Took.Figures = []queue.ModelFigures{d.Model.named("model"), d.Median.named("median")}
		if d.Estimate.Rows > 0 {
			m.Took.Figures = append(m.Took.Figures, d.Estimate.named("estimate"))
		}
	}
	return m, nil
}

func (f Figures) named(name string) queue.ModelFigures {
	return queue.ModelFigures{Name: name, Rows: f.Rows, LogLoss: f.LogLoss, Brier: f.Brier, AUC: f.AUC, Calibration: f.CalibrationError}
}

func (f DurationFigures) named(name string) queue.ModelFigures {
	return queue.ModelFigures{Name: name, Rows: f.Rows, MAPE: f.MAPE, NLL: f.NLL, Coverage: f.Coverage}
}
