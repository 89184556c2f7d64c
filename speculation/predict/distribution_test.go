package predict_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

func near(t rapid.TB, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %v, want %v within %g", what, got, want, within)
	}
}

func drawDist(t *rapid.T) predict.Dist {
	f := rapid.SampledFrom([]predict.Family{predict.Normal, predict.LogNormal}).Draw(t, "family")
	mean := rapid.Float64Range(1, 1000).Draw(t, "mean")
	return f.Of(mean, mean*rapid.Float64Range(0.01, 1.5).Draw(t, "cv"))
}

func TestDistHasTheMomentsItIsMadeOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]predict.Family{predict.Normal, predict.LogNormal}).Draw(t, "family")
		mean := rapid.Float64Range(0.001, 1e6).Draw(t, "mean")
		sd := mean * rapid.Float64Range(0, 3).Draw(t, "cv")
		d := f.Of(mean, sd)
		near(t, "mean", d.Mean(), mean, 1e-9*mean)
		near(t, "sd", d.SD(), sd, 1e-6*mean)
	})
}

func TestQuantileInvertsCDF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDist(t)
		p := rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "p")
		near(t, "CDF of the quantile", d.CDF(d.Quantile(p)), p, 1e-10)
		e := rapid.Float64Range(0, 3).Draw(t, "elapsed") * d.Mean()
		q := d.RemainingQuantile(p, e)
		// The quantile is a difference of two longer times: its rounding shows.
		within := 1e-9 + 1e-13*(e+q)*(d.RemainingCDF(q*(1+1e-6)+1e-9, e)-p)/(q*1e-6+1e-9)
		near(t, "remaining CDF of its quantile", d.RemainingCDF(q, e), p, math.Abs(within))
	})
}

func TestRemainingIsTheConditionedDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDist(t)
		e := rapid.Float64Range(0, 1.5).Draw(t, "elapsed") * d.Mean()
		if d.CDF(e) > 1-1e-6 {
			t.Skip("the plain formula cancels there")
		}
		u := rapid.Float64Range(0, 3).Draw(t, "t") * d.Mean()
		near(t, "remaining CDF", d.RemainingCDF(u, e), (d.CDF(e+u)-d.CDF(e))/(1-d.CDF(e)), 1e-9)
		// The mean is the integral of the quantile.
		var sum float64
		const n = 4000
		for i := range n {
			sum += d.RemainingQuantile((float64(i)+0.5)/n, e) / n
		}
		near(t, "remaining mean", d.RemainingMean(e), sum, 0.03*d.RemainingMean(e)+1e-9)
	})
}

func TestRemainingFarInTheTail(t *testing.T) {
	// Past 40 deviations P(T > elapsed) is below the smallest number. There the rest of
	// a normal is exponential with the rate z/sigma, nearly.
	d := predict.Dist{Family: predict.Normal, Mu: 100, Sigma: 10}
	near(t, "CDF", d.RemainingCDF(0.25, 500), 1-math.Exp(-1), 2e-3)
	near(t, "median", d.RemainingQuantile(0.5, 500), 0.25*math.Ln2, 2e-4)
	near(t, "mean", d.RemainingMean(500), 0.25, 1e-3)
	l := predict.Dist{Family: predict.LogNormal, Mu: 1, Sigma: 0.05}
	if m := l.RemainingMean(1000); !(m > 0.3 && m < 0.5) { // 1000 sigma/z = 0.42
		t.Errorf("the remaining mean is %v", m)
	}
}

func TestPointDist(t *testing.T) {
	for _, f := range []predict.Family{predict.Normal, predict.LogNormal} {
		d := f.Of(10, 0)
		near(t, "mean", d.Mean(), 10, 1e-9)
		near(t, "before", d.CDF(9.99), 0, 0)
		near(t, "after", d.CDF(10.01), 1, 0)
		near(t, "rest", d.RemainingMean(4), 6, 1e-9)
		near(t, "rest quantile", d.RemainingQuantile(0.3, 4), 6, 1e-9)
		near(t, "rest of what should have ended", d.RemainingMean(12), 0, 0)
		near(t, "its CDF", d.RemainingCDF(0, 12), 1, 0)
		near(t, "CDF of what runs", d.RemainingCDF(5, 4), 0, 0)
		near(t, "CDF of the past", f.Of(10, 2).RemainingCDF(-1, 4), 0, 0)
		if q := f.Of(10, 2).Quantile(1); q < math.MaxFloat64 {
			t.Errorf("all are below %v", q)
		}
	}
	if m := predict.LogNormal.Of(-1, math.NaN()).Mean(); !(m >= 0 && m < 1e-300) {
		t.Errorf("the mean nearest to -1 is %v", m)
	}
}

func TestFamilyNames(t *testing.T) {
	for _, f := range []predict.Family{predict.Normal, predict.LogNormal} {
		var back predict.Family
		if err := json.Unmarshal(must(json.Marshal(f)), &back); err != nil || back != f {
			t.Errorf("%v came back as %v, %v", f, back, err)
		}
	}
	if err := new(predict.Family).UnmarshalText([]byte("gamma")); err == nil {
		t.Error("gamma is a family")
	}
	if _, err := predict.Family(9).MarshalText(); err == nil || predict.Family(9).String() != "family(9)" {
		t.Error("9 is a family")
	}
}
