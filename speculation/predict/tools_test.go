package predict_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// toolsLike makes changes to a repository of 324 packages, as golang/tools is:
// each package costs to compile, vet, link and test; a change touches a few, and
// what imports them is built and tested again. Builds run steps in sequence, with
// noise of which the mean absolute error is 6.4 %. Features are what an analysis
// sees: counts of targets in all and by area, files and lines.
func toolsLike(seed uint64, changes int) (x [][]float64, y []float64) {
	const packages, areas, noise = 324, 10, 0.0802 // E|error| = 0.798 noise
	r := rand.New(rand.NewPCG(seed, 9))
	// Imports go to earlier packages; the later ones of an area are its commands.
	importers := make([][]int, packages)
	build, test := make([]float64, packages), make([]float64, packages)
	for p := range packages {
		build[p] = math.Exp(-0.5 + 0.7*r.NormFloat64())
		if r.Float64() < 0.6 {
			test[p] = math.Exp(1.1*r.NormFloat64() + 0.2)
		}
		for range r.IntN(4) {
			if p > 0 {
				on := r.IntN(p)
				if r.Float64() < 0.7 {
					on = (on/areas)*areas + p%areas // of its own area
				}
				if on < p {
					importers[on] = append(importers[on], p)
				}
			}
		}
	}
	for range changes {
		touched := map[int]bool{}
		area := r.IntN(areas)
		for range 1 + r.IntN(3) {
			touched[r.IntN(packages/areas)*areas+area] = true
		}
		affected := map[int]bool{}
		var reach func(p int)
		reach = func(p int) {
			if !affected[p] {
				affected[p] = true
				for _, q := range importers[p] {
					reach(q)
				}
			}
		}
		for p := range packages {
			if touched[p] {
				reach(p)
			}
		}
		row := make([]float64, 4+2*areas)
		took := 8.0
		for p := range packages {
			if !affected[p] {
				continue
			}
			took += build[p] + test[p]
			row[0]++
			row[4+p%areas]++
			if test[p] > 0 {
				row[1]++
				row[4+areas+p%areas]++
			}
		}
		row[2] = float64(len(touched)) + float64(r.IntN(4))
		row[3] = math.Floor(math.Exp(3 + 1.2*r.NormFloat64()))
		x, y = append(x, row), append(y, took*math.Exp(noise*r.NormFloat64()))
	}
	return x, y
}

func TestNGBoostOnChangesLikeThoseOfATool(t *testing.T) {
	storetest.OneOf(t, 3)
	var mape, median, cover, n float64
	for seed := range uint64(2) {
		x, y := toolsLike(seed, 3930)
		learn := len(y) * 7 / 10
		m := must(predict.FitNGBoost(x[:learn], y[:learn], predict.NGBoostOptions{
			Stages: 1500, MeanStages: 2000, Rate: 0.03, RowFrac: 0.5, ColFrac: 0.5, Validation: 0.2, Patience: 100, MinLeaf: 5, Refit: true,
		}))
		sorted := slices.Sorted(slices.Values(y[:learn]))
		for i := learn; i < len(y); i++ {
			d := m.Dist(x[i])
			mape += math.Abs(d.Quantile(0.5)-y[i]) / y[i]
			median += math.Abs(sorted[learn/2]-y[i]) / y[i]
			if y[i] > d.Quantile(0.05) && y[i] < d.Quantile(0.95) {
				cover++
			}
			n++
		}
		t.Logf("seed %d: %d stages, MAPE so far %.2f %%, of the median %.1f %%, 90 %% intervals hold %.3f", seed, m.Stages(), 100*mape/n, 100*median/n, cover/n)
	}
	if mape/n > 0.115 || cover/n < 0.88 || cover/n > 0.92 {
		t.Errorf("MAPE %.2f %%, 90 %% intervals hold %.3f", 100*mape/n, cover/n)
	}
}
