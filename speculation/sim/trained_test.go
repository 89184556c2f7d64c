package sim

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// record runs ours and returns the event archive that it has written.
func record(t *testing.T, w *World, workers int) []queue.Row {
	t.Helper()
	var rows []queue.Row
	if _, err := (ours{}).Run(t.Context(), w, Options{Workers: workers, Record: func(r queue.Row) { rows = append(rows, r) }}); err != nil {
		t.Fatal(err)
	}
	return rows
}

// The archive of a world with features is enough to predict later changes better than by how
// often they land; and the queue runs with it.
func TestTrainedBeatsTheBaseRate(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	w := mustWorld(t, func(p *Params) { p.Changes, p.Seed, p.Broken, p.RatePerHour = fewer(2500, 1000), 5, 0.12, 100 })
	samples := predict.Samples(record(t, w, 150))
	m, err := predict.Train(samples, predict.TrainOptions{Seed: 1, Stages: 60})
	if err != nil {
		t.Fatal(err)
	}
	s := m.Report().Success
	if s.Why != "" {
		t.Fatalf("%s: %+v", s.Why, s.Report)
	}
	t.Logf("log loss %.4f, base rate %.4f; AUC %.3f", s.Report.Model.LogLoss, s.Report.BaseRate.LogLoss, s.Report.Model.AUC)
	if s.Report.Model.LogLoss > 0.95*s.Report.BaseRate.LogLoss || s.Report.Model.AUC < 0.68 {
		t.Errorf("log loss %.4f of %.4f, AUC %.3f", s.Report.Model.LogLoss, s.Report.BaseRate.LogLoss, s.Report.Model.AUC)
	}
	t.Logf("%+v", m.Report().Duration)
	next := mustWorld(t, func(p *Params) { p.Changes, p.Seed = 200, 6 })
	for _, o := range []Options{{Workers: 100}, {Workers: 100, Model: m}} {
		got, err := Measure(t.Context(), next, ours{}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.Bad() {
			t.Errorf("main was red: %+v", got)
		}
	}
}
