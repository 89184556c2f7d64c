package predict_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

func wantNear(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
		t.Errorf("%s is %.15g, want %.15g", what, got, want)
	}
}

func TestMetricsByHand(t *testing.T) {
	p := []float64{0.9, 0.8, 0.3, 0.1}
	y := []bool{true, false, true, false}
	wantNear(t, "log loss", predict.LogLoss(p, y), -(math.Log(0.9)+math.Log(0.2)+math.Log(0.3)+math.Log(0.9))/4)
	wantNear(t, "log loss of a wrong certainty", predict.LogLoss([]float64{0}, []bool{true}), 15*math.Ln10)
	wantNear(t, "Brier", predict.Brier(p, y), (0.01+0.64+0.49+0.01)/4)
	// Of the four pairs of a true and a false row, 0.3 against 0.8 is in the wrong order.
	wantNear(t, "AUC", predict.AUC(p, y), 0.75)
	wantNear(t, "AUC with ties", predict.AUC([]float64{0.5, 0.5, 0.7, 0.5, 0.1}, []bool{true, false, true, false, true}), (0.5+0.5+1+1+0+0)/6)
	wantNear(t, "AUC of equals", predict.AUC([]float64{0.2, 0.2}, []bool{true, false}), 0.5)
	wantNear(t, "AUC of one kind", predict.AUC([]float64{0.2, 0.3}, []bool{true, true}), 0.5)
	// Bins [0,½) with 0.3, 0.1 (½ true) and [½,1] with 0.9, 0.8 (½ true).
	wantNear(t, "calibration error", predict.CalibrationError(p, y, 2), 0.5*(0.5-0.2)+0.5*(0.85-0.5))
	wantNear(t, "calibration error, bin of 1", predict.CalibrationError([]float64{1, 0.95}, []bool{true, false}, 10), 0.475)
	wantNear(t, "calibration error in one bin", predict.CalibrationError(p, y, 0), 0.025)
	wantNear(t, "MAPE", predict.MAPE([]float64{110, 30, 5}, []float64{100, 40, 0}), (10.+25.)/2)
	for what, v := range map[string]float64{
		"log loss": predict.LogLoss(nil, nil), "Brier": predict.Brier(nil, nil), "MAPE": predict.MAPE(nil, nil),
		"calibration error": predict.CalibrationError(nil, nil, 10), "coverage": predict.Coverage(nil, 0.9), "unevenness": predict.Uneven(nil),
	} {
		wantNear(t, what+" of nothing", v, 0)
	}
	wantNear(t, "AUC of nothing", predict.AUC(nil, nil), 0.5)
}

func TestDistributionMetricsByHand(t *testing.T) {
	n := predict.Normals{Mu: []float64{0, 10}, Sigma: []float64{1, 2}}
	half := math.Log(2*math.Pi) / 2
	wantNear(t, "normal NLL", n.NLL([]float64{0, 14}), (half+half+math.Ln2+2)/2)
	pit := n.PIT([]float64{0, 10 + 2*1.959963984540054})
	wantNear(t, "PIT of the mean", pit[0], 0.5)
	wantNear(t, "PIT of 1.96", pit[1], 0.975)
	wantNear(t, "coverage 94 %", predict.Coverage(pit, 0.94), 0.5)
	wantNear(t, "coverage 96 %", predict.Coverage(pit, 0.96), 1)
	// Steps of ½ at 0.5 and 0.975 against the diagonal: 0.5 - 0 and 0.975 - 0.5.
	wantNear(t, "unevenness", predict.Uneven(pit), 0.5)

	l := predict.Normals{Mu: []float64{1}, Sigma: []float64{0.5}, Log: true}
	wantNear(t, "lognormal NLL", l.NLL([]float64{math.E * math.E}), math.Log(0.5)+half+2+2)
	wantNear(t, "lognormal PIT of the median", l.PIT([]float64{math.E})[0], 0.5)
}

func TestMetricsRefuseLengths(t *testing.T) {
	for i, f := range []func(){
		func() { predict.LogLoss([]float64{1}, nil) }, func() { predict.Brier([]float64{1}, nil) },
		func() { predict.AUC([]float64{1}, nil) }, func() { predict.CalibrationError([]float64{1}, nil, 2) },
		func() { predict.MAPE([]float64{1}, nil) }, func() { predict.Calibrate([]float64{1}, nil) },
		func() { predict.Normals{Sigma: []float64{1}}.NLL(nil) }, func() { predict.Normals{Mu: []float64{1}}.PIT(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("metric %d takes lengths that differ", i)
				}
			}()
			f()
		}()
	}
}

func TestMetricsRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.25, 0.5, 1})), 1, 40).Draw(t, "p")
		y := rapid.SliceOfN(rapid.Bool(), len(p), len(p)).Draw(t, "y")
		var won, pairs float64
		not, flipped, cubed := make([]bool, len(y)), make([]float64, len(p)), make([]float64, len(p))
		for i := range p {
			not[i], flipped[i], cubed[i] = !y[i], 1-p[i], math.Ldexp(p[i], -3)
			for j := range p {
				if y[i] && !y[j] {
					pairs++
					if p[i] > p[j] {
						won++
					} else if p[i] == p[j] {
						won += 0.5
					}
				}
			}
		}
		auc := predict.AUC(p, y)
		if pairs > 0 && math.Abs(auc-won/pairs) > 1e-12 {
			t.Fatalf("AUC %g, by pairs %g", auc, won/pairs)
		}
		if math.Abs(auc+predict.AUC(p, not)-1) > 1e-12 {
			t.Fatal("the AUCs of an outcome and its opposite do not sum to 1")
		}
		if auc != predict.AUC(cubed, y) {
			t.Fatal("AUC knows more than the order")
		}
		if a, b := predict.Brier(p, y), predict.Brier(flipped, not); math.Abs(a-b) > 1e-12 {
			t.Fatalf("Brier %g and, from the other side, %g", a, b)
		}
		f := predict.Judge(p, y)
		for _, v := range []float64{f.Brier, f.AUC, f.CalibrationError, predict.Uneven(p)} {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("out of range: %+v", f)
			}
		}
		if f.LogLoss < 0 || f.Rows != len(p) {
			t.Fatalf("%+v", f)
		}
	})
}

func TestRightDistributionsAreEven(t *testing.T) {
	s := stream(3)
	var n predict.Normals
	var y []float64
	for range 5000 {
		mu, sigma := s.normal(), 0.1+s.u()
		n.Mu, n.Sigma = append(n.Mu, mu), append(n.Sigma, sigma)
		y = append(y, math.Exp(mu+sigma*s.normal()))
	}
	n.Log = true
	pit := n.PIT(y)
	if c := predict.Coverage(pit, 0.9); c < 0.88 || c > 0.92 {
		t.Errorf("90 %% intervals hold %g", c)
	}
	if u := predict.Uneven(pit); u > 0.03 {
		t.Errorf("the PITs are uneven by %g", u)
	}
	wide := predict.Normals{Mu: n.Mu, Sigma: slices.Clone(n.Sigma), Log: true}
	for i := range wide.Sigma {
		wide.Sigma[i] *= 2
	}
	if c := predict.Coverage(wide.PIT(y), 0.9); c < 0.99 {
		t.Errorf("90 %% intervals of twice the width hold %g", c)
	}
	if right, wrong := n.NLL(y), wide.NLL(y); right >= wrong {
		t.Errorf("NLL %g of the right ones, %g of the wide ones", right, wrong)
	}
}
