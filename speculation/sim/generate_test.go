package sim_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

// mustGenerate makes a world of the defaults, but for what set changes.
func mustGenerate(t testing.TB, set func(*sim.Params)) *sim.World {
	t.Helper()
	p := sim.Defaults()
	if set != nil {
		set(&p)
	}
	w, err := sim.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestGeneratedLikeGiven compares means over seeds with the given worlds. The
// tolerances are about two deviations of one world of 1,500 changes.
func TestGeneratedLikeGiven(t *testing.T) {
	for _, c := range []struct {
		given string
		large float64
	}{{"e-500", 0}, {"large-500", 0.0075}} { // 11 of 1,500 came out large there
		given := sim.StatsOf(mustWorld(t, c.given))
		t.Logf("%s: %v", c.given, given)
		const seeds = 6
		var sum sim.Stats
		for seed := range uint64(seeds) {
			s := sim.StatsOf(mustGenerate(t, func(p *sim.Params) { p.Seed, p.Large = seed+1, c.large }))
			t.Logf("seed %d: %v", seed+1, s)
			sum.Pairs += s.Pairs / seeds
			sum.Broken += s.Broken / seeds
			sum.Conflicts += s.Conflicts / seeds
			sum.Accuracy += s.Accuracy / seeds
			sum.MAPE += s.MAPE / seeds
			sum.MedianMin += s.MedianMin / seeds
			sum.Demand += s.Demand / seeds
			sum.Targets += s.Targets / seeds
		}
		for _, x := range []struct {
			what             string
			is, want, within float64
		}{
			{"conflicts per change", sum.Pairs, given.Pairs, 2.5},
			{"broken", sum.Broken, given.Broken, 0.012},
			{"rejected for conflicts", sum.Conflicts, given.Conflicts, 0.015},
			{"accuracy", sum.Accuracy, given.Accuracy, 0.012},
			{"duration error", sum.MAPE, given.MAPE, 0.003},
			{"median", sum.MedianMin, given.MedianMin, 1.5},
			{"demand", sum.Demand, given.Demand, 12},
			{"targets per change", sum.Targets, given.Targets, given.Targets / 4},
		} {
			if math.Abs(x.is-x.want) > x.within {
				t.Errorf("%s: %s is %.4f, given %.4f", c.given, x.what, x.is, x.want)
			}
		}
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	set := func(p *sim.Params) {
		p.Changes, p.Large, p.ExternalPush, p.Arrivals = 300, 0.02, 20, "bursts"
	}
	a, b := mustWrite(t, mustGenerate(t, set)), mustWrite(t, mustGenerate(t, set))
	if !bytes.Equal(a, b) {
		t.Error("the same seed makes two worlds")
	}
	other := mustWrite(t, mustGenerate(t, func(p *sim.Params) { set(p); p.Seed = 2 }))
	if bytes.Equal(a, other) {
		t.Error("another seed makes the same world")
	}
}

func TestParametersDoNotDisturbOneAnother(t *testing.T) {
	plain := mustGenerate(t, func(p *sim.Params) { p.Changes = 200 })
	blind := mustGenerate(t, func(p *sim.Params) { p.Changes, p.Predictor, p.ExternalPush = 200, 0, 30 })
	for i := range plain.Changes {
		a, b := plain.Changes[i], blind.Changes[i]
		if a.ArriveMin != b.ArriveMin || a.DurationMin != b.DurationMin || a.BrokenTarget != b.BrokenTarget || len(a.Conflicts) != len(b.Conflicts) {
			t.Fatalf("change %d is another because the predictor is", i)
		}
		if math.Abs(b.Predicted.Success-0.935) > 1e-9 {
			t.Fatalf("a predictor that sees nothing believes %v of change %d", b.Predicted.Success, i)
		}
	}
}

func TestArrivals(t *testing.T) {
	for _, kind := range []string{"fixed", "poisson", "bursts"} {
		w := mustGenerate(t, func(p *sim.Params) { p.Changes, p.Arrivals, p.Components = 3000, kind, 2000 })
		last, inBurst := w.Changes[len(w.Changes)-1].ArriveMin, 0
		for _, c := range w.Changes {
			if math.Mod(c.ArriveMin, 60) < 20 {
				inBurst++
			}
		}
		if rate := 60 * 3000 / last; math.Abs(rate-500) > 40 {
			t.Errorf("%s: %.0f arrive per hour", kind, rate)
		}
		want := 1.0 / 3
		if kind == "bursts" {
			want = 2.2 / 3
		}
		if share := float64(inBurst) / 3000; math.Abs(share-want) > 0.04 {
			t.Errorf("%s: %.2f arrive in the first 20 minutes of an hour; want %.2f", kind, share, want)
		}
	}
}

func TestBeliefsAreCalibrated(t *testing.T) {
	for _, d := range []float64{1.5, 3.4} {
		var believed, sound float64
		low := [2]float64{}
		for seed := range uint64(4) {
			for _, c := range mustGenerate(t, func(p *sim.Params) { p.Seed, p.Predictor = seed, d }).Changes {
				believed += c.Predicted.Success
				if c.BrokenTarget < 0 {
					sound++
				}
				if c.Predicted.Success < 0.8 {
					low[0] += c.Predicted.Success
					if c.BrokenTarget < 0 {
						low[1]++
					}
				}
			}
		}
		if math.Abs(believed-sound) > 60 {
			t.Errorf("d' %v: of 6000 changes %.0f are sound, %.0f are believed to be", d, sound, believed)
		}
		if math.Abs(low[0]-low[1]) > 0.25*low[1]+15 {
			t.Errorf("d' %v: of doubtful changes %.0f are sound, %.0f are believed to be", d, low[1], low[0])
		}
	}
}

func TestImpossibleParametersAreNamed(t *testing.T) {
	for _, c := range []struct {
		set  func(*sim.Params)
		want string
	}{
		{func(p *sim.Params) { p.RatePerHour = 0 }, "rate is 0"},
		{func(p *sim.Params) { p.Changes = 0 }, "changes is 0"},
		{func(p *sim.Params) { p.Large = 2 }, "large is 2"},
		{func(p *sim.Params) { p.Zipf = math.NaN() }, "zipf is NaN"},
		{func(p *sim.Params) { p.Arrivals = "weekly" }, `arrivals are "weekly"`},
	} {
		p := sim.Defaults()
		c.set(&p)
		if _, err := sim.Generate(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}
