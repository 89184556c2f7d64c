package predict_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// history draws changes in time order. The outcome of one follows from how its author
// and the repository have fared, and a little from its size; the other columns say
// nothing. truth is the chance that each was drawn with: no model can know more.
func history(seed uint64, rows int, drift float64) (x [][]float64, y []bool, truth []float64) {
	s := stream(seed)
	authors := make([]predict.Rate, 30)
	own := make([]float64, len(authors))
	for i := range own {
		own[i] = 1.2 * s.normal()
	}
	var all predict.Rate
	last := 1.0
	for i := range rows {
		a := int(s.u() * s.u() * float64(len(authors)))
		rate := predict.Smooth(0.8, 4, all, authors[a])
		lines := math.Exp(1.5 * s.normal())
		eta := 0.6*math.Log(rate/(1-rate)) + 0.9*last - 0.15*math.Log1p(lines) + 0.6*own[a]
		if i > rows*3/4 {
			eta += drift
		}
		row := []float64{math.Log(rate / (1 - rate)), last, math.Log1p(lines), own[a]}
		for range 8 {
			row = append(row, s.normal()*50)
		}
		row = append(row, 1)
		if s.u() < 0.1 {
			row[4] = math.NaN()
		}
		p := chanceOf(eta)
		passed := s.u() < p
		x, y, truth = append(x, row), append(y, passed), append(truth, p)
		all, authors[a] = all.Observe(passed, 300), authors[a].Observe(passed, 30)
		if last = 0; passed {
			last = 1
		}
	}
	return x, y, truth
}

func mustFitChance(t rapid.TB, x [][]float64, y []bool) (*predict.Chance, *predict.ChanceReport) {
	t.Helper()
	c, r, err := predict.FitChance(x, y, nil, predict.ChanceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c, r
}

func TestChanceIsNearTheBound(t *testing.T) {
	storetest.OneOf(t, 3)
	for seed := range uint64(5) {
		x, y, truth := history(seed, 6000, 0)
		c, r := mustFitChance(t, x, y)
		bound := predict.Judge(truth[r.Fitted:], y[r.Fitted:])
		t.Logf("seed %d: AUC %.3f of %.3f, Brier %.4f of %.4f, base rate %.4f, last outcome %.4f, error %.3f; %s, C %g, columns %v",
			seed, r.Model.AUC, bound.AUC, r.Model.Brier, bound.Brier, r.BaseRate.Brier, r.LastOutcome.Brier, r.Model.CalibrationError, r.Calibrated, r.C, r.Columns)
		for what, f := range map[string]predict.Figures{"still": r.Still, "shifted": r.Model} {
			if f.AUC < bound.AUC-0.01 || f.Brier > bound.Brier+0.003 || f.LogLoss > bound.LogLoss+0.01 {
				t.Errorf("seed %d, %s: %+v, the bound is %+v", seed, what, f, bound)
			}
		}
		if r.Model.CalibrationError > 0.04 || !r.Beats || r.Fitted != 4200 || r.Model.Rows != 1800 {
			t.Errorf("seed %d: %+v", seed, r)
		}
		if !slices.Equal(r.Columns, c.Columns()) || !slices.Contains(r.Columns, 0) || slices.Contains(r.Columns, 12) {
			t.Errorf("seed %d: kept %v", seed, r.Columns)
		}
	}
}

// unseen draws changes of a repository whose health and whose authors' care are not
// seen: columns are what their outcomes have shown so far, and the size.
func unseen(seed uint64, n int) (x [][]float64, y []bool) {
	s := stream(seed)
	own := make([]float64, 20)
	for i := range own {
		own[i] = s.normal() / 2
	}
	authors := make([]predict.Rate, len(own))
	var short, middle, long predict.Rate
	var health, streak float64
	for range n {
		health = 0.97*health + 0.35*s.normal()
		a := int(s.u() * s.u() * float64(len(own)))
		lines := 2 + 1.8*s.normal()
		p := chanceOf(1.5 + health + own[a] - 0.1*lines)
		x = append(x, []float64{short.Mean(0.8, 2), middle.Mean(0.8, 3), long.Mean(0.8, 5), authors[a].Mean(0.8, 4), streak, lines, math.Floor(s.u() * 10)})
		passed := s.u() < p
		y = append(y, passed)
		short, middle, long = short.Observe(passed, 4), middle.Observe(passed, 15), long.Observe(passed, 100)
		if authors[a] = authors[a].Observe(passed, 30); passed {
			streak = max(streak, 0) + 1
		} else {
			streak = min(streak, 0) - 1
		}
	}
	return x, y
}

// TestChanceKeepsUpWithItsRegression: with few rows, and health that no column shows, the
// choices made never do much harm, and on average hardly any; where most columns are
// noise, they gain a lot.
func TestChanceKeepsUpWithItsRegression(t *testing.T) {
	storetest.OneOf(t, 3)
	for _, c := range []struct {
		rows, seeds int
		auc, brier  float64 // how much worse they may be
		draw        func(seed uint64, rows int) ([][]float64, []bool)
	}{
		{1000, 24, 0.014, 0.0015, unseen},
		{4000, 8, 0.005, 0.0015, unseen},
		{300, 24, -0.03, -0.02, func(seed uint64, rows int) ([][]float64, []bool) { return noisy(seed, rows, 3, 27) }},
	} {
		var made, plain, base predict.Figures
		add := func(sum *predict.Figures, f predict.Figures) {
			sum.AUC += f.AUC / float64(c.seeds)
			sum.Brier += f.Brier / float64(c.seeds)
		}
		for seed := range uint64(c.seeds) {
			x, y := c.draw(seed, c.rows)
			_, r := mustFitChance(t, x, y)
			l := mustFit(t, x[:r.Fitted], y[:r.Fitted], nil, predict.LogisticOptions{})
			var p []float64
			for _, row := range x[r.Fitted:] {
				p = append(p, l.Prob(row))
			}
			one := predict.Judge(p, y[r.Fitted:])
			if r.Model.Brier > one.Brier+0.025 {
				t.Errorf("%d rows, seed %d: Brier %.4f, of the plain regression %.4f", c.rows, seed, r.Model.Brier, one.Brier)
			}
			add(&made, r.Model)
			add(&plain, one)
			add(&base, r.BaseRate)
		}
		t.Logf("%d rows: AUC %.4f, plain %.4f; Brier %.4f, plain %.4f, base rate %.4f", c.rows, made.AUC, plain.AUC, made.Brier, plain.Brier, base.Brier)
		if made.AUC < plain.AUC-c.auc || made.Brier > plain.Brier+c.brier || made.Brier > base.Brier-0.01 {
			t.Errorf("%d rows: AUC %.4f and Brier %.4f, of the plain regression %.4f and %.4f", c.rows, made.AUC, made.Brier, plain.AUC, plain.Brier)
		}
	}
}

func TestChanceFollowsDrift(t *testing.T) {
	x, y, _ := history(9, 6000, -1.2)
	_, r := mustFitChance(t, x, y)
	if r.Model.LogLoss > r.Still.LogLoss-0.005 || r.Model.CalibrationError > r.Still.CalibrationError {
		t.Errorf("shifted %+v, still %+v", r.Model, r.Still)
	}
}

func TestChanceOfNoiseDoesNotHarm(t *testing.T) {
	for seed := range uint64(4) {
		x, y := noisy(seed, 1000, 0, 10)
		_, r := mustFitChance(t, x, y)
		if r.Model.LogLoss > r.BaseRate.LogLoss+0.02 {
			t.Errorf("seed %d: %+v, the base rate has %+v", seed, r.Model, r.BaseRate)
		}
		if r.Beats && r.Model.LogLoss >= r.BaseRate.LogLoss {
			t.Errorf("seed %d: it says that it beats %+v with %+v", seed, r.BaseRate, r.Model)
		}
	}
}

// TestChanceOfRareOutcomes: one pair of a hundred conflicts.
func TestChanceOfRareOutcomes(t *testing.T) {
	var short float64
	for seed := range stream(4) {
		s := 100 + seed
		var x [][]float64
		var y []bool
		var truth []float64
		for range 12000 {
			shared, same := math.Log1p(math.Floor(s.u()*s.u()*30)), math.Floor(s.u()*1.2)
			p := chanceOf(-6.5 + 0.9*shared + 1.2*same)
			x, y, truth = append(x, []float64{shared, same, s.normal()}), append(y, s.u() < p), append(truth, p)
		}
		_, r := mustFitChance(t, x, y)
		bound := predict.Judge(truth[r.Fitted:], y[r.Fitted:])
		short += (bound.AUC - r.Model.AUC) / 4
		if r.Model.LogLoss > bound.LogLoss+0.002 || r.Model.CalibrationError > 0.01 || !r.Beats {
			t.Errorf("%+v, the bound is %+v", r, bound)
		}
	}
	if short > 0.01 {
		t.Errorf("the AUCs are on average %g below the bound", short)
	}
}

func TestBaselinesByHand(t *testing.T) {
	// Passes and failures take turns: the last outcome says all, the rate nothing.
	x, y := make([][]float64, 100), make([]bool, 100)
	for i := range y {
		x[i], y[i] = []float64{0}, i%2 == 0
	}
	_, r := mustFitChance(t, x, y)
	wantNear(t, "base rate", r.BaseRate.Brier, 0.25)
	// Of 70 rows, 35 came after a pass, none of them passed; 34 after a failure, all passed.
	wantNear(t, "last outcome", r.LastOutcome.LogLoss, -(math.Log(1-0.5/36)+math.Log(34.5/35))/2)
	if r.Beats {
		t.Error("it says that it beats the last outcome")
	}
}

func TestChanceSeesOnlyThePast(t *testing.T) {
	x, y, _ := history(2, 1000, 0)
	_, before := mustFitChance(t, x, y)
	// The rows that judge, judged the other way: the baselines, made before them, stay.
	other := slices.Clone(y)
	for i := before.Fitted; i < len(other); i++ {
		other[i] = !other[i]
	}
	_, after := mustFitChance(t, x, other)
	if math.Abs(before.Still.AUC+after.Still.AUC-1) > 1e-9 {
		t.Errorf("AUC %g, with the opposite outcomes %g: the model that is judged knows what judges it", before.Still.AUC, after.Still.AUC)
	}
}

func TestChanceExplains(t *testing.T) {
	x, y, _ := history(3, 1500, 0)
	c, _ := mustFitChance(t, x, y)
	for i := range 50 {
		c = c.After(x[i], false)
	}
	e := c.Explain(x[700])
	sum := e.Bias
	for _, v := range e.Columns {
		sum += v
	}
	wantNear(t, "raw", e.Raw, chanceOf(sum))
	wantNear(t, "prob", e.Prob, chanceOf(math.Log(e.Calibrated/(1-e.Calibrated))+e.Shift))
	if e.Prob != c.Prob(x[700]) || e.Shift >= 0 || len(e.Columns) != 13 {
		t.Errorf("%+v", e)
	}
}

func TestChanceStaysAsItIs(t *testing.T) {
	x, y, _ := history(3, 1500, 0)
	c, _ := mustFitChance(t, x, y)
	p := c.Prob(x[0])
	next := c.After(x[0], false)
	if c.Prob(x[0]) != p || !(next.Prob(x[0]) < p) {
		t.Errorf("%g became %g; after a failure %g", p, c.Prob(x[0]), next.Prob(x[0]))
	}
	if n := testing.AllocsPerRun(100, func() { next.Prob(x[1]) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
	again, _ := mustFitChance(t, x, y)
	if !reflect.DeepEqual(c, again) {
		t.Error("the same rows give another model")
	}
}

func TestChanceLeavesOutRowsWithoutWeight(t *testing.T) {
	x, y, _ := history(3, 600, 0)
	c, r := mustFitChance(t, x, y)
	var wx [][]float64
	var wy []bool
	var w []float64
	for i := range x {
		wx, wy, w = append(wx, x[i], x[0]), append(wy, y[i], false), append(w, 1, 0)
	}
	wc, wr, err := predict.FitChance(wx, wy, w, predict.ChanceOptions{})
	if err != nil || !reflect.DeepEqual(c, wc) || !reflect.DeepEqual(r, wr) {
		t.Errorf("%v: %+v and %+v", err, r, wr)
	}
}

func TestFitChanceSaysWhatIsWrong(t *testing.T) {
	x, y, _ := history(3, 100, 0)
	for _, c := range []struct {
		n    int
		opt  predict.ChanceOptions
		want string
	}{
		{0, predict.ChanceOptions{}, "no rows"},
		{42, predict.ChanceOptions{}, "29 rows before those that judge are too few to learn from, 30 are needed"},
		{100, predict.ChanceOptions{Validation: -1}, "cannot judge"},
		{100, predict.ChanceOptions{Validation: 0.999}, "too few"},
		{100, predict.ChanceOptions{Validation: 0.98}, "too few"},
		{100, predict.ChanceOptions{Logistic: predict.LogisticOptions{C: math.Inf(1)}}, "out of range"},
		{100, predict.ChanceOptions{Logistic: predict.LogisticOptions{Steps: 1}}, "does not converge"},
		{100, predict.ChanceOptions{Logistic: predict.LogisticOptions{Steps: 1, C: 1}}, "does not converge"},
	} {
		_, _, err := predict.FitChance(x[:c.n], y[:c.n], nil, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestChanceRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := stream(rapid.Uint64().Draw(t, "seed"))
		n, d := rapid.IntRange(44, 120).Draw(t, "rows"), rapid.IntRange(0, 4).Draw(t, "columns")
		slope := rapid.SampledFrom([]float64{0, 1, 100}).Draw(t, "slope")
		offset := rapid.SampledFrom([]float64{0, -3, 50}).Draw(t, "offset")
		var x [][]float64
		var y []bool
		for range n {
			row := make([]float64, d)
			eta := offset
			for j := range row {
				row[j] = s.normal()
				eta += slope * row[j]
			}
			x, y = append(x, row), append(y, s.u() < chanceOf(eta))
		}
		c, _ := mustFitChance(t, x, y)
		for i, row := range x {
			c = c.After(row, y[n-1-i])
		}
		text, err := json.Marshal(c)
		var back predict.Chance
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(*c, back) {
			t.Fatalf("%v: %s", err, text)
		}
		e := c.Explain(x[0])
		for _, row := range x {
			p := c.Prob(row)
			if !(p > 0 && p < 1) {
				t.Fatalf("%g", p)
			}
			for j := range row {
				more := slices.Clone(row)
				more[j] += 0.5
				sign := c.Explain(more).Raw - c.Explain(row).Raw
				if q := c.Prob(more); sign > 0 && q < p-1e-12 || sign < 0 && q > p+1e-12 {
					t.Fatalf("column %d, raw by %g: %g becomes %g", j, sign, p, q)
				}
			}
		}
		if e.Prob != c.Prob(x[0]) {
			t.Fatal("the explanation is of another chance")
		}
	})
}

func TestChanceRefusesRubbish(t *testing.T) {
	for _, text := range []string{
		`1`, `null`, `{"logistic":1}`, `{"logistic":{},"shift":{}}`, `{"calibration":{"kind":"none"}}`,
		`{"logistic":{},"calibration":{"kind":"none"},"shift":{"by":-1.1}}`,
		`{"logistic":{},"calibration":{"kind":"none"},"shift":{"information":-1}}`,
		`{"logistic":{},"calibration":{"kind":"none"},"shift":{"information":201}}`,
	} {
		var c predict.Chance
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("%s is a model", text)
		}
	}
}

// FuzzChance: a text is refused, or is a model that answers with chances and is written
// as it was read.
func FuzzChance(f *testing.F) {
	x, y, _ := history(3, 400, 0)
	c, _ := mustFitChance(f, x, y)
	text, err := json.Marshal(c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, s := range []string{
		`{}`, `null`, `{"logistic":null,"calibration":{"kind":"none"}}`, `{"logistic":{},"calibration":{"kind":"none"},"shift":{"by":2}}`,
		`{"logistic":{"bias":1e100,"width":1,"terms":[{"column":0,"weight":1e100,"mean":0,"sd":1e-300}]},"calibration":{"kind":"platt","slope":1e6,"offset":-1e9},"shift":{"by":1,"information":200}}`,
		`{"logistic":{"bias":-0,"width":2,"terms":[{"column":1,"weight":-1,"mean":1e308,"sd":1}]},"calibration":{"kind":"isotonic","at":[0.1,0.1,1],"to":[0,0.5,1]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var c predict.Chance
		if err := json.Unmarshal(text, &c); err != nil {
			return
		}
		for _, row := range [][]float64{nil, {0, 0, 0}, {1, -1}, {math.NaN()}, {math.Inf(1), math.Inf(-1)}, {math.MaxFloat64, -math.MaxFloat64}, {5e-324}} {
			p := c.Prob(row)
			if !(p >= 0 && p <= 1) {
				t.Fatalf("%g of %v", p, row)
			}
			next := c.After(row, p < 0.5)
			if q := next.Prob(row); !(q >= 0 && q <= 1) {
				t.Fatalf("then %g of %v", q, row)
			}
			c.Explain(row)
		}
		out, err := json.Marshal(&c)
		if err != nil {
			t.Fatal(err)
		}
		var back predict.Chance
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if again, err := json.Marshal(&back); err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%s became %s", out, again)
		}
	})
}

// BenchmarkFitChance makes a model of 20,000 rows of 30 columns, 24 of which say nothing.
func BenchmarkFitChance(b *testing.B) {
	x, y := noisy(1, 20000, 6, 23)
	for b.Loop() {
		mustFitChance(b, x, y)
	}
}
