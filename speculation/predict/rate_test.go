package predict_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

func TestRateByHand(t *testing.T) {
	var r predict.Rate
	wantNear(t, "nothing seen", r.Mean(0.9, 10), 0.9)
	wantNear(t, "nothing seen, no prior", r.Mean(0.9, 0), 0.9)
	for i := range 4 {
		r = r.Observe(i != 1, math.Inf(1))
	}
	wantNear(t, "3 of 4", r.Mean(0.9, 0), 0.75)
	wantNear(t, "3 of 4 and a prior worth 6", r.Mean(0.5, 6), 0.6)

	r = predict.Rate{}.Observe(false, 2).Observe(true, 2).Observe(true, 2)
	wantNear(t, "weights 1, ½, ¼", r.Mean(0, 0), 1.5/1.75)
	if last := r.Observe(false, 0); last != (predict.Rate{Seen: 1}) {
		t.Errorf("with no memory: %+v", last)
	}
	wantNear(t, "author in repository", predict.Smooth(0.5, 2, predict.Rate{Passed: 6, Seen: 6}, predict.Rate{Seen: 2}), (2*(1+6.)/8)/4)
}

func TestRateRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r predict.Rate
		memory := rapid.Float64Range(1, 100).Draw(t, "memory")
		prior := rapid.Float64Range(0, 1).Draw(t, "prior")
		strength := rapid.Float64Range(0, 50).Draw(t, "strength")
		for _, passed := range rapid.SliceOf(rapid.Bool()).Draw(t, "outcomes") {
			r = r.Observe(passed, memory)
			after := r.Mean(prior, strength)
			if !(after >= 0 && after <= 1) || r.Seen > memory+1e-9 || r.Passed > r.Seen {
				t.Fatalf("mean %g of %+v", after, r)
			}
		}
		up, down := r.Observe(true, memory).Mean(prior, strength), r.Observe(false, memory).Mean(prior, strength)
		if up < down {
			t.Fatalf("a success leaves %g, a failure %g", up, down)
		}
		text, err := json.Marshal(r)
		var back predict.Rate
		if err != nil || json.Unmarshal(text, &back) != nil || back != r {
			t.Fatalf("%+v became %+v", r, back)
		}
	})
}

// TestRateForColdStart: of authors with chances of their own, smoothing by level beats
// both what is known of all and the author's plain share.
func TestRateForColdStart(t *testing.T) {
	s := stream(8)
	truth := make([]float64, 200)
	for i := range truth {
		truth[i] = chanceOf(1.5 + s.normal())
	}
	var all predict.Rate
	authors := make([]predict.Rate, len(truth))
	var y []bool
	var smooth, flat, plain []float64
	for range 1600 {
		a := int(s.u() * float64(len(truth)))
		smooth = append(smooth, predict.Smooth(0.9, 5, all, authors[a]))
		flat = append(flat, all.Mean(0.9, 5))
		plain = append(plain, authors[a].Mean(0.9, 0.01))
		passed := s.u() < truth[a]
		y = append(y, passed)
		all, authors[a] = all.Observe(passed, 1000), authors[a].Observe(passed, 50)
	}
	got := predict.LogLoss(smooth, y)
	if base, own := predict.LogLoss(flat, y), predict.LogLoss(plain, y); got > base-0.01 || got > own-0.01 {
		t.Errorf("log loss %.3f; %.3f of all together, %.3f of each apart", got, base, own)
	}
}

func TestShiftFollowsDrift(t *testing.T) {
	s := stream(5)
	var shift predict.Shift
	p := chanceOf(2)
	settle := func(n int, eta float64) (mean float64) {
		for i := range n {
			if shift = shift.Observe(p, s.u() < chanceOf(eta)); i >= n/2 {
				mean += shift.By / float64(n-n/2)
			}
		}
		return mean
	}
	if by := settle(4000, 2); math.Abs(by) > 0.1 {
		t.Errorf("without drift it shifts by %g", by)
	}
	if by := settle(4000, 1.4); by > -0.3 || by < -0.6 {
		t.Errorf("after a drift of -0.6 it shifts by %g", by)
	}
	if by := settle(4000, -3); by != -1 && by > -0.95 {
		t.Errorf("after a drift of -5 it shifts by %g", by)
	}
	if by := settle(4000, 2); math.Abs(by) > 0.1 {
		t.Errorf("back again it shifts by %g", by)
	}
}

func TestShiftRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s predict.Shift
		chance := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 1e-300, -1, 2, math.NaN()}))
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			p := chance.Draw(t, "p")
			up, down := s.Observe(p, true), s.Observe(p, false)
			if up.By < down.By {
				t.Fatalf("a success leaves %g, a failure %g", up.By, down.By)
			}
			if s = down; rapid.Bool().Draw(t, "passed") {
				s = up
			}
			if !(math.Abs(s.By) <= 1 && s.Information >= 0 && s.Information <= 50.001) {
				t.Fatalf("%+v", s)
			}
		}
		a, b := rapid.Float64Range(0, 1).Draw(t, "a"), rapid.Float64Range(0, 1).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		if s.Apply(a) > s.Apply(b)+1e-15 {
			t.Fatalf("%+v changes the order of %g and %g", s, a, b)
		}
		if s.Apply(0) != 0 || s.Apply(1) != 1 {
			t.Fatal("certainties move")
		}
	})
}
