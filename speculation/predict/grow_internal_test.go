package predict

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// leastError returns the least squared error that a cut of rows leaves, by trying
// each cut of each feature with the missing values on both sides.
func leastError(x [][]float64, pulls []pull, rows []int, minLeaf int) float64 {
	spread := func(rows []int) float64 {
		var s pull
		for _, r := range rows {
			s.sum += pulls[r].sum
			s.weight += pulls[r].weight
		}
		e := 0.0
		for _, r := range rows {
			d := pulls[r].sum/pulls[r].weight - s.sum/s.weight
			e += pulls[r].weight * d * d
		}
		return e
	}
	least := spread(rows)
	for f := range x[0] {
		for _, at := range rows {
			for _, missingLow := range []bool{true, false} {
				var low, high []int
				for _, r := range rows {
					if v := x[r][f]; v <= x[at][f] || v != v && missingLow {
						low = append(low, r)
					} else {
						high = append(high, r)
					}
				}
				if len(low) >= minLeaf && len(high) >= minLeaf && len(low) > 0 && len(high) > 0 {
					least = min(least, spread(low)+spread(high))
				}
			}
		}
	}
	return least
}

// A tree of depth one is the best cut, and deeper ones are best cuts of its
// parts.
func TestGrowFindsTheBestCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, p := rapid.IntRange(2, 24).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "p")
		value := rapid.Custom(func(t *rapid.T) float64 {
			if rapid.IntRange(0, 4).Draw(t, "missing") == 0 {
				return math.NaN()
			}
			return float64(rapid.IntRange(-3, 3).Draw(t, "value"))
		})
		x, cols := make([][]float64, n), make([][]float64, p)
		for i := range x {
			for f := range p {
				v := value.Draw(t, "x")
				x[i] = append(x[i], v)
				cols[f] = append(cols[f], v)
			}
		}
		pulls, all := make([]pull, n), make([]uint32, n)
		for i := range pulls {
			w := float64(rapid.IntRange(1, 3).Draw(t, "w"))
			pulls[i], all[i] = pull{w * float64(rapid.IntRange(-50, 50).Draw(t, "g")), w}, uint32(i)
		}
		features := make([]int, p)
		for f := range features {
			features[f] = f
		}
		depth, minLeaf := rapid.IntRange(1, 3).Draw(t, "depth"), rapid.IntRange(1, 4).Draw(t, "minLeaf")
		tr := newGrower(cols, depth, minLeaf).grow(pulls, all, features)
		parts := map[int][]int{1: nil}
		for i := range x {
			parts[1] = append(parts[1], i)
		}
		for node := 1; node < 8; node++ {
			rows := parts[node]
			if tr.feature[node] == noSplit {
				continue
			}
			for _, r := range rows {
				child := 2 * node
				v := x[r][tr.feature[node]&^missingHigh]
				if v > tr.cut[node] || v != v && tr.feature[node]&missingHigh != 0 {
					child++
				}
				parts[child] = append(parts[child], r)
			}
			left := leastError(x, pulls, parts[2*node], n+1) + leastError(x, pulls, parts[2*node+1], n+1)
			if best := leastError(x, pulls, rows, minLeaf); left > best+1e-6 {
				t.Fatalf("node %d leaves the error %v, the best cut %v", node, left, best)
			}
		}
		var r row
		for i := range x {
			r.fill(x[i])
			leaf := tr.place(cols, i)
			if tr.value(&r) != tr.leaf[leaf] {
				t.Fatalf("row %d: the two ways down end at %v and %v", i, tr.value(&r), tr.leaf[leaf])
			}
		}
		for node, rows := range parts {
			if node >= 1<<depth || tr.feature[node] == noSplit {
				var s pull
				for _, i := range rows {
					s.sum += pulls[i].sum
					s.weight += pulls[i].weight
				}
				for _, i := range rows {
					if d := tr.leaf[tr.place(cols, i)] - s.sum/s.weight; math.Abs(d) > 1e-9 {
						t.Fatalf("a leaf is off its mean by %v", d)
					}
				}
			}
		}
	})
}

// Between two numbers without one in the middle, the cut is the lower.
func TestGrowCutsBetweenNeighbours(t *testing.T) {
	for v := 1.0; v < 1.000000000000001; v = math.Nextafter(v, 2) {
		col := []float64{math.Nextafter(v, 2), v}
		tr := newGrower([][]float64{col}, 1, 1).grow([]pull{{5, 1}, {-5, 1}}, []uint32{0, 1}, []int{0})
		if tr.leaf[tr.place([][]float64{col}, 0)] != 5 || tr.leaf[tr.place([][]float64{col}, 1)] != -5 {
			t.Errorf("%v and its neighbour share a leaf", v)
		}
	}
}

func TestBinsKeepTheOrderOfManyValues(t *testing.T) {
	col := make([]float64, 5000)
	for i := range col {
		col[i] = float64(i * 7919 % 5000)
	}
	s := newScale(col)
	if n := len(s.low); n < maxBins/2 || n > maxBins {
		t.Fatalf("%d bins", n)
	}
	for i, v := range col {
		if b := s.bins[i]; v < s.low[b] || v > s.high[b] || b > 0 && s.high[b-1] >= s.low[b] {
			t.Fatalf("%v is in bin %d, from %v to %v", v, b, s.low[b], s.high[b])
		}
	}
}

// The natural gradient of a row is its gradient over the Fisher information.
func TestPullsAreTheNaturalGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sample{y: []float64{rapid.Float64Range(-20, 20).Draw(t, "y")}, weight: []float64{2}, censored: []bool{rapid.Bool().Draw(t, "censored")}, total: 2}
		st := newState(s, [2]float64{rapid.Float64Range(-3, 3).Draw(t, "mu"), rapid.Float64Range(-2, 2).Draw(t, "eta")}, -11.5)
		var mu, eta [1]pull
		st.pulls(mu[:], eta[:])
		const h = 1e-5
		byMu := (st.rowScore(0, -h, 0) - st.rowScore(0, h, 0)) / (2 * h)
		byEta := (st.rowScore(0, 0, -h) - st.rowScore(0, 0, h)) / (2 * h)
		for _, c := range []struct{ got, want float64 }{{mu[0].sum / 2, byMu / st.precision[0]}, {eta[0].sum / 2, byEta / 2}} {
			if math.Abs(c.got-c.want) > 1e-4*(1+math.Abs(c.want)) {
				t.Fatalf("%v, by differences %v", c.got, c.want)
			}
		}
	})
}

// No start near the marginal one is likelier.
func TestMarginalIsTheLikeliest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(12, 40).Draw(t, "n")
		s := sample{}
		for range n {
			s.y = append(s.y, rapid.Float64Range(-5, 5).Draw(t, "y"))
			s.weight = append(s.weight, rapid.Float64Range(0.5, 3).Draw(t, "w"))
			s.censored = append(s.censored, rapid.IntRange(0, 3).Draw(t, "censored") == 0)
			s.total += s.weight[len(s.weight)-1]
		}
		if s.enough() != nil {
			t.Skip("too few rows to learn from")
		}
		mu, sigma := s.marginal()
		if sigma < 1e-3 {
			t.Skip("the durations are one")
		}
		at := func(mu, eta float64) float64 { return newState(s, [2]float64{mu, eta}, math.Log(sigma)-5).score() }
		best := at(mu, math.Log(sigma))
		for _, d := range []float64{-0.01, 0.01} {
			if at(mu+d*sigma, math.Log(sigma)) < best || at(mu, math.Log(sigma)+d) < best {
				t.Fatalf("(%v, %v) is not the likeliest", mu, sigma)
			}
		}
	})
}
