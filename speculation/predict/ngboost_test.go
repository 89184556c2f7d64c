package predict_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

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

// sloped are rows of p features and durations that depend on the first two.
func sloped(seed uint64, n, p int) (x [][]float64, y []float64) {
	r := rand.New(rand.NewPCG(seed, 5))
	for range n {
		row := make([]float64, p)
		for f := range row {
			row[f] = r.Float64()
		}
		x = append(x, row)
		y = append(y, math.Exp(1+2*row[0]+(0.1+0.4*row[1])*r.NormFloat64()))
	}
	return x, y
}

func drawOptions(t *rapid.T) predict.NGBoostOptions {
	return predict.NGBoostOptions{
		Dist:       rapid.SampledFrom([]predict.Family{predict.Normal, predict.LogNormal}).Draw(t, "dist"),
		Stages:     rapid.IntRange(1, 30).Draw(t, "stages"),
		Rate:       rapid.Float64Range(0.01, 0.3).Draw(t, "rate"),
		Depth:      rapid.IntRange(1, 3).Draw(t, "depth"),
		MinLeaf:    rapid.IntRange(1, 20).Draw(t, "leaf"),
		RowFrac:    rapid.Float64Range(0.3, 1).Draw(t, "rows"),
		ColFrac:    rapid.Float64Range(0.1, 1).Draw(t, "cols"),
		Seed:       rapid.Uint64().Draw(t, "seed"),
		Validation: rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(t, "validation"),
		Refit:      rapid.Bool().Draw(t, "refit"),
		MeanStages: rapid.IntRange(0, 10).Draw(t, "mean stages"),
	}
}

func TestNGBoostIsDeterministicAndComesBackFromJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := sloped(rapid.Uint64().Draw(t, "data"), 120, 4)
		for range 60 {
			x[rapid.IntRange(0, 119).Draw(t, "row")][rapid.IntRange(0, 3).Draw(t, "col")] = math.NaN()
		}
		opt := drawOptions(t)
		opt.Censored = make([]bool, len(y))
		for i := range opt.Censored {
			opt.Censored[i] = i%7 == 3
		}
		m := must(predict.FitNGBoost(x, y, opt))
		text := must(json.Marshal(m))
		if again := must(json.Marshal(must(predict.FitNGBoost(x, y, opt)))); !bytes.Equal(text, again) {
			t.Fatal("a second fit differs")
		}
		var back predict.NGBoost
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, must(json.Marshal(back))) {
			t.Fatal("its JSON differs")
		}
		for _, row := range x {
			if m.Dist(row) != back.Dist(row) {
				t.Fatalf("%v came back as %v", m.Dist(row), back.Dist(row))
			}
			if mean, sd := m.Predict(row); !(sd > 0 && !math.IsInf(mean, 0) && mean == mean && !math.IsInf(sd, 0)) {
				t.Fatalf("the prediction is %v, %v", mean, sd)
			}
		}
	})
}

func TestNGBoostSeedsDrawOtherRows(t *testing.T) {
	x, y := sloped(1, 200, 4)
	a := must(predict.FitNGBoost(x, y, predict.NGBoostOptions{Stages: 5, RowFrac: 0.5, Seed: 1}))
	b := must(predict.FitNGBoost(x, y, predict.NGBoostOptions{Stages: 5, RowFrac: 0.5, Seed: 2}))
	if a.Dist(x[0]) == b.Dist(x[0]) {
		t.Error("two seeds have made one model")
	}
}

func TestNGBoostStagedEndsAtEachShorterModel(t *testing.T) {
	x, y := sloped(2, 150, 3)
	opt := predict.NGBoostOptions{Stages: 12, RowFrac: 0.7}
	long := must(predict.FitNGBoost(x, y, opt))
	seen := 0
	for k, d := range long.Staged(x[3]) {
		if k != seen {
			t.Fatalf("%d stages come after %d", k, seen-1)
		}
		seen++
		if k > 0 {
			opt.Stages = k
			if short := must(predict.FitNGBoost(x, y, opt)); short.Dist(x[3]) != d || short.Stages() != k {
				t.Errorf("after %d stages %v, a model of as many says %v", k, d, short.Dist(x[3]))
			}
		}
	}
	if seen != 13 || long.Features() != 3 {
		t.Errorf("%d predictions, %d features", seen, long.Features())
	}
	for range long.Staged(x[0]) {
		break
	}
}

// A row of weight w counts as w rows.
func TestNGBoostWeightsAreCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := sloped(rapid.Uint64().Draw(t, "data"), 60, 3)
		opt := predict.NGBoostOptions{Stages: 15, Rate: 0.1, Censored: make([]bool, len(y))}
		many := opt
		var mx [][]float64
		var my []float64
		many.Censored = nil
		for i := range x {
			w := rapid.IntRange(1, 4).Draw(t, "w")
			opt.Censored[i] = rapid.IntRange(0, 5).Draw(t, "censored") == 0
			opt.Weights = append(opt.Weights, float64(w))
			for range w {
				mx, my, many.Censored = append(mx, x[i]), append(my, y[i]), append(many.Censored, opt.Censored[i])
			}
		}
		a, b := must(predict.FitNGBoost(x, y, opt)), must(predict.FitNGBoost(mx, my, many))
		for i, s := range a.Trace() {
			near(t, "the score of a stage", s.Train, b.Trace()[i].Train, 1e-7)
		}
	})
}

// Trees see only the order of the values of a feature.
func TestNGBoostDoesNotSeeScales(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := sloped(rapid.Uint64().Draw(t, "data"), 80, 3)
		by := math.Ldexp(1, rapid.IntRange(-30, 30).Draw(t, "scale"))
		scaled := make([][]float64, len(x))
		for i, row := range x {
			scaled[i] = []float64{row[0] * by, row[1], math.Exp(row[2])}
		}
		opt := predict.NGBoostOptions{Stages: 20, Rate: 0.1}
		a, b := must(predict.FitNGBoost(x, y, opt)), must(predict.FitNGBoost(scaled, y, opt))
		for i := range x {
			if a.Dist(x[i]) != b.Dist(scaled[i]) {
				t.Fatalf("row %d: %v and %v", i, a.Dist(x[i]), b.Dist(scaled[i]))
			}
		}
	})
}

func TestNGBoostLearnsFromWhatIsMissing(t *testing.T) {
	x, y := sloped(3, 600, 2)
	for i := range x {
		if x[i][1] = 1; i%3 == 0 {
			x[i][1] = math.NaN()
			y[i] *= 10
		}
	}
	m := must(predict.FitNGBoost(x, y, predict.NGBoostOptions{}))
	at := func(b float64) float64 { return m.Dist([]float64{0.5, b}).Quantile(0.5) }
	near(t, "the factor of a missing value", at(math.NaN())/at(1), 10, 1.5)
	// The first feature was never missing: a row without it is like some row with it.
	lost := m.Dist([]float64{math.NaN(), 1}).Quantile(0.5)
	if lo, hi := m.Dist([]float64{0, 1}).Quantile(0.5), m.Dist([]float64{1, 1}).Quantile(0.5); lost < lo*0.9 || lost > hi*1.1 {
		t.Errorf("without its first feature a row takes %v, with it from %v to %v", lost, lo, hi)
	}
}

// Builds are aborted at a time that has nothing to do with how long they take.
// Rows that say so are worth more than rows dropped, and far more than rows taken
// for durations.
func TestNGBoostCensoredRowsAreNotShortBuilds(t *testing.T) {
	for _, dist := range []predict.Family{predict.LogNormal, predict.Normal} {
		x, whole := sloped(4, 1500, 2)
		r := rand.New(rand.NewPCG(1, 1))
		y, censored := slices.Clone(whole), make([]bool, len(whole))
		var keptX [][]float64
		var keptY []float64
		for i := range y {
			if cut := r.ExpFloat64() * 8; cut < y[i] && cut > 0 {
				y[i], censored[i] = cut, true
				continue
			}
			keptX, keptY = append(keptX, x[i]), append(keptY, y[i])
		}
		opt := predict.NGBoostOptions{Dist: dist, Stages: 150, Rate: 0.05, MinLeaf: 20}
		truth := must(predict.FitNGBoost(x, whole, opt))
		off := func(m *predict.NGBoost) (sum float64) {
			for _, row := range x[:500] {
				a, _ := m.Predict(row)
				b, _ := truth.Predict(row)
				sum += math.Abs(a-b) / b / 500
			}
			return sum
		}
		dropped, taken := off(must(predict.FitNGBoost(keptX, keptY, opt))), off(must(predict.FitNGBoost(x, y, opt)))
		opt.Censored = censored
		said := off(must(predict.FitNGBoost(x, y, opt)))
		t.Logf("%v: off by %.3f with censored rows, %.3f without them, %.3f as durations", dist, said, dropped, taken)
		if said > 0.1 || said > 0.8*dropped || said > taken/3 {
			t.Errorf("%v: off by %.3f with censored rows, %.3f without them, %.3f as durations", dist, said, dropped, taken)
		}
	}
}

func TestNGBoostStopsAndRecalibrates(t *testing.T) {
	x, y := sloped(5, 1200, 6)
	opt := predict.NGBoostOptions{Stages: 500, Rate: 0.1, Validation: 0.25}
	full := must(predict.FitNGBoost(x, y, opt))
	best := full.Trace()[full.Stages()-1].Valid
	for i, s := range full.Trace() {
		if s.Valid < best {
			t.Errorf("stage %d has the score %v on held-out rows, the last kept one %v", i, s.Valid, best)
		}
	}
	opt.Patience = 20
	short := must(predict.FitNGBoost(x, y, opt))
	if len(full.Trace()) != 500 || len(short.Trace()) != short.Stages()+20 || short.Stages() > full.Stages() {
		t.Errorf("%d of %d stages are kept, with patience %d of %d", full.Stages(), len(full.Trace()), short.Stages(), len(short.Trace()))
	}
	spread := func(m *predict.NGBoost) (sum float64) {
		for i := 900; i < 1200; i++ {
			d := m.Dist(x[i])
			z := (math.Log(y[i]) - d.Mu) / d.Sigma
			sum += z * z / 300
		}
		return sum
	}
	near(t, "the mean square on held-out rows", spread(short), 1, 1e-9)
	opt.KeepSigma = true
	if s := spread(must(predict.FitNGBoost(x, y, opt))); math.Abs(s-1) < 0.02 {
		t.Errorf("as learned it is %v: this test shows nothing", s)
	}
	opt.Refit = true
	if m := must(predict.FitNGBoost(x, y, opt)); m.Stages() != short.Stages() || m.Dist(x[0]) == short.Dist(x[0]) {
		t.Errorf("learned again from all rows: %d stages for %d", m.Stages(), short.Stages())
	}
}

func TestNGBoostMeanStagesLearnTheMeanAlone(t *testing.T) {
	x, y := toolsLike(5, 1200)
	opt := predict.NGBoostOptions{Stages: 400, Rate: 0.1, Validation: 0.25, KeepSigma: true}
	both := must(predict.FitNGBoost(x, y, opt))
	opt.MeanStages = 200
	more := must(predict.FitNGBoost(x, y, opt))
	if more.Stages() <= both.Stages() {
		t.Errorf("%d stages for %d", more.Stages(), both.Stages())
	}
	for i := range x {
		if a, b := both.Dist(x[i]), more.Dist(x[i]); a.Sigma != b.Sigma || a.Mu == b.Mu {
			t.Fatalf("row %d: %v after the mean stages, before %v", i, b, a)
		}
	}
}

func TestNGBoostOfNothingToLearn(t *testing.T) {
	x, y := sloped(6, 50, 2)
	for i := range y {
		y[i] = 7
	}
	for _, dist := range []predict.Family{predict.Normal, predict.LogNormal} {
		mean, sd := must(predict.FitNGBoost(x, y, predict.NGBoostOptions{Dist: dist})).Predict(x[0])
		near(t, "the mean", mean, 7, 1e-6)
		if !(sd > 0 && sd < 1e-6) {
			t.Errorf("the deviation is %v", sd)
		}
	}
	for i := range x {
		x[i][0], x[i][1] = 1, math.NaN()
		y[i] = float64(1 + i%2)
	}
	m := must(predict.FitNGBoost(x, y, predict.NGBoostOptions{Dist: predict.Normal}))
	mean, sd := m.Predict(x[0])
	near(t, "the mean", mean, 1.5, 1e-9)
	near(t, "the deviation", sd, 0.5, 1e-9)
}

// A step that would leave the range of numbers is not learned.
func TestNGBoostStaysInRange(t *testing.T) {
	x, y := sloped(6, 50, 2)
	for i := range y {
		y[i] = -9e99
	}
	y[7] = 1e100
	m := must(predict.FitNGBoost(x, y, predict.NGBoostOptions{Dist: predict.Normal, Rate: 1}))
	if mean, sd := m.Predict(x[7]); m.Stages() > 0 || math.Abs(mean) > 1e100 || !(sd > 1e98 && sd < 1e100) {
		t.Errorf("%d stages, %v, %v", m.Stages(), mean, sd)
	}
}

func TestNGBoostSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		want string
		bad  func(x [][]float64, y []float64, opt *predict.NGBoostOptions) ([][]float64, []float64)
	}{
		{"39 rows of features for 40 durations", func(x [][]float64, y []float64, _ *predict.NGBoostOptions) ([][]float64, []float64) { return x[1:], y }},
		{"no rows", func(_ [][]float64, _ []float64, _ *predict.NGBoostOptions) ([][]float64, []float64) { return nil, nil }},
		{"9 rows to learn from that are not censored, fewer than 10", func(x [][]float64, y []float64, _ *predict.NGBoostOptions) ([][]float64, []float64) {
			return x[:9], y[:9]
		}},
		{"0 features, not from 1 to 127", func(x [][]float64, y []float64, _ *predict.NGBoostOptions) ([][]float64, []float64) {
			x[0] = nil
			return x, y
		}},
		{"row 3 has 1 features, row 0 has 2", func(x [][]float64, y []float64, _ *predict.NGBoostOptions) ([][]float64, []float64) {
			x[3] = x[3][:1]
			return x, y
		}},
		{"row 4, column 1 is +Inf", func(x [][]float64, y []float64, _ *predict.NGBoostOptions) ([][]float64, []float64) {
			x[4][1] = math.Inf(1)
			return x, y
		}},
		{"the duration of row 5 is 0, no lognormal has it", func(x [][]float64, y []float64, _ *predict.NGBoostOptions) ([][]float64, []float64) {
			y[5] = 0
			return x, y
		}},
		{"the duration of row 6 is NaN, no normal has it", func(x [][]float64, y []float64, o *predict.NGBoostOptions) ([][]float64, []float64) {
			y[6], o.Dist = math.NaN(), predict.Normal
			return x, y
		}},
		{"the weight of row 1 is -1", func(x [][]float64, y []float64, o *predict.NGBoostOptions) ([][]float64, []float64) {
			o.Weights = slices.Repeat([]float64{1}, len(y))
			o.Weights[1] = -1
			return x, y
		}},
		{"2 weights for 40 durations", func(x [][]float64, y []float64, o *predict.NGBoostOptions) ([][]float64, []float64) {
			o.Weights = []float64{1, 1}
			return x, y
		}},
		{"1 marks of censored rows for 40 durations", func(x [][]float64, y []float64, o *predict.NGBoostOptions) ([][]float64, []float64) {
			o.Censored = []bool{true}
			return x, y
		}},
		{"Dist is family(7)", option(func(o *predict.NGBoostOptions) { o.Dist = 7 })},
		{"Stages is -1", option(func(o *predict.NGBoostOptions) { o.Stages = -1 })},
		{"Rate is 2, not in (0,1]", option(func(o *predict.NGBoostOptions) { o.Rate = 2 })},
		{"Depth is 4, not from 1 to 3", option(func(o *predict.NGBoostOptions) { o.Depth = 4 })},
		{"MinLeaf is -1", option(func(o *predict.NGBoostOptions) { o.MinLeaf = -1 })},
		{"RowFrac is NaN, not in (0,1]", option(func(o *predict.NGBoostOptions) { o.RowFrac = math.NaN() })},
		{"ColFrac is -1, not in (0,1]", option(func(o *predict.NGBoostOptions) { o.ColFrac = -1 })},
		{"Validation is 1, not in [0,0.9]", option(func(o *predict.NGBoostOptions) { o.Validation = 1 })},
		{"MeanStages is -1", option(func(o *predict.NGBoostOptions) { o.MeanStages = -1 })},
		{"Patience is -1", option(func(o *predict.NGBoostOptions) { o.Patience = -1 })},
	} {
		var opt predict.NGBoostOptions
		x, y := sloped(7, 40, 2)
		x, y = c.bad(x, y, &opt)
		if _, err := predict.FitNGBoost(x, y, opt); err == nil || err.Error() != "predict: "+c.want {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func option(set func(*predict.NGBoostOptions)) func([][]float64, []float64, *predict.NGBoostOptions) ([][]float64, []float64) {
	return func(x [][]float64, y []float64, o *predict.NGBoostOptions) ([][]float64, []float64) {
		set(o)
		return x, y
	}
}

func TestNGBoostPredictDoesNotAllocate(t *testing.T) {
	x, y := sloped(8, 100, 30)
	m := must(predict.FitNGBoost(x, y, predict.NGBoostOptions{Stages: 20}))
	if n := testing.AllocsPerRun(20, func() { m.Predict(x[0]) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("a row of another length has a prediction")
		}
	}()
	m.Predict(x[0][:7])
}

// Any text is refused, or its model predicts numbers.
func FuzzNGBoostJSON(f *testing.F) {
	x, y := sloped(9, 60, 2)
	f.Add(must(json.Marshal(must(predict.FitNGBoost(x, y, predict.NGBoostOptions{Stages: 2})))))
	for _, text := range []string{"", "null", "{}", `{"features":1e9}`, `{"features":3,"mu":1e300}`, `{"features":1,"eta":1e9}`,
		`{"features":1,"stages":[[{"feature":[0,0,0,0,0,0,300]},{}]]}`, `{"features":1,"stages":[[{"feature":[2]},{}]]}`, `{"features":1,"dist":"gamma"}`,
		`{"features":1,"mu":700,"eta":5}`, `{"features":1,"floor":-1e9,"eta":-1e8}`, `{"features":127,"stages":[[{"leaf":[1e90]},{"leaf":[-9e9]}]]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var m predict.NGBoost
		if err := json.Unmarshal(text, &m); err != nil || m.Features() == 0 {
			return
		}
		row := make([]float64, m.Features())
		for _, v := range []float64{0, math.NaN(), math.Inf(1), math.Inf(-1)} {
			for i := range row {
				row[i] = v
			}
			if mean, sd := m.Predict(row); mean != mean || sd != sd || math.IsInf(mean, 0) || math.IsInf(sd, 0) || sd < 0 {
				t.Fatalf("a prediction is %v, %v", mean, sd)
			}
		}
		if _, err := json.Marshal(&m); err != nil {
			t.Fatal(err)
		}
	})
}
