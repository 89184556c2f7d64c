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

// Four of five intervals hold under any error of the forecasts, and when it becomes another.
func TestReachIsCalibrated(t *testing.T) {
	for name, err := range map[string]func(r *rand.Rand, i int) float64{
		"far too wide":  func(r *rand.Rand, _ int) float64 { return 0.05 * r.NormFloat64() },
		"far too tight": func(r *rand.Rand, _ int) float64 { return 2 * r.NormFloat64() },
		"off centre":    func(r *rand.Rand, _ int) float64 { return 1 + 0.3*r.NormFloat64() },
		"skewed":        func(r *rand.Rand, _ int) float64 { return 0.5 * r.ExpFloat64() },
		"shifting":      func(r *rand.Rand, i int) float64 { return float64(i/1500) + 0.5*r.NormFloat64() },
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var reaches []queue.Reach
		const warm, n, group = 200, 3000, 3
		below, above := 0, 0
		for i := range warm + n {
			plain := time.Duration(math.Exp(5+r.NormFloat64()) * float64(time.Second))
			took := time.Duration(float64(plain) * math.Exp(err(r, i)))
			median := predict.Expected(reaches, group, plain)
			low, high := predict.Reach(reaches, group, 0.8)
			if off := math.Log(took.Seconds() / median.Seconds()); i >= warm && off < low {
				below++
			} else if i >= warm && off > high {
				above++
			}
			reaches = predict.SeeReach(reaches, queue.Promise{Median: median, Group: group}, took, time.Minute)
		}
		for side, missed := range map[string]int{"below": below, "above": above} {
			if share := float64(missed) / n; math.Abs(share-0.1) > 0.02 {
				t.Errorf("%s: %.3f of the verdicts come %s the interval", name, share, side)
			}
		}
	}
}

// The reach is wide before the first score, and a new group has the reach of all groups.
func TestReachOfWhatIsNew(t *testing.T) {
	if low, high := predict.Reach(nil, 3, 0.5); low > -0.5 || high < 0.5 {
		t.Errorf("cold: %v to %v", low, high)
	}
	var reaches []queue.Reach
	for range 30 {
		reaches = predict.SeeReach(reaches, queue.Promise{Median: time.Minute, Group: 1}, 2*time.Minute, time.Second)
	}
	low, high := predict.Reach(reaches, 2, 0.5)
	if math.Abs(low-math.Ln2) > 0.01 || math.Abs(high-math.Ln2) > 0.01 {
		t.Errorf("of another group that was always twice as long: %v to %v", low, high)
	}
	if got := predict.Expected(reaches, 2, time.Hour); got != time.Hour {
		t.Errorf("a group that has had no verdict expects %s, want what was forecast", got)
	}
}

// It is bounded, and the same when it has been stored in between.
func TestReachIsStored(t *testing.T) {
	var kept, stored []queue.Reach
	for i := range 500 {
		p := queue.Promise{Median: time.Duration(i%17) * time.Second, Group: i % 20}
		took, stood := time.Duration(i%29)*time.Second, time.Duration(i%7)*time.Second
		kept, stored = predict.SeeReach(kept, p, took, stood), predict.SeeReach(stored, p, took, stood)
		data, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		stored = nil
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
	}
	for g := range kept {
		a, b := kept[g], stored[g]
		if len(a.Off) != len(b.Off) || len(a.Off) > 100 || len(a.Off) > 0 && !reflect.DeepEqual(a, b) {
			t.Errorf("group %d: %+v, stored %+v", g, a, b)
		}
	}
	if got := predict.SeeReach(nil, queue.Promise{Group: 1 << 30}, time.Second, time.Second); got != nil {
		t.Error("a group that there is not is kept")
	}
}
