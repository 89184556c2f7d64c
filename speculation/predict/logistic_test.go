package predict_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// stream is SplitMix64: testdata/logistic.py draws the same numbers.
type stream uint64

func (s *stream) u() float64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}

// normal is a sum of twelve, near enough.
func (s *stream) normal() float64 {
	sum := -6.0
	for range 12 {
		sum += s.u()
	}
	return sum
}

func chanceOf(eta float64) float64 { return 1 / (1 + math.Exp(-eta)) }

// drawn returns the rows of testdata/logistic.py.
func drawn() (x [][]float64, y []bool) {
	s := stream(17)
	for range 19447 {
		var r []float64
		for j := range 9 {
			r = append(r, (s.u()+s.u()+s.u()-1.5)*math.Pow10(j-4))
		}
		for j := range 4 {
			v := 0.0
			if s.u() < 0.1*float64(j+1) {
				v = 1
			}
			r = append(r, v)
		}
		r = append(r, r[4]+(s.u()-0.5))
		v := s.u()
		r = append(r, v*v*v*v*1000, 7)
		v = s.u()
		r = append(r, math.Floor(v*v*20))
		last := r[16]
		if s.u() < 0.05 {
			last++
		}
		r = append(r, last)
		eta := 1.2 + r[4] - 0.05*r[5] + 0.8*r[9] - 1.5*r[10] + 0.002*r[14] - 0.1*r[16]
		x, y = append(x, r), append(y, s.u() < chanceOf(eta))
	}
	return x, y
}

func mustFit(t rapid.TB, x [][]float64, y []bool, w []float64, opt predict.LogisticOptions) *predict.Logistic {
	t.Helper()
	l, err := predict.FitLogistic(x, y, w, opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLogisticAgreesWithScikitLearn(t *testing.T) {
	data, err := os.ReadFile("testdata/logistic.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		True  int
		Cases []struct {
			C             float64
			Weighted      bool
			Bias          float64
			Weights, Prob []float64
		}
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	x, y := drawn()
	w := make([]float64, len(y))
	yes := 0
	for i, v := range y {
		if w[i] = float64(1 + i%3); v {
			yes++
		}
	}
	if yes != want.True || len(want.Cases) != 3 {
		t.Fatalf("%d rows are true, of the reference %d; %d cases", yes, want.True, len(want.Cases))
	}
	for _, c := range want.Cases {
		var weights []float64
		if c.Weighted {
			weights = w
		}
		l := mustFit(t, x, y, weights, predict.LogisticOptions{C: c.C})
		if math.Abs(l.Bias()-c.Bias) > 1e-7 {
			t.Errorf("C %g: bias %.9f, scikit-learn has %.9f", c.C, l.Bias(), c.Bias)
		}
		for j, v := range l.Weights() {
			if math.Abs(v-c.Weights[j]) > 1e-7 {
				t.Errorf("C %g: weight %d is %.9f, scikit-learn has %.9f", c.C, j, v, c.Weights[j])
			}
		}
		for i, p := range c.Prob {
			if got := l.Prob(x[i]); math.Abs(got-p) > 1e-7 {
				t.Errorf("C %g: row %d has %.9f, scikit-learn says %.9f", c.C, i, got, p)
			}
		}
	}
}

func TestLogisticContributionsAddUp(t *testing.T) {
	x, y := drawn()
	l := mustFit(t, x[:2000], y[:2000], nil, predict.LogisticOptions{})
	row := slices.Clone(x[0])
	row[4] = math.NaN()
	parts := l.Contributions(row, []float64{1})
	if len(parts) != 19 || parts[0] != 1 || parts[1+4] != 0 || parts[1+15] != 0 {
		t.Fatalf("contributions are %v", parts)
	}
	sum := l.Bias()
	for _, v := range parts[1:] {
		sum += v
	}
	if math.Abs(sum-l.LogOdds(row)) > 1e-12 || math.Abs(l.Prob(row)-chanceOf(sum)) > 1e-12 {
		t.Errorf("the parts sum to %g, the log-odds are %g", sum, l.LogOdds(row))
	}
	if short, whole := l.Prob(row[:3]), l.Contributions(row[:3], nil); len(whole) != 18 || short != short {
		t.Errorf("a short row has %v and %g", whole, short)
	}
	if got, want := l.Prob(append(slices.Clone(row), 9, math.NaN())), l.Prob(row); got != want {
		t.Errorf("values beyond the columns count: %g, not %g", got, want)
	}
}

func TestLogisticAllocatesNothing(t *testing.T) {
	x, y := drawn()
	l := mustFit(t, x[:500], y[:500], nil, predict.LogisticOptions{})
	dst := make([]float64, 0, 18)
	if n := testing.AllocsPerRun(100, func() { l.Prob(x[1]); l.Contributions(x[1], dst) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestLogisticOfOneOutcome(t *testing.T) {
	x := [][]float64{{1}, {2}, {4}}
	for _, c := range []struct {
		y    []bool
		want float64
	}{{[]bool{true, true, true}, 3.5 / 4}, {make([]bool, 3), 0.5 / 4}} {
		l := mustFit(t, x, c.y, nil, predict.LogisticOptions{})
		if got := l.Prob([]float64{100}); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %g, want %g", c.y, got, c.want)
		}
	}
	l := mustFit(t, [][]float64{{}, {}, {}, {}}, []bool{true, true, true, false}, nil, predict.LogisticOptions{})
	if got := l.Prob(nil); math.Abs(got-0.75) > 1e-12 {
		t.Errorf("no columns: %g, want the base rate", got)
	}
}

func TestLogisticMissingIsTheMean(t *testing.T) {
	nan := math.NaN()
	x := [][]float64{{1, 5}, {3, nan}, {nan, 6}, {2, 9}, {0, nan}}
	y := []bool{true, false, true, false, true}
	l := mustFit(t, x, y, nil, predict.LogisticOptions{})
	filled := [][]float64{{1, 5}, {3, 20. / 3}, {1.5, 6}, {2, 9}, {0, 20. / 3}}
	for i, row := range x {
		if got, want := l.Prob(row), l.Prob(filled[i]); math.Abs(got-want) > 1e-12 {
			t.Errorf("row %d: %g, with the means %g", i, got, want)
		}
	}
}

func TestLogisticBearsExtremes(t *testing.T) {
	big := math.MaxFloat64
	tiny := math.SmallestNonzeroFloat64
	separable := make([][]float64, 60)
	alternating := make([]bool, 60)
	for i := range separable {
		separable[i] = []float64{float64(i), -big, tiny * float64(i%3), 1e12 + float64(i), math.NaN()}
		if i%7 == 0 {
			separable[i][1] = big
		}
		alternating[i] = i >= 30
	}
	for _, c := range []float64{1e-12, 1, 1e6, 1e12} {
		l := mustFit(t, separable, alternating, nil, predict.LogisticOptions{C: c})
		for i, row := range separable {
			p := l.Prob(row)
			if !(p >= 0 && p <= 1) {
				t.Fatalf("C %g, row %d: %g", c, i, p)
			}
			if c >= 1 && (p > 0.5) != alternating[i] {
				t.Errorf("C %g, row %d: %g, was %t", c, i, p, alternating[i])
			}
		}
		for _, v := range []float64{math.Inf(1), math.Inf(-1), big, -big, math.NaN()} {
			row := []float64{v, v, v, v, v}
			if p := l.Prob(row); !(p >= 0 && p <= 1) {
				t.Errorf("C %g: %g of %g", c, p, v)
			}
		}
	}
	weights := slices.Repeat([]float64{1e90, 1e-300}, 30)
	mustFit(t, separable, alternating, weights, predict.LogisticOptions{C: 1e12})
	for i, yes := range alternating {
		if weights[i] = 1e90; yes {
			weights[i] = 1e-300
		}
	}
	if p := mustFit(t, separable, alternating, weights, predict.LogisticOptions{}).Prob(separable[0]); !(p >= 0 && p < 1e-9) {
		t.Errorf("of next to no weight: %g", p)
	}
}

func TestLogisticSaysWhatIsWrong(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	two := [][]float64{{1, 2}, {3, 4}}
	yes := []bool{true, false}
	for _, c := range []struct {
		x    [][]float64
		y    []bool
		w    []float64
		opt  predict.LogisticOptions
		want string
	}{
		{nil, nil, nil, predict.LogisticOptions{}, "no rows"},
		{two, yes[:1], nil, predict.LogisticOptions{}, "2 rows but 1 outcomes"},
		{two, yes, []float64{1}, predict.LogisticOptions{}, "2 rows but 1 weights"},
		{[][]float64{{1, 2}, {3}}, yes, nil, predict.LogisticOptions{}, "row 1 has 1 columns, row 0 has 2"},
		{[][]float64{{1, 2}, {3, inf}}, yes, nil, predict.LogisticOptions{}, "row 1, column 1 is infinite"},
		{two, yes, []float64{1, -1}, predict.LogisticOptions{}, "row 1 has weight -1"},
		{two, yes, []float64{nan, 1}, predict.LogisticOptions{}, "row 0 has weight NaN"},
		{two, yes, []float64{1, inf}, predict.LogisticOptions{}, "row 1 has weight +Inf"},
		{two, yes, []float64{0, 0}, predict.LogisticOptions{}, "every row has weight 0"},
		{two, yes, []float64{1e200, 1}, predict.LogisticOptions{}, "more than 1e100"},
		{two, yes, nil, predict.LogisticOptions{C: -1}, "options out of range"},
		{two, yes, nil, predict.LogisticOptions{C: nan}, "options out of range"},
		{two, yes, nil, predict.LogisticOptions{Tolerance: 2}, "options out of range"},
		{two, yes, nil, predict.LogisticOptions{Steps: -1}, "options out of range"},
		{two, yes, nil, predict.LogisticOptions{Steps: 1, C: 100}, "does not converge in 1 steps"},
	} {
		_, err := predict.FitLogistic(c.x, c.y, c.w, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// rowsOf draws rows with some signal and some values missing.
func rowsOf(t *rapid.T) (x [][]float64, y []bool, w []float64) {
	s := stream(rapid.Uint64().Draw(t, "seed"))
	n, d := rapid.IntRange(10, 60).Draw(t, "rows"), rapid.IntRange(1, 6).Draw(t, "columns")
	missing := rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "missing")
	for range n {
		row := make([]float64, d)
		eta := 0.3
		for j := range row {
			row[j] = s.normal() * math.Pow10(j)
			eta += row[j] / math.Pow10(j)
			if s.u() < missing {
				row[j] = math.NaN()
			}
		}
		x, y, w = append(x, row), append(y, s.u() < chanceOf(eta)), append(w, s.u()*2)
	}
	return x, y, w
}

func TestLogisticRapid(t *testing.T) {
	near := func(t *rapid.T, what string, a, b float64) {
		if math.Abs(a-b) > 1e-9 {
			t.Fatalf("%s: %.12f and %.12f", what, a, b)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y, w := rowsOf(t)
		opt := predict.LogisticOptions{C: rapid.SampledFrom([]float64{0.01, 1, 100}).Draw(t, "C")}
		l := mustFit(t, x, y, w, opt)

		order := rapid.Permutation(seq(len(x))).Draw(t, "order")
		px, py, pw := make([][]float64, len(x)), make([]bool, len(x)), make([]float64, len(x))
		for i, from := range order {
			px[i], py[i], pw[i] = x[from], y[from], w[from]
		}
		permuted := mustFit(t, px, py, pw, opt)

		factor := rapid.Float64Range(1e-6, 1e6).Draw(t, "factor")
		offset := rapid.Float64Range(-10, 10).Draw(t, "offset")
		sx := make([][]float64, len(x))
		for i, row := range x {
			for _, v := range row {
				sx[i] = append(sx[i], (v+offset)*factor)
			}
		}
		scaled := mustFit(t, sx, y, w, opt)

		var rx [][]float64
		var ry []bool
		for i := range x {
			rx, ry = append(rx, x[i], x[i]), append(ry, y[i], y[i])
		}
		twice := mustFit(t, rx, ry, nil, opt)
		double := mustFit(t, x, y, slices.Repeat([]float64{2}, len(x)), opt)

		for i, row := range x {
			p := l.Prob(row)
			near(t, "another order", p, permuted.Prob(row))
			near(t, "another scale", p, scaled.Prob(sx[i]))
			near(t, "rows twice and weights of 2", twice.Prob(row), double.Prob(row))
			for j, weight := range l.Weights() {
				more := slices.Clone(row)
				if more[j] += rapid.Float64Range(0, 100).Draw(t, "more"); more[j] != more[j] {
					continue
				}
				if q := l.Prob(more); weight > 0 && q < p-1e-15 || weight < 0 && q > p+1e-15 {
					t.Fatalf("column %d of weight %g: %g becomes %g", j, weight, p, q)
				}
			}
		}
		// At the optimum the weighted mean of the chances is the base rate, as the
		// intercept carries no penalty.
		var said, was float64
		both := false
		for i, row := range x {
			said += w[i] * l.Prob(row)
			both = both || y[i] != y[0]
			if y[i] {
				was += w[i]
			}
		}
		if both {
			near(t, "the sum of the chances", said, was)
		}
	})
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// number draws any finite float64, odd ones often.
func number() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64Range(-1e100, 1e100),
		rapid.SampledFrom([]float64{math.Copysign(0, -1), 0, math.SmallestNonzeroFloat64, -3 * math.SmallestNonzeroFloat64, 0x1p-1022, 0.1, 1e100, -1e100, 1. / 3}),
		rapid.Map(rapid.Uint64(), func(bits uint64) float64 {
			v := math.Float64frombits(bits)
			if !(math.Abs(v) <= 1e100) {
				return 1
			}
			return v
		}),
	)
}

func TestLogisticJSONIsExact(t *testing.T) {
	type term struct {
		Column           int
		Weight, Mean, SD float64
	}
	type form struct {
		Bias  float64
		Width int
		Terms []term
	}
	rapid.Check(t, func(t *rapid.T) {
		in := form{Bias: number().Draw(t, "bias"), Width: 8}
		for j := range 8 {
			if rapid.Bool().Draw(t, "kept") {
				in.Terms = append(in.Terms, term{j, number().Draw(t, "w"), number().Draw(t, "mean"), max(0x1p-1022, math.Abs(number().Draw(t, "sd")))})
			}
		}
		var l predict.Logistic
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		if text, err = json.Marshal(&l); err != nil {
			t.Fatal(err)
		}
		var out form
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		bits := func(f form) (all []uint64) {
			all = append(all, math.Float64bits(f.Bias), uint64(f.Width))
			for _, t := range f.Terms {
				all = append(all, uint64(t.Column), math.Float64bits(t.Weight), math.Float64bits(t.Mean), math.Float64bits(t.SD))
			}
			return all
		}
		if !slices.Equal(bits(in), bits(out)) {
			t.Fatalf("%+v became %+v", in, out)
		}
		var again predict.Logistic
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(l, again) {
			t.Fatalf("%v: %+v became %+v", err, l, again)
		}
	})
}

func TestLogisticRefusesRubbish(t *testing.T) {
	for _, text := range []string{
		`[]`, `{"bias":"x"}`, `{"bias":1e999}`, `{"width":-1}`, `{"width":2000000}`, `{"bias":1e200}`,
		`{"width":1,"terms":[{"column":1,"sd":1}]}`, `{"width":1,"terms":[{"column":-1,"sd":1}]}`,
		`{"width":3,"terms":[{"column":1,"sd":1},{"column":1,"sd":1}]}`,
		`{"width":1,"terms":[{"column":0,"sd":0}]}`, `{"width":1,"terms":[{"column":0,"sd":1,"weight":1e101}]}`,
	} {
		var l predict.Logistic
		if err := json.Unmarshal([]byte(text), &l); err == nil {
			t.Errorf("%s is a model", text)
		}
	}
}

func BenchmarkFitLogistic(b *testing.B) {
	x, y := drawn()
	for b.Loop() {
		mustFit(b, x, y, nil, predict.LogisticOptions{})
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/fit")
}

func BenchmarkLogisticProb(b *testing.B) {
	s := stream(1)
	var x [][]float64
	var y []bool
	for range 200 {
		row := make([]float64, 30)
		for j := range row {
			row[j] = s.normal()
		}
		x, y = append(x, row), append(y, s.u() < chanceOf(row[0]))
	}
	l := mustFit(b, x, y, nil, predict.LogisticOptions{})
	b.ReportAllocs()
	for b.Loop() {
		l.Prob(x[7])
	}
}
