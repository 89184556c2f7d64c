package predict_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// simulated returns the share of draws in which c ends before all others.
func simulated(r *rand.Rand, c predict.Finish, others []predict.Finish, draws int) float64 {
	end := func(f predict.Finish) float64 {
		u := r.Float64()
		for u == 0 {
			u = r.Float64()
		}
		if f.Start < 0 {
			return f.Took.RemainingQuantile(u, -f.Start)
		}
		return f.Start + f.Took.Quantile(u)
	}
	first := 0
draw:
	for range draws {
		t := end(c)
		for _, o := range others {
			if end(o) <= t {
				continue draw
			}
		}
		first++
	}
	return float64(first) / float64(draws)
}

func drawFinish(t *rapid.T) predict.Finish {
	d := drawDist(t)
	return predict.Finish{Start: rapid.Float64Range(-2, 1).Draw(t, "start") * d.Mean(), Took: d}
}

func TestBeforeAgreesWithSimulation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, others := drawFinish(t), rapid.SliceOfN(rapid.Custom(drawFinish), 1, 3).Draw(t, "others")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		const draws = 2000
		p := predict.Before(c, others...)
		near(t, "P(first)", simulated(r, c, others, draws), p, 5*math.Sqrt(p*(1-p)/draws)+5.0/draws)
	})
}

func TestEqualsAreFirstEquallyOften(t *testing.T) {
	for _, d := range []predict.Dist{predict.Normal.Of(30, 5), predict.LogNormal.Of(30, 20), predict.LogNormal.Of(30, 0.01)} {
		for _, start := range []float64{0, 12, -3, -29, -34} {
			others := make([]predict.Finish, 0, 16)
			for n := 1; n <= 16; n++ {
				others = append(others, predict.Finish{Start: start, Took: d})
				near(t, "P(first of equals)", predict.Before(predict.Finish{Start: start, Took: d}, others...), 1/float64(n+1), 2e-6)
			}
		}
	}
}

func TestOneIsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawFinish), 2, 6).Draw(t, "builds")
		var sum float64
		for i := range all {
			others := append(append([]predict.Finish{}, all[:i]...), all[i+1:]...)
			p := predict.Before(all[i], others...)
			for j := range others {
				if one := predict.Before(all[i], others[j]); p > one+1e-5 {
					t.Fatalf("first of all with %v, before one with %v", p, one)
				}
			}
			sum += p
		}
		near(t, "the sum", sum, 1, 1e-5*float64(len(all)))
	})
}

func TestBeforeClosedForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-3, 3).Draw(t, "a"), rapid.Float64Range(-3, 3).Draw(t, "b")
		s, r := rapid.Float64Range(0.01, 2).Draw(t, "s"), rapid.Float64Range(0.01, 2).Draw(t, "r")
		x, y := predict.Dist{Family: predict.LogNormal, Mu: a, Sigma: s}, predict.Dist{Family: predict.LogNormal, Mu: b, Sigma: r}
		// Logarithms of two LogNormals that start together differ by a normal.
		want := math.Erfc((a-b)/math.Hypot(s, r)/math.Sqrt2) / 2
		near(t, "LogNormal pair", predict.Before(predict.Finish{Took: x}, predict.Finish{Took: y}), want, 1e-5)
		// A point between never is first where the normal is before it, and the reverse.
		x.Family, y.Family = predict.Normal, predict.Normal
		pair := predict.Before(predict.Finish{Took: x}, predict.Finish{Took: y})
		never := predict.Finish{Start: 1e9, Took: predict.Normal.Of(1, 1)}
		near(t, "with one that is never first", predict.Before(predict.Finish{Took: x}, predict.Finish{Took: y}, never), pair, 1e-5)
		point := predict.Finish{Took: predict.Normal.Of(b, 0)}
		near(t, "before a point", predict.Before(predict.Finish{Took: x}, point), x.CDF(b), 1e-5)
		near(t, "a point before", predict.Before(point, predict.Finish{Took: x}), 1-x.CDF(b), 1e-9)
	})
}

func TestBeforeAtTheEdges(t *testing.T) {
	soon := predict.Finish{Start: -20, Took: predict.Normal.Of(10, 0)} // ends now
	later := predict.Finish{Start: -5, Took: predict.LogNormal.Of(10, 3)}
	near(t, "alone", predict.Before(later), 1, 0)
	near(t, "what ends now", predict.Before(soon, later), 1, 0)
	near(t, "against what ends now", predict.Before(later, soon), 0, 1e-6)
	past := predict.Finish{Took: predict.Normal.Of(-5, 0.1)}
	near(t, "what ended before", predict.Before(past, soon), 1, 1e-6)
	near(t, "two that end now", predict.Before(soon, soon), 0, 0)
}

// A change with k others: either it is first, or all of their outcomes matter.
func TestNeededHasBothLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chance := rapid.Float64Range(0, 1)
		ahead, passable := rapid.SliceOfN(chance, 0, 4).Draw(t, "ahead"), rapid.SliceOfN(chance, 0, 4).Draw(t, "passable")
		first := chance.Draw(t, "first")
		p := predict.Needed(ahead, passable, first)
		all := predict.Needed(append(ahead[:len(ahead):len(ahead)], passable...), nil, 0)
		near(t, "never first", predict.Needed(ahead, passable, 0), all, 1e-12)
		near(t, "always first", predict.Needed(ahead, passable, 1), predict.Needed(ahead, nil, 0), 1e-12)
		if p < all-1e-12 || p < first*predict.Needed(ahead, nil, 0)-1e-12 {
			t.Errorf("%v is below one of its parts", p)
		}
	})
}

func BenchmarkBefore(b *testing.B) {
	c := predict.Finish{Start: -5, Took: predict.LogNormal.Of(30, 10)}
	for _, n := range []int{1, 4, 16} {
		others := make([]predict.Finish, n)
		for i := range others {
			others[i] = predict.Finish{Start: float64(3*i) - 20, Took: predict.LogNormal.Of(25+float64(i), 8)}
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				predict.Before(c, others...)
			}
		})
	}
}

func TestBeforeDoesNotAllocate(t *testing.T) {
	c := predict.Finish{Start: -5, Took: predict.LogNormal.Of(30, 10)}
	others := make([]predict.Finish, 16)
	for i := range others {
		others[i] = predict.Finish{Start: float64(i) - 20, Took: predict.LogNormal.Of(25, 8)}
	}
	if n := testing.AllocsPerRun(10, func() { predict.Before(c, others...) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
