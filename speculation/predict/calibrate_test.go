package predict_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// said draws what a model says and what comes, by the true chance of what it says.
func said(seed uint64, n int, truth func(p float64) float64) (p []float64, y []bool) {
	s := stream(seed)
	for range n {
		v := s.u()
		p, y = append(p, v), append(y, s.u() < truth(v))
	}
	return p, y
}

func calibrated(c predict.Calibration, p []float64) []float64 {
	q := make([]float64, len(p))
	for i, v := range p {
		q[i] = c.Apply(v)
	}
	return q
}

func TestCalibrationIsChosen(t *testing.T) {
	for _, c := range []struct {
		name  string
		truth func(float64) float64
		want  []string
	}{
		{"right", func(p float64) float64 { return p }, []string{predict.Uncalibrated}},
		{"too sure", func(p float64) float64 { return chanceOf(0.4*math.Log(p/(1-p)) + 0.5) }, []string{predict.Platt}},
		{"a step", func(p float64) float64 {
			if p < 0.4 {
				return 0.1
			}
			return 0.8
		}, []string{predict.Isotonic}},
		{"upside down", func(p float64) float64 { return 1 - p }, []string{predict.Isotonic}},
	} {
		p, y := said(11, 4000, c.truth)
		k, trials := predict.Calibrate(p, y)
		if !slices.Contains(c.want, k.Kind()) {
			t.Errorf("%s: %s of %v", c.name, k.Kind(), trials)
		}
		fresh, came := said(12, 4000, c.truth)
		q := calibrated(k, fresh)
		if e := predict.CalibrationError(q, came, 10); e > 0.04 {
			t.Errorf("%s: %s leaves an error of %g", c.name, k.Kind(), e)
		}
	}
}

func TestIsotonicByHand(t *testing.T) {
	// As many rows again in the later half, so that the choice is made by the same.
	var p []float64
	var y []bool
	for range 2 * 200 {
		p = append(p, 0.2, 0.4, 0.6, 0.8)
		y = append(y, false, true, false, true)
	}
	c, _ := predict.Calibrate(p, y)
	if c.Kind() != predict.Isotonic {
		t.Fatal(c.Kind())
	}
	// 400 rows at each p; 0.4 and 0.6 violate and are pooled at 0.5, half of them true.
	const low, high = 0.5 / 400.5, 400 / 400.5
	for _, v := range []struct{ p, want float64 }{
		{0, low}, {0.2, low}, {0.5, 0.5}, {0.35, (low + 0.5) / 2}, {0.65, (high + 0.5) / 2}, {0.8, high}, {1, high},
	} {
		wantNear(t, "isotonic", c.Apply(v.p), v.want)
	}
}

func TestCalibrationOfFewRows(t *testing.T) {
	for n := range 6 {
		p, y := said(uint64(n), n, func(p float64) float64 { return p })
		c, trials := predict.Calibrate(p, y)
		if v := c.Apply(0.3); !(v > 0 && v < 1) || len(trials) == 0 {
			t.Errorf("%d rows: %g, %v", n, v, trials)
		}
	}
	if v := (predict.Calibration{}).Apply(0); v != 1e-4 {
		t.Errorf("0 becomes %g", v)
	}
	c, _ := predict.Calibrate([]float64{math.NaN(), math.NaN(), 0.5, 1}, make([]bool, 4))
	if v := c.Apply(0.5); v != v {
		t.Error("NaN spreads")
	}
}

func TestCalibrationRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slope, offset := rapid.Float64Range(-1, 3).Draw(t, "slope"), rapid.Float64Range(-3, 3).Draw(t, "offset")
		ties := rapid.SampledFrom([]float64{1, 10, 1e9}).Draw(t, "values")
		p, y := said(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 300).Draw(t, "rows"), func(p float64) float64 {
			return chanceOf(slope*math.Log(p/(1-p)) + offset)
		})
		for i := range p {
			p[i] = math.Round(p[i]*ties) / ties
		}
		c, trials := predict.Calibrate(p, y)
		raw := calibrated(predict.Calibration{}, p)
		if a, b := predict.LogLoss(calibrated(c, p), y), predict.LogLoss(raw, y); a > b+1e-12 {
			t.Fatalf("%s makes the log loss %g, was %g", c.Kind(), a, b)
		}
		for _, trial := range trials {
			if trial.Kind == c.Kind() && trial.LogLoss > trials[0].LogLoss {
				t.Fatalf("%s was chosen of %v", c.Kind(), trials)
			}
		}
		text, err := json.Marshal(c)
		var back predict.Calibration
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(c, back) {
			t.Fatalf("%s became %+v", text, back)
		}
		last := 0.0
		for _, v := range slices.Sorted(slices.Values(append(p, rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "at")...))) {
			q := c.Apply(v)
			if !(q >= last-1e-15 && q >= 1e-4 && q <= 1-1e-4) {
				t.Fatalf("%s of %g is %g after %g", c.Kind(), v, q, last)
			}
			last = q
		}
	})
}

func TestCalibrationRefusesRubbish(t *testing.T) {
	for _, text := range []string{
		`1`, `{}`, `{"kind":"other"}`, `{"kind":"platt"}`, `{"kind":"platt","slope":-1}`, `{"kind":"platt","slope":1,"offset":1e10}`,
		`{"kind":"isotonic"}`, `{"kind":"isotonic","at":[0.1],"to":[]}`, `{"kind":"isotonic","at":[0.2,0.1],"to":[0.1,0.2]}`,
		`{"kind":"isotonic","at":[0.1,0.2],"to":[0.2,0.1]}`, `{"kind":"isotonic","at":[0.1],"to":[2]}`,
	} {
		var c predict.Calibration
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("%s is a calibration", text)
		}
	}
}
