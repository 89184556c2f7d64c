package predict_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// bigRows are 20,000 rows of 30 features, a third of them continuous, a third
// small counts and a third with missing values, and their durations.
func bigRows() (x [][]float64, y []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		row := make([]float64, 30)
		for f := range row {
			switch row[f] = r.ExpFloat64() * 10; f % 3 {
			case 1:
				row[f] = math.Floor(row[f])
			case 2:
				if r.Float64() < 0.2 {
					row[f] = math.NaN()
				}
			}
		}
		spread := 0.1 + 0.02*row[3]
		y = append(y, math.Exp(4+0.05*row[0]+0.03*row[1]+math.Sin(row[4])+spread*r.NormFloat64()))
		x = append(x, row)
	}
	return x, y
}

// BenchmarkNGBoostTrain is the time of one fit. all-MB is all that it allocates,
// which bounds what it adds to the heap at its most; JSON-kB is the model's size.
func BenchmarkNGBoostTrain(b *testing.B) {
	x, y := bigRows()
	for name, opt := range map[string]predict.NGBoostOptions{"all": {}, "half": {RowFrac: 0.5}} {
		b.Run(name, func(b *testing.B) {
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				m := must(predict.FitNGBoost(x, y, opt))
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(len(must(json.Marshal(m))))/1e3, "JSON-kB")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6, "all-MB")
			}
		})
	}
}

func BenchmarkNGBoostPredict(b *testing.B) {
	x, y := bigRows()
	m := must(predict.FitNGBoost(x[:2000], y[:2000], predict.NGBoostOptions{}))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		m.Predict(x[i%len(x)])
		i++
	}
}
