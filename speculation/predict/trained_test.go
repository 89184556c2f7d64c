package predict_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// past draws changes whose outcome follows from lines and author, and whose duration
// follows from affected targets, by as much as told says; 0 is noise alone.
func past(n int, seed uint64, told float64) []predict.Sample {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]predict.Sample, n)
	for i := range out {
		c := predict.NewCase()
		c.Affected, c.LinesAdded, c.AuthorSuccess = float64(1+r.IntN(200)), math.Exp(4*r.Float64()), r.Float64()
		if r.IntN(3) == 0 {
			c.Commits = float64(1 + r.IntN(5))
		}
		z := 1 + told*(3*(c.AuthorSuccess-0.5)-0.8*(math.Log(c.LinesAdded)-2))
		took := math.Exp(4 + told*0.8*math.Log1p(c.Affected) + 0.2*r.NormFloat64())
		out[i] = predict.Sample{Change: queue.ChangeID(fmt.Sprint(i)), Number: i, At: queue.Instant(1000 * (i + 1)), Case: c, Decided: true,
			Landed: r.Float64() < 1/(1+math.Exp(-z)), Took: took}
		out[i].Sound = out[i].Landed
		if r.IntN(10) == 0 {
			out[i].Took, out[i].Censored = took*r.Float64(), true
		}
	}
	return out
}

func mustTrain(t *testing.T, samples []predict.Sample) *predict.Trained {
	t.Helper()
	m, err := predict.Train(samples, predict.TrainOptions{Seed: 3, Stages: 60})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTrainedUsesWhatBeatsItsBaselines(t *testing.T) {
	samples := past(900, 1, 1)
	m := mustTrain(t, samples)
	r := m.Report()
	if r.Success.Why != "" || r.Duration.Why != "" || r.Changes != 900 || r.Landed == 0 || r.To <= r.From {
		t.Fatalf("%+v", r)
	}
	if r.Success.Report.Model.LogLoss >= r.Success.Report.BaseRate.LogLoss || r.Duration.Model.MAPE >= r.Duration.Median.MAPE || r.Duration.Estimate.Rows != 0 {
		t.Errorf("%+v", r)
	}
	if c := r.Duration.Model.Coverage; c < 0.8 || c > 0.98 {
		t.Errorf("of the 90 %% intervals %v hold", c)
	}
	good, bad := predict.NewCase(), predict.NewCase()
	good.AuthorSuccess, good.LinesAdded, good.Affected = 0.95, 2, 2
	bad.AuthorSuccess, bad.LinesAdded, bad.Affected = 0.05, 50, 150
	p, _ := m.GoodOf(good)
	q, ok := m.GoodOf(bad)
	short, _ := m.DurationOf(good)
	long, known := m.DurationOf(bad)
	if !ok || p <= q || !known || short.Quantile(0.5) >= long.Quantile(0.5) {
		t.Errorf("%v %v, %v %v", p, q, short, long)
	}
	e, why, ok := m.ExplainGood(bad)
	sum := e.Bias
	for _, w := range why {
		sum += w.By
	}
	if !ok || math.Abs(1/(1+math.Exp(-sum))-e.Raw) > 1e-9 || !slices.ContainsFunc(why, func(w predict.Reason) bool { return w.Column == "author_success" && w.By < 0 && w.Value == 0.05 }) {
		t.Errorf("%+v, %+v", e, why)
	}
	if _, why, ok := m.ExplainDuration(bad); !ok || len(why) == 0 || why[0].Column != "affected" || why[0].By <= 0 {
		t.Errorf("%+v", why)
	}
}

func TestTrainedFallsBack(t *testing.T) {
	m := mustTrain(t, past(600, 2, 0))
	r := m.Report()
	if r.Success.Why == "" || r.Duration.Why == "" || r.Success.Report == nil || r.Duration.Model.Rows == 0 {
		t.Fatalf("of noise something was learned: %+v", r)
	}
	c := predict.NewCase()
	if _, ok := m.GoodOf(c); ok {
		t.Error("it has a chance")
	}
	if _, ok := m.DurationOf(c); ok {
		t.Error("it has a duration")
	}
	if _, _, ok := m.ExplainGood(c); ok {
		t.Error("it explains a chance")
	}
	if _, _, ok := m.ExplainDuration(c); ok {
		t.Error("it explains a duration")
	}
	if m.Good(nil) != float64(predict.Default) || !m.Cold() {
		t.Error("it is not as on a first day")
	}
	// The queue's own estimate is a baseline, too, where it is better.
	samples := past(900, 1, 1)
	for i := range samples {
		samples[i].Case.Estimate = 1
	}
	known := mustTrain(t, samples).Report().Duration
	for i := range samples {
		samples[i].Took, samples[i].Censored = 100+float64(i%7), false
		samples[i].Case.Estimate = samples[i].Took * 1.3
	}
	if exact := mustTrain(t, samples).Report().Duration; known.Why != "" || known.Estimate.Rows == 0 || exact.Why == "" || exact.Estimate.MAPE > 1e-6 {
		t.Errorf("%+v\n%+v", known, exact)
	}
}

func TestTrainNeedsEnough(t *testing.T) {
	samples := past(400, 1, 1)
	for i := range samples {
		samples[i].Decided = i < 299
	}
	if _, err := predict.Train(samples, predict.TrainOptions{}); err == nil || err.Error() != "299 decided changes are too few to train on, 300 are needed" {
		t.Error(err)
	}
	for i := range samples {
		samples[i].Decided, samples[i].Landed, samples[i].Sound, samples[i].Took = true, true, true, 0
	}
	if r := mustTrain(t, samples).Report(); r.Success.Why != "all changes ended alike" || !strings.Contains(r.Duration.Why, "0 builds") {
		t.Errorf("%+v", r)
	}
}

func TestTrainedIsDeterministicAndComesBack(t *testing.T) {
	samples := past(700, 4, 1)
	a, err := json.Marshal(mustTrain(t, samples))
	if err != nil {
		t.Fatal(err)
	}
	m := mustTrain(t, samples)
	b, err := json.Marshal(m)
	if err != nil || !bytes.Equal(a, b) {
		t.Fatalf("two trainings differ: %v", err)
	}
	again := new(predict.Trained)
	if err := json.Unmarshal(a, again); err != nil {
		t.Fatal(err)
	}
	if c, err := json.Marshal(again); err != nil || !bytes.Equal(a, c) {
		t.Errorf("it does not come back: %v", err)
	}
	for _, s := range past(50, 9, 1) {
		p, _ := m.GoodOf(s.Case)
		q, _ := again.GoodOf(s.Case)
		d, _ := m.DurationOf(s.Case)
		e, _ := again.DurationOf(s.Case)
		if p != q || d != e {
			t.Fatalf("%v is %v, %v is %v", p, q, d, e)
		}
	}
	for what, want := range map[string]string{
		`{}`:                             "lacks the member model",
		`[]`:                             "no model",
		`{"model":2}`:                    "format 2",
		`{"model":1,"columns":["mood"]}`: `column "mood"`,
		`{"model":1,"columns":["files","files"]}`:                              `column "files"`,
		strings.Replace(string(a), `"columns":["affected",`, `"columns":[`, 1): "columns, of which",
	} {
		if err := json.Unmarshal([]byte(what), new(predict.Trained)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", what, err)
		}
	}
	// A version with its columns in another order reads them by name.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(a, &fields); err != nil {
		t.Fatal(err)
	}
	var columns []string
	if err := json.Unmarshal(fields["columns"], &columns); err != nil {
		t.Fatal(err)
	}
	columns[0], columns[5] = columns[5], columns[0]
	fields["columns"], _ = json.Marshal(columns)
	text, _ := json.Marshal(fields)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	c, swapped := predict.NewCase(), predict.NewCase()
	c.Affected, swapped.Commits = 120, 120
	d, _ := m.DurationOf(c)
	if e, _ := again.DurationOf(swapped); d != e {
		t.Errorf("%v is %v", d, e)
	}
}

func TestSamples(t *testing.T) {
	arrival := func(id string, at int) queue.Row {
		return queue.Row{At: queue.Instant(at), Arrival: &queue.ArrivalRow{Change: queue.ChangeID(id), Number: at, Arrival: 1, Affected: 2, Features: queue.Features{"files": 3, "mood": 1}}}
	}
	verdict := func(id string, o queue.Phase, why queue.ReasonCode) queue.Row {
		return queue.Row{At: 90000, Verdict: &queue.VerdictRow{Change: queue.ChangeID(id), Outcome: o, Reason: why}}
	}
	build := func(id, of string, asked, targets int, o queue.JobOutcome, took time.Duration) queue.Row {
		return queue.Row{At: queue.Instant(asked).Add(took), Build: &queue.BuildRow{Build: queue.BuildID(id), Change: queue.ChangeID(of), Asked: queue.Instant(asked),
			Started: queue.Instant(asked), Outcome: o, Steps: []queue.StepRow{{Step: "unit", Targets: targets}}}}
	}
	got := predict.Samples([]queue.Row{
		arrival("b", 20), arrival("a", 10), arrival("c", 30), arrival("d", 40),
		build("3", "a", 900, 2, queue.JobPassed, 9*time.Second), build("1", "a", 500, 1, queue.JobPassed, 5*time.Second), build("2", "a", 600, 2, queue.JobFailed, 6*time.Second),
		build("4", "b", 100, 2, queue.JobStopped, time.Second), build("5", "c", 100, 2, queue.JobInfra, time.Second), build("6", "", 1, 2, queue.JobPassed, 1),
		verdict("a", queue.Landed, ""), verdict("b", queue.Rejected, queue.ReasonFailed), verdict("c", queue.Cancelled, queue.ReasonPushed), verdict("x", queue.Landed, ""),
	})
	var said []string
	for _, s := range got {
		said = append(said, fmt.Sprint(s.Change, s.Number, s.Decided, s.Landed, s.Took, s.Censored, s.Case.Known()))
	}
	want := []string{"a10 true true 6 false map[files:3]", "b20 true false 1 true map[files:3]", "c30 false false 0 false map[files:3]", "d40 false false 0 false map[files:3]"}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}

// A first build of all targets is one, too, whose step ran in parts: on several runners, or apart
// for what is in quarantine. One of half of the targets is none, however often it ran them.
func TestSamplesOfBuildsInParts(t *testing.T) {
	key := func(target string) queue.Key { return queue.Key{Step: "s", Target: target, Hash: "h"} }
	took := func(divide bool, steps []config.Step, targets ...string) float64 {
		b := &queue.Build{ID: "b", Change: "1.a", At: 1, Started: 1}
		for _, s := range steps {
			j := queue.Job{Step: s}
			for _, x := range targets {
				j.Keys = append(j.Keys, key(x))
			}
			b.Jobs = append(b.Jobs, j)
		}
		if divide {
			b.Divide(0, []queue.Key{key("a"), key("c")})
		}
		return predict.Samples([]queue.Row{
			{At: 1, Arrival: &queue.ArrivalRow{Change: "1.a", Arrival: 1, Affected: 4}},
			{At: 60_001, Build: queue.NewBuildRow(b, queue.JobPassed)},
		})[0].Took
	}
	unit := config.Step{Name: "unit"}
	again := config.Step{Name: "unit", Repeat: 1}
	if got := took(false, []config.Step{unit}, "a", "b", "c", "d"); got != 60 {
		t.Errorf("in one piece it took %v s", got)
	}
	if got := took(true, []config.Step{unit}, "a", "b", "c", "d"); got != 60 {
		t.Errorf("in two parts it took %v s", got)
	}
	if got := took(false, []config.Step{unit, again}, "a", "b"); got != 0 {
		t.Errorf("half of it, twice, took %v s", got)
	}
}
