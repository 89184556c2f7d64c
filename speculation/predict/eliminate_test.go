package predict_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// noisy draws rows of which the first columns say something and the others nothing; one
// is constant.
func noisy(seed uint64, rows, useful, useless int) (x [][]float64, y []bool) {
	s := stream(seed)
	for range rows {
		r := make([]float64, useful+useless+1)
		eta := 0.5
		for j := range useful + useless {
			if r[j] = s.normal() * 100; j < useful {
				eta += r[j] / 100
			}
		}
		x, y = append(x, r), append(y, s.u() < chanceOf(eta))
	}
	return x, y
}

func TestEliminateKeepsWhatSays(t *testing.T) {
	x, y := noisy(1, 3000, 3, 27)
	kept, path, err := predict.Eliminate(x, y, nil, predict.EliminationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) < 3 || len(kept) > 12 || !slices.Equal(kept[:3], []int{0, 1, 2}) {
		t.Errorf("kept %v", kept)
	}
	// 30, 27, 25, 23, 21, 19; then one by one.
	if first, last := path[0], path[len(path)-1]; len(path) != 25 || len(first.Columns) != 30 || len(last.Columns) != 0 {
		t.Errorf("%d models from %d to %d columns", len(path), len(first.Columns), len(last.Columns))
	}
	best := slices.MinFunc(path, func(a, b predict.EliminationStep) int {
		return int(math.Copysign(1, a.LogLoss-b.LogLoss))
	})
	if !slices.Equal(best.Columns, kept) {
		t.Errorf("kept %v, the best are %v", kept, best.Columns)
	}
	// The first three are dropped last.
	for _, step := range path {
		if n := len(step.Columns); n == 3 && !slices.Equal(step.Columns, []int{0, 1, 2}) || n > 0 && !slices.IsSorted(step.Columns) {
			t.Errorf("of %d: %v", n, step.Columns)
		}
	}
}

func TestEliminateOfNoise(t *testing.T) {
	x, y := noisy(4, 2000, 0, 12)
	kept, path, err := predict.Eliminate(x, y, nil, predict.EliminationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) > 6 {
		t.Errorf("of noise it keeps %v: %v", kept, path)
	}
}

func TestEliminateSaysWhatIsWrong(t *testing.T) {
	x, y := noisy(1, 10, 1, 1)
	for _, c := range []struct {
		n    int
		w    []float64
		opt  predict.EliminationOptions
		want string
	}{
		{10, nil, predict.EliminationOptions{Validation: 1}, "cannot judge"},
		{10, nil, predict.EliminationOptions{Validation: math.NaN()}, "cannot judge"},
		{1, nil, predict.EliminationOptions{}, "too few"},
		{0, nil, predict.EliminationOptions{}, "no rows"},
		{10, make([]float64, 10), predict.EliminationOptions{}, "every row has weight 0"},
		{10, nil, predict.EliminationOptions{Logistic: predict.LogisticOptions{C: -1}}, "out of range"},
	} {
		_, _, err := predict.Eliminate(x[:c.n], y[:c.n], c.w, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestEliminateRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y, w := rowsOf(t)
		kept, path, err := predict.Eliminate(x, y, w, predict.EliminationOptions{Validation: 0.4})
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range path {
			if i > 0 && len(step.Columns) >= len(path[i-1].Columns) {
				t.Fatalf("model %d has no fewer columns than the one before", i)
			}
			if i > 0 {
				for _, c := range step.Columns {
					if !slices.Contains(path[i-1].Columns, c) {
						t.Fatalf("column %d comes back", c)
					}
				}
			}
		}
		// A column's unit does not decide.
		sx := make([][]float64, len(x))
		for i, row := range x {
			for j, v := range row {
				sx[i] = append(sx[i], math.Ldexp(v, 3*j))
			}
		}
		again, _, err := predict.Eliminate(sx, y, w, predict.EliminationOptions{Validation: 0.4})
		if err != nil || !slices.Equal(kept, again) {
			t.Fatalf("kept %v, in other units %v: %v", kept, again, err)
		}
	})
}
