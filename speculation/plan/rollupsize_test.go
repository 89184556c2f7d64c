package plan

import (
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// TestRollupSizes holds the sizes to known optima: searching by halves pays below a share
// of (3-sqrt 5)/2 of bad changes, and the fewer are bad the more are built together
// (models.md of the published gains: 13 at 5 %, with no re-run).
func TestRollupSizes(t *testing.T) {
	for _, x := range []struct {
		good  float64
		of    int
		again float64
		want  int
	}{
		{0.5, 8, 0, 1}, {0.6, 8, 0, 1}, {0.7, 8, 0, 2}, {0.95, 8, 1, 8}, {0.95, 16, 0, 13}, {0.999, 16, 1, 16},
	} {
		chances := make([]float64, x.of)
		for i := range chances {
			chances[i] = x.good
		}
		if got := bestSize(chances, x.again); got != x.want {
			t.Errorf("%d at %v and %v runs again, want %d", got, x.good, x.again, x.want)
		}
	}
	if n, passes := splitAt([]float64{0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95}); n != 4 || math.Abs(passes-0.449) > 0.001 {
		t.Errorf("eight alike are split at %d, of which %v pass", n, passes)
	}
	if n, _ := splitAt([]float64{0.6, 0.99, 0.99, 0.99}); n != 1 {
		t.Errorf("the first, which is probably to blame, is tried with %d others", n-1)
	}
}

// TestRollupCosts compares the costs with those of every outcome in turn: each set of bad
// members by its chance, and the builds that the search then makes.
func TestRollupCosts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		chances := rapid.SliceOfN(rapid.Float64Range(0.05, 0.95), 1, 7).Draw(rt, "chances")
		again := float64(rapid.IntRange(0, 2).Draw(rt, "again"))
		builds, lands := 0.0, 0.0
		for bad := range 1 << len(chances) {
			p := 1.0
			for i, q := range chances {
				if bad&(1<<i) != 0 {
					p *= 1 - q
				} else {
					p *= q
				}
			}
			n, l := played(chances, bad, again)
			builds, lands = builds+p*n, lands+p*l
		}
		if b, l := outcome(chances, again); math.Abs(b-builds) > 1e-9 || math.Abs(l-lands) > 1e-9 {
			rt.Fatalf("%v: %v builds for %v landings, played out %v for %v", chances, b, l, builds, lands)
		}
	})
}

// played returns the builds and landings of a rollup of which the given members are bad.
func played(chances []float64, bad int, again float64) (builds, lands float64) {
	if bad == 0 {
		return 1, float64(len(chances))
	}
	builds = 1
	from, to := 0, len(chances)
	for to-from > 1 {
		n, _ := splitAt(chances[from:to])
		builds++
		if part := bad >> from & (1<<n - 1); part == 0 {
			from += n
		} else {
			to = from + n
		}
	}
	return builds + again, float64(bits.TrailingZeros(uint(bad)))
}
