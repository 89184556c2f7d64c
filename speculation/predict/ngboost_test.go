package predict_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// trajectory is what testdata/ngboost.py did.
type trajectory struct {
	Start   [2]float64           `json:"start"`
	Scales  []float64            `json:"scales"`
	Scores  []float64            `json:"scores"`
	After   map[int][][2]float64 `json:"after"`
	MinLeaf int                  `json:"min_leaf"`
}

func TestNGBoostFollowsTheReference(t *testing.T) {
	text, err := os.ReadFile("testdata/ngboost.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Rate                    float64
		X                       [][]float64
		Y                       []float64
		Normal, LogNormal, Thin trajectory
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		want trajectory
		dist predict.Family
	}{
		"normal":    {golden.Normal, predict.Normal},
		"lognormal": {golden.LogNormal, predict.LogNormal},
		"thin":      {golden.Thin, predict.LogNormal},
	} {
		t.Run(name, func(t *testing.T) {
			m := must(predict.FitNGBoost(golden.X, golden.Y, predict.NGBoostOptions{
				Dist: c.dist, Stages: len(c.want.Scales), Rate: golden.Rate, MinLeaf: c.want.MinLeaf,
			}))
			jacobian := 0.0
			if c.dist == predict.LogNormal {
				for _, y := range golden.Y {
					jacobian += math.Log(y) / float64(len(golden.Y))
				}
			}
			for i, s := range m.Trace() {
				if s.Scale != c.want.Scales[i] {
					t.Fatalf("stage %d: the scale is %v, not %v", i, s.Scale, c.want.Scales[i])
				}
				if d := s.Train - jacobian - c.want.Scores[i]; math.Abs(d) > 1e-9 {
					t.Fatalf("stage %d: the score is off by %g", i, d)
				}
			}
			for row := range 8 {
				for k, d := range m.Staged(golden.X[row]) {
					want := c.want.Start
					if after, ok := c.want.After[k]; ok {
						want = after[row]
					} else if k > 0 {
						continue
					}
					if math.Hypot(d.Mu-want[0], math.Log(d.Sigma)-want[1]) > 1e-9 {
						t.Errorf("row %d after %d stages: %v, want %v", row, k, d, want)
					}
				}
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
