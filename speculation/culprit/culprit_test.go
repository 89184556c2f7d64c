package culprit_test

import (
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/culprit"
)

func evenly(alone, pair float64) (func(int) float64, func(i, j int) float64) {
	return func(int) float64 { return alone }, func(int, int) float64 { return pair }
}

func chances(f culprit.Finding) map[[2]int]float64 {
	out := map[[2]int]float64{}
	for _, g := range f.Guesses {
		out[[2]int{g.A, g.B}] = g.Chance
	}
	return out
}

// The examples of the package doc.
func TestFind(t *testing.T) {
	alone, pair := evenly(0.05, 0)
	c := culprit.Case{Members: 5, Passed: [][]int{{1, 2}}, Failed: [][]int{{1, 2, 3}, {2, 3, 4}}, Alone: alone, Pair: pair}
	got := chances(culprit.Find(c))
	if _, ok := got[[2]int{1, -1}]; ok || got[[2]int{3, -1}] < 0.99 || got[[2]int{4, -1}] > 0.06 {
		t.Errorf("3 explains both failures, and the chances are %v", got)
	}
	c.Passed = nil
	got = chances(culprit.Find(c))
	for i, want := range map[int][2]float64{1: {0.05, 0.15}, 2: {0.4, 0.6}, 3: {0.4, 0.6}, 4: {0.05, 0.15}} {
		if q := got[[2]int{i, -1}]; q < want[0] || q > want[1] {
			t.Errorf("without the pass %d is to blame by %.3f, want %v", i, q, want)
		}
	}
}

// Two that break together pass with everything else.
func TestFindPair(t *testing.T) {
	alone, pair := evenly(0.01, 0.01)
	c := culprit.Case{Members: 4, Passed: [][]int{{0, 2, 3}, {1, 2, 3}}, Failed: [][]int{{0, 1, 2, 3}}, Alone: alone, Pair: pair}
	f := culprit.Find(c)
	if len(f.Guesses) != 1 || f.Guesses[0].A != 0 || f.Guesses[0].B != 1 || f.Guesses[0].Chance < 0.99 {
		t.Errorf("%+v", f.Guesses)
	}
}

// A failure of which nobody is left tells nothing; one that another explains is left out.
func TestFindLeavesOut(t *testing.T) {
	alone, pair := evenly(0.05, 0)
	f := culprit.Find(culprit.Case{Members: 3, Passed: [][]int{{0}}, Failed: [][]int{{0}, {1, 2}, {1}}, Alone: alone, Pair: pair})
	if len(f.Failures) != 1 || len(f.Guesses) != 1 || f.Guesses[0].A != 1 {
		t.Errorf("%+v", f)
	}
}

// With few changes the chances are near those of the exact sum over all worlds.
func TestFindIsNearTheTruth(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(r, "changes")
		q := rapid.Float64Range(0.02, 0.3).Draw(r, "chance")
		bad := rapid.IntRange(0, 1<<n-1).Draw(r, "bad")
		c := culprit.Case{Members: n}
		c.Alone, c.Pair = evenly(q, 0)
		var passed, failed []int
		for range rapid.IntRange(1, 6).Draw(r, "builds") {
			s := rapid.IntRange(1, 1<<n-1).Draw(r, "set")
			var list []int
			for i := range n {
				if s&(1<<i) != 0 {
					list = append(list, i)
				}
			}
			if s&bad == 0 {
				passed, c.Passed = append(passed, s), append(c.Passed, list)
			} else {
				failed, c.Failed = append(failed, s), append(c.Failed, list)
			}
		}
		all, of := 0.0, make([]float64, n)
	worlds:
		for w := range 1 << n {
			for _, s := range passed {
				if w&s != 0 {
					continue worlds
				}
			}
			for _, s := range failed {
				if w&s == 0 {
					continue worlds
				}
			}
			k := bits.OnesCount(uint(w))
			p := math.Pow(q, float64(k)) * math.Pow(1-q, float64(n-k))
			all += p
			for i := range n {
				if w&(1<<i) != 0 {
					of[i] += p
				}
			}
		}
		for _, g := range culprit.Find(c).Guesses {
			if want := of[g.A] / all; math.Abs(g.Chance-want) > 0.25 {
				r.Errorf("%d is to blame by %.3f, and exactly by %.3f", g.A, g.Chance, want)
			}
			if bad := g.Chance < 0 || g.Chance > 1 || math.IsNaN(g.Chance); bad {
				r.Errorf("%+v", g)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	alone, pair := evenly(0.005, 0.001)
	c := culprit.Case{Members: 90, Alone: alone, Pair: pair}
	for k := range 60 {
		var list []int
		for i := range 90 {
			if (i*7+k*13)%11 < 4 {
				list = append(list, i)
			}
		}
		if k%2 == 0 {
			c.Failed = append(c.Failed, list)
		} else {
			c.Passed = append(c.Passed, list)
		}
	}
	for b.Loop() {
		culprit.Find(c)
	}
}
