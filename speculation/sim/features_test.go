package sim

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

// Features of a generated world tell broken changes from sound ones as well as the package
// says, and their sizes follow durations.
func TestFeaturesTellSomething(t *testing.T) {
	t.Parallel()
	p := Defaults()
	p.Changes, p.Seed = 12_000, 7
	w, err := Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([][]float64, len(w.Changes)), make([]bool, len(w.Changes))
	type record struct{ n, bad float64 }
	authors := map[string]record{}
	for i := range w.Changes {
		c, f := &w.Changes[i], w.Changes[i].Features
		a := authors[f.Author]
		rate := (a.bad + 0.065*15) / (a.n + 15)
		x[i] = []float64{1, math.Log(float64(1+f.Added+f.Removed)) - math.Log(c.DurationMin)*1.2, math.Log(rate), number(f.Tests), number(f.TestPlan),
			math.Log(float64(f.Revision)), math.Log(1 + float64(f.Attempts)), number(f.Revert)}
		y[i] = c.BrokenTarget >= 0
		a.n, a.bad = a.n+1, a.bad+number(y[i])
		authors[f.Author] = a
	}
	half := len(x) / 2
	weights := logistic(x[:half], y[:half])
	all := auc(x[half:], y[half:], weights)
	if all < 0.75 || all > 0.80 {
		t.Errorf("all features together have an AUC of %.3f, want 0.75 to 0.80", all)
	}
	without := make([][]float64, len(x))
	for i := range x {
		without[i] = slices.Clone(x[i])
		without[i][2] = 0
	}
	t.Logf("AUC of all features together: %.3f", all)
	if less := auc(without[half:], y[half:], logistic(without[:half], y[:half])); less > all-0.03 {
		t.Errorf("without authors' records the AUC is %.3f, with them %.3f: they carry no signal", less, all)
	}
	var lines, minutes []float64
	for i := range w.Changes {
		lines = append(lines, math.Log(float64(1+w.Changes[i].Features.Added+w.Changes[i].Features.Removed)))
		minutes = append(minutes, math.Log(w.Changes[i].DurationMin))
	}
	if r := correlation(lines, minutes); r < 0.3 {
		t.Errorf("sizes correlate with durations by %.2f", r)
	}
}

// Features change nothing of what was drawn before them, and nothing of what ours does
// where its model does not look at them.
func TestFeaturesLeaveTheRest(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, func(p *Params) {
		p.Changes, p.Seed, p.Large, p.TreeBroken, p.TreeStepMin = fewer(120, 60), 9, 0.02, 0.02, 3
	})
	bare := *w
	bare.Changes = slices.Clone(w.Changes)
	for i := range bare.Changes {
		bare.Changes[i].Features = nil
	}
	run := func(w *World) *Outcome {
		o, err := ours{}.Run(t.Context(), w, Options{Workers: 50})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	a, b := run(w), run(&bare)
	if !reflect.DeepEqual(a.Decisions, b.Decisions) || a.Builds != b.Builds {
		t.Errorf("%d builds with features, %d without", a.Builds, b.Builds)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// logistic fits by gradient descent on standardised columns, which is enough here.
func logistic(x [][]float64, y []bool) []float64 {
	w := make([]float64, len(x[0]))
	for range 400 {
		g := make([]float64, len(w))
		for i := range x {
			d := 1/(1+math.Exp(-dot(w, x[i]))) - number(y[i])
			for j := range g {
				g[j] += d * x[i][j]
			}
		}
		for j := range w {
			w[j] -= 1.5 * g[j] / float64(len(x))
		}
	}
	return w
}

func dot(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// auc returns the chance that a broken change has a higher score than a sound one.
func auc(x [][]float64, y []bool, w []float64) float64 {
	type scored struct {
		s   float64
		bad bool
	}
	var all []scored
	for i := range x {
		all = append(all, scored{dot(w, x[i]), y[i]})
	}
	slices.SortFunc(all, func(a, b scored) int {
		if a.s < b.s {
			return -1
		}
		return 1
	})
	ranks, bad := 0.0, 0.0
	for i, s := range all {
		if s.bad {
			ranks, bad = ranks+float64(i+1), bad+1
		}
	}
	return (ranks - bad*(bad+1)/2) / (bad * (float64(len(all)) - bad))
}

func correlation(a, b []float64) float64 {
	mean := func(x []float64) (m float64) {
		for _, v := range x {
			m += v / float64(len(x))
		}
		return m
	}
	ma, mb := mean(a), mean(b)
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+(a[i]-ma)*(b[i]-mb), aa+(a[i]-ma)*(a[i]-ma), bb+(b[i]-mb)*(b[i]-mb)
	}
	return ab / math.Sqrt(aa*bb)
}
