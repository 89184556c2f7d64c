package predict_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// The worked cases of CI at Scale (2025): minutes of arrival, means, deviations.
// For the second the paper prints Z = -104.02, with a deviation rounded to 4.47.
func TestPublishedBeforeWorkedCases(t *testing.T) {
	for _, c := range []struct {
		x, y         predict.Arrival
		want, within float64
	}{
		{predict.Arrival{At: 0, Mean: 25, SD: 5}, predict.Arrival{At: 5, Mean: 20, SD: 4}, 0.5, 1e-12},
		{predict.Arrival{At: 0, Mean: 20, SD: 4}, predict.Arrival{At: 480, Mean: 5, SD: 2}, 0, 1e-300},
		{predict.Arrival{At: 0, Mean: 35, SD: 6}, predict.Arrival{At: 1, Mean: 15, SD: 3}, 0.9977, 5e-5},
	} {
		near(t, "P(y before x)", predict.PublishedBefore(c.y, c.x), c.want, c.within)
		near(t, "P(x before y)", predict.PublishedBefore(c.x, c.y), 1-c.want, c.within+1e-12)
	}
}

func TestPublishedArrivalAverages(t *testing.T) {
	a := predict.PublishedArrival(7, predict.Normal.Of(10, 3), predict.Normal.Of(20, 4))
	if a.At != 7 || a.Mean != 15 {
		t.Error(a)
	}
	near(t, "the variance", a.SD*a.SD, 12.5, 1e-12)
	if a := predict.PublishedArrival(7); a != (predict.Arrival{At: 7}) {
		t.Error(a)
	}
	near(t, "two of no build", predict.PublishedBefore(predict.Arrival{}, predict.Arrival{}), 0.5, 0)
}

// The five orders of three conflicting changes, with the chances of success of
// B1 and B2, the chance that C2 is before C1, and the chances that C3 is before
// C1 and before C2.
func TestPublishedNeededOfTheFiveCases(t *testing.T) {
	const s1, s2, t21, t31, t32 = 0.9, 0.8, 0.7, 0.6, 0.75
	none := []float64{}
	for _, c := range []struct {
		name                    string
		ahead, passable, before []float64
		want                    float64
	}{
		{"1: B1", none, none, none, 1},
		{"1, 5: B1.2", []float64{s1}, none, none, s1},
		{"1, 5: B2", []float64{1 - s1}, none, none, 1 - s1},
		{"1: B1.2.3", []float64{s1, s2}, none, none, s1 * s2},
		{"2, 4: B1.2", none, []float64{s1}, []float64{t21}, t21},
		{"2, 4: B2", none, []float64{1 - s1}, []float64{t21}, t21},
		{"2: B1.3 on both", []float64{s1, 1 - s2}, none, none, s1 * (1 - s2)},
		{"3: B1.2.3", []float64{s1}, []float64{s2}, []float64{t32}, s1 * t32},
		{"3: B1.3", []float64{s1}, []float64{1 - s2}, []float64{t32}, s1 * t32},
		{"3: B2.3", []float64{1 - s1}, []float64{s2}, []float64{t32}, (1 - s1) * t32},
		{"3: B3", []float64{1 - s1}, []float64{1 - s2}, []float64{t32}, (1 - s1) * t32},
		{"4, 5: all of C3", none, []float64{s1, s2}, []float64{t31, t32}, t31 * t32},
		{"fallback", []float64{s1}, []float64{s2}, []float64{1e-9}, s1 * s2},
	} {
		near(t, c.name, predict.PublishedNeeded(c.ahead, c.passable, c.before), c.want, 1e-12)
	}
}
