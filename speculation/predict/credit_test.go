package predict_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Bounds of what credit.go says of itself.
const (
	creditBound = 6
	firstLoss   = 0.127 // -ln of the weight of a model that has just come into use
)

func chance(t *rapid.T, name string) float64 { return rapid.Float64Range(0.02, 0.98).Draw(t, name) }

// Whatever comes, credit is a number within its bounds, and a blend is between the two.
func TestCreditIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		good, took := 0.0, 0.0
		for range rapid.IntRange(1, 100).Draw(t, "outcomes") {
			model, without := rapid.Float64().Draw(t, "model"), rapid.Float64().Draw(t, "without")
			good = predict.SeeChance(good, model, without, rapid.Bool().Draw(t, "came"))
			a, b := time.Duration(rapid.Int64().Draw(t, "said")), time.Duration(rapid.Int64().Draw(t, "usual"))
			took = predict.SeeTime(took, a, b, time.Duration(rapid.Int64().Draw(t, "took")))
			for _, credit := range []float64{good, took} {
				if math.IsNaN(credit) || math.Abs(credit) > creditBound {
					t.Fatalf("credit %v", credit)
				}
			}
			if mix := predict.BlendTime(took, a, b); a > 0 && b > 0 && (mix < min(a, b, predict.Longest)-slack(a, b) || mix-slack(a, b) > max(a, b)) {
				t.Fatalf("%v is not between %v and %v", mix, a, b)
			}
			p, q := chance(t, "p"), chance(t, "q")
			if mix := predict.Blend(good, p, q); mix < min(p, q)-1e-12 || mix > max(p, q)+1e-12 {
				t.Fatalf("%v is not between %v and %v", mix, p, q)
			}
		}
	})
}

// slack is what a duration loses by its logarithm.
func slack(a, b time.Duration) time.Duration { return max(a, b)/1e9 + 1 }

// What one gains the other loses, and an outcome and its opposite are the same news.
func TestCreditTakesNoSide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		credit := rapid.Float64Range(-creditBound, creditBound).Draw(t, "credit")
		p, q, came := chance(t, "p"), chance(t, "q"), rapid.Bool().Draw(t, "came")
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !near(predict.SeeChance(credit, p, q, came), -predict.SeeChance(-credit, q, p, came)) {
			t.Fatal("a model and its rival are not judged alike")
		}
		if !near(predict.SeeChance(credit, p, q, came), predict.SeeChance(credit, 1-p, 1-q, !came)) {
			t.Fatal("an outcome and its opposite are not the same news")
		}
		if up, down := predict.SeeChance(credit, p, q, p > q), predict.SeeChance(credit, p, q, p < q); p != q && up < down {
			t.Fatalf("credit %v after the better forecast, %v after the worse one", up, down)
		}
		said, usual, took := duration(t, "said"), duration(t, "usual"), duration(t, "took")
		if !near(predict.SeeTime(credit, said, usual, took), -predict.SeeTime(-credit, usual, said, took)) {
			t.Fatal("a duration and its rival are not judged alike")
		}
	})
}

func duration(t *rapid.T, name string) time.Duration {
	return time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(24*time.Hour)).Draw(t, name))
}

// A model costs little, whatever it says: over any history the log loss of the blend is
// above that of the better of the two by a constant at the beginning and by what
// forgetting costs, which is small for each outcome.
func TestModelCostsLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 600).Draw(t, "outcomes")
		regime := rapid.IntRange(0, 3).Draw(t, "regime")
		credit, blend, model, without := 0.0, 0.0, 0.0, 0.0
		loss := func(p float64, came bool) float64 {
			if !came {
				p = 1 - p
			}
			return -math.Log(p)
		}
		for i := range n {
			p, q := chance(t, "model"), chance(t, "without")
			came := rapid.Bool().Draw(t, "came")
			switch better := p > q; regime {
			case 1: // the model is right all the time
				came = better
			case 2: // the model is wrong all the time
				came = !better
			case 3: // it was right, and is wrong from then on
				came = better == (i < n/2)
			}
			blend += loss(predict.Blend(credit, p, q), came)
			model += loss(p, came)
			without += loss(q, came)
			credit = predict.SeeChance(credit, p, q, came)
		}
		// One outcome moves the odds by a bounded step (creditStep), so a history of
		// extreme forecasts is caught up with later than without the bound. Over 20,000
		// histories the cost was at most 8.5.
		const each, start = 0.03, 8
		best := min(model, without)
		if regime == 2 {
			best = without
		}
		if cost := blend - best; cost > firstLoss+start+each*float64(n) {
			t.Fatalf("regime %d: %d outcomes cost %.2f more than the better of the two", regime, n, cost)
		}
	})
}

// A model that is worse all the time is found out, and weighs next to nothing then.
func TestWrongModelIsFoundOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		credit := rapid.Float64Range(-creditBound, creditBound).Draw(t, "credit")
		worse, better := rapid.Float64Range(0.02, 0.5).Draw(t, "model"), rapid.Float64Range(0.6, 0.98).Draw(t, "without")
		for range 100 {
			credit = predict.SeeChance(credit, worse, better, true)
		}
		if !predict.Drifted(credit) || predict.Weight(credit) > 0.02 {
			t.Fatalf("after 100 worse forecasts it is believed at %.2f", predict.Weight(credit))
		}
		for range 150 {
			credit = predict.SeeChance(credit, better, worse, true)
		}
		if predict.Drifted(credit) || predict.Weight(credit) < 0.98 {
			t.Fatalf("after 150 better forecasts it is believed at %.2f", predict.Weight(credit))
		}
	})
}

// Durations have no unit: a blend of all in other units is the blend in them.
func TestBlendTimeHasNoUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		credit := rapid.Float64Range(-creditBound, creditBound).Draw(t, "credit")
		a, b := duration(t, "a"), duration(t, "b")
		once, thrice := predict.BlendTime(credit, a, b), predict.BlendTime(credit, 3*a, 3*b)
		if d := thrice - 3*once; d < -slack(3*a, 3*b)-3 || d > slack(3*a, 3*b)+3 {
			t.Fatalf("%v and %v in threes: %v, not %v", a, b, thrice, 3*once)
		}
	})
}
