package predict_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// forecasts are drawn with long the verdicts then took.
type forecasts struct {
	off func(r *rand.Rand, i, place int) float64 // logarithm of actual to plain
}

// run lets n verdicts follow on forecasts, and returns what is learned, and of the last half
// the shares that come before and after the interval and the deviation from the median.
func (f forecasts) run(n int) (record queue.Foresight, before, after, deviation float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		plain := time.Duration(math.Exp(7+r.NormFloat64()) * float64(time.Second))
		place := r.IntN(60)
		took := time.Duration(float64(plain) * math.Exp(f.off(r, i, place)))
		lead := predict.Lead(plain, place/2, place, time.Duration(r.IntN(3600))*time.Second)
		known := predict.NewForesight(record, nil)
		median := known.Median(lead)
		low, high := known.Ends(0.8)
		if off := math.Log(took.Seconds() / median.Seconds()); i >= n/2 {
			deviation += off * off
			switch {
			case off < low:
				before++
			case off > high:
				after++
			}
		}
		record = predict.SeeForecast(record, queue.Promise{Median: median, Lead: lead}, took, time.Minute)
	}
	half := float64(n - n/2)
	return record, before / half, after / half, math.Sqrt(deviation / half)
}

// Four of five intervals hold, whatever the errors of the plain forecasts are, and a few
// verdicts come before them.
func TestForesightIsCalibrated(t *testing.T) {
	for name, off := range map[string]func(r *rand.Rand, i, place int) float64{
		"far too wide":  func(r *rand.Rand, _, _ int) float64 { return 0.1 * r.NormFloat64() },
		"far too tight": func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() },
		"off centre":    func(r *rand.Rand, _, _ int) float64 { return 1 + 0.3*r.NormFloat64() },
		"skewed":        func(r *rand.Rand, _, _ int) float64 { return 0.5 * r.ExpFloat64() },
		"by the place": func(r *rand.Rand, _, place int) float64 {
			return math.Log2(1+float64(place))/2 - 1 + 0.2*r.NormFloat64()
		},
	} {
		_, before, after, _ := forecasts{off}.run(6000)
		if held := 1 - before - after; math.Abs(held-0.8) > 0.03 || before > 0.12 {
			t.Errorf("%s: %.3f of the verdicts come before the interval, %.3f after it", name, before, after)
		}
	}
}

// A day on which everything takes three times as long is learned, and the intervals hold again.
func TestForesightFollowsAChange(t *testing.T) {
	_, before, after, deviation := forecasts{func(r *rand.Rand, i, _ int) float64 {
		if i < 10_000 {
			return 0.3 * r.NormFloat64()
		}
		return math.Log(3) + 0.3*r.NormFloat64()
	}}.run(60_000)
	if held := 1 - before - after; math.Abs(held-0.8) > 0.02 || deviation > 0.32 {
		t.Errorf("%.3f hold; the medians are off by %.2f", held, deviation)
	}
}

// The median is learned from the place of a change in the order: changes far back take longer
// than their builds add up to.
func TestForesightLearnsFromThePlace(t *testing.T) {
	record, _, _, deviation := forecasts{func(r *rand.Rand, _, place int) float64 {
		return math.Log2(1+float64(place))/2 - 1 + 0.2*r.NormFloat64()
	}}.run(4000)
	if deviation > 0.25 {
		t.Errorf("the medians are off by %.2f, and 0.20 cannot be known", deviation)
	}
	known := predict.NewForesight(record, nil)
	front := known.Median(predict.Lead(20*time.Minute, 0, 0, time.Minute))
	back := known.Median(predict.Lead(20*time.Minute, 30, 60, time.Minute))
	if front > 12*time.Minute || back < 80*time.Minute {
		t.Errorf("20 minutes of builds take %s in front and %s in place 60", front, back)
	}
}

// Before anything is known, the plain forecast is right, and the interval wide.
func TestForesightWithoutARecord(t *testing.T) {
	for name, record := range map[string]queue.Foresight{
		"none":    {},
		"foreign": {N: 40, Stood: 40, Sums: []float64{1, 2}, Off: []float64{3}},
	} {
		f := predict.NewForesight(record, nil)
		if got := f.Median(predict.Lead(time.Hour, 3, 7, time.Minute)); math.Abs(got.Hours()-1) > 0.001 {
			t.Errorf("%s: an hour of builds takes %s", name, got)
		}
		if low, high := f.Ends(0.5); low > -0.5 || high < 0.5 {
			t.Errorf("%s: %v to %v", name, low, high)
		}
	}
	if got := predict.SeeForecast(queue.Foresight{}, queue.Promise{Median: time.Minute}, time.Minute, time.Minute); got.N != 0 {
		t.Errorf("the promise of an older version is counted: %+v", got)
	}
}

// A change that is open for much longer than was said widens the interval before it has its verdict.
func TestForesightHearsOfOpenChanges(t *testing.T) {
	record, _, _, _ := forecasts{func(r *rand.Rand, _, _ int) float64 { return 0.3 * r.NormFloat64() }}.run(400)
	lead := predict.Lead(20*time.Minute, 0, 0, time.Minute)
	now := queue.At(time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC))
	given := func(age time.Duration) []queue.Promises {
		return []queue.Promises{{Change: "1.x", Given: []queue.Promise{{At: now.Add(-age), Median: 20 * time.Minute, Lead: lead}}}}
	}
	_, none := predict.NewForesight(record, nil).Ends(1)
	_, young := predict.NewForesight(record, predict.Waiting(given(time.Minute), now)).Ends(1)
	_, old := predict.NewForesight(record, predict.Waiting(given(5*time.Hour), now)).Ends(1)
	if math.Abs(young-none) > 0.05 || old < none+0.2 {
		t.Errorf("the interval ends at %.2f, at %.2f with a change that waits for a minute, and at %.2f with one that waits for five hours in place of 20 minutes", none, young, old)
	}
}

// Nonsense stays within bounds: no median is beyond all durations, or none at all.
func TestForesightIsBounded(t *testing.T) {
	var record queue.Foresight
	for range 500 {
		lead := predict.Lead(time.Second, 1<<40, 0, 0)
		record = predict.SeeForecast(record, queue.Promise{Median: time.Second, Lead: lead}, predict.Longest, predict.Longest)
	}
	f := predict.NewForesight(record, nil)
	for _, lead := range [][]float64{predict.Lead(predict.Longest, 1<<40, 1<<40, predict.Longest), predict.Lead(-time.Hour, 0, 0, -time.Hour)} {
		if got := f.Median(lead); got < time.Second || got > predict.Longest {
			t.Errorf("%v: %s", lead, got)
		}
	}
	if low, high := f.Ends(1); !(low <= high) || math.IsInf(high, 0) {
		t.Errorf("%v to %v", low, high)
	}
}

// The record is the same when it has been stored in between.
func TestForesightIsStored(t *testing.T) {
	var kept, stored queue.Foresight
	for i := range 500 {
		p := queue.Promise{Median: time.Duration(i%17) * time.Second, Lead: predict.Lead(time.Duration(i%13)*time.Minute, i%5, i%20, time.Duration(i)*time.Second)}
		took, stood := time.Duration(i%29)*time.Second, time.Duration(i%7)*time.Second
		kept, stored = predict.SeeForecast(kept, p, took, stood), predict.SeeForecast(stored, p, took, stood)
		data, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		stored = queue.Foresight{}
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(kept, stored) {
		t.Errorf("%+v, stored %+v", kept, stored)
	}
}
