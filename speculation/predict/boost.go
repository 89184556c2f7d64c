package predict

import (
	"fmt"
	"math"
	"slices"
)

// sample holds the rows that a model learns from or is measured with: columns of
// features, and durations on the scale on which they are normal.
type sample struct {
	cols     [][]float64
	y        []float64
	weight   []float64
	censored []bool
	total    float64 // of the weights
	jacobian float64 // mean of the term that the scale of Dist adds to a score: log y for a LogNormal
}

// newSample returns rows [from,to).
func newSample(x [][]float64, y []float64, opt NGBoostOptions, from, to int) sample {
	n := to - from
	s := sample{y: slices.Clone(y[from:to]), weight: make([]float64, n), censored: make([]bool, n)}
	s.cols = make([][]float64, len(x[0]))
	for f := range s.cols {
		s.cols[f] = make([]float64, n)
		for i := range n {
			s.cols[f][i] = x[from+i][f]
		}
	}
	for i := range n {
		s.weight[i] = 1
		if opt.Weights != nil {
			s.weight[i] = opt.Weights[from+i]
		}
		s.total += s.weight[i]
		if opt.Censored != nil {
			s.censored[i] = opt.Censored[from+i]
		}
		if opt.Dist == LogNormal {
			s.y[i] = math.Log(s.y[i])
			if !s.censored[i] {
				s.jacobian += s.weight[i] * s.y[i]
			}
		}
	}
	s.jacobian /= s.total
	return s
}

func (s sample) enough() error {
	n := 0
	for _, c := range s.censored {
		if !c {
			n++
		}
	}
	if n < minRows {
		return fmt.Errorf("predict: %d rows to learn from that are not censored, fewer than %d", n, minRows)
	}
	return nil
}

// marginal returns mu and sigma of the greatest likelihood without features:
// mean and deviation (divisor n), for censored rows by expectation and
// maximisation (Dempster, Laird, Rubin 1977, section 4.2): a normal above y has
// the mean mu + sigma h and the second moment mu^2 + sigma^2 + sigma h (y + mu).
func (s sample) marginal() (mu, sigma float64) {
	mu, sigma = s.moments(func(y float64) (float64, float64) { return y, 0 })
	if !slices.Contains(s.censored, true) || sigma == 0 {
		return mu, sigma
	}
	for range 500 {
		m, d := s.moments(func(y float64) (float64, float64) {
			h := hazard((y - mu) / sigma)
			mean := mu + sigma*h
			return mean, max(sigma*sigma+sigma*h*(y-mean), 0)
		})
		done := math.Abs(m-mu)+math.Abs(d-sigma) < 1e-10*sigma
		mu, sigma = m, d
		if done {
			break
		}
	}
	return mu, sigma
}

// moments returns mean and deviation of the durations; of returns the mean and the
// variance that stand for a censored duration.
func (s sample) moments(of func(y float64) (mean, variance float64)) (mean, sd float64) {
	var spread float64
	for i, y := range s.y {
		if s.censored[i] {
			y, _ = of(y)
		}
		mean += s.weight[i] * y
	}
	mean /= s.total
	for i, y := range s.y {
		v := 0.0
		if s.censored[i] {
			y, v = of(y)
		}
		spread += s.weight[i] * ((y-mean)*(y-mean) + v)
	}
	return mean, math.Sqrt(spread / s.total)
}

// state holds the present parameters of the rows of a sample.
type state struct {
	sample
	mu, eta   []float64
	precision []float64 // 1/sigma^2, with log sigma = bounded(eta, floor)
	floor     float64
}

func newState(s sample, start [2]float64, floor float64) *state {
	n := len(s.y)
	st := &state{sample: s, mu: make([]float64, n), eta: make([]float64, n), precision: make([]float64, n), floor: floor}
	for i := range n {
		st.mu[i], st.eta[i] = start[0], start[1]
		st.precision[i] = math.Exp(-2 * bounded(start[1], floor))
	}
	return st
}

// move subtracts the leaves of two trees.
func (s *state) move(t *[2]tree) {
	for i := range s.mu {
		s.mu[i] -= t[0].leaf[t[0].place(s.cols, i)]
		s.eta[i] -= t[1].leaf[t[1].place(s.cols, i)]
		s.precision[i] = math.Exp(-2 * bounded(s.eta[i], s.floor))
	}
}

// score returns the mean negative log likelihood of durations.
func (s *state) score() float64 {
	var sum float64
	for i := range s.y {
		sum += s.weight[i] * s.rowScore(i, 0, 0)
	}
	return sum/s.total + s.jacobian
}

// rowScore returns the negative log likelihood of a row after steps.
func (s *state) rowScore(i int, stepMu, stepEta float64) float64 {
	eta := bounded(s.eta[i]-stepEta, s.floor)
	d := s.y[i] - s.mu[i] + stepMu
	if s.censored[i] {
		return -logUpper(d * math.Exp(-eta))
	}
	return eta + d*d*s.precision[i]*math.Exp(2*stepEta)/2 + logRoot2Pi
}

// pulls sets the target of each row for the two trees: its natural gradient.
func (s *state) pulls(mu, eta []pull) {
	for i, w := range s.weight {
		d := s.y[i] - s.mu[i]
		if !s.censored[i] {
			mu[i] = pull{-d * w, w}
			eta[i] = pull{(1 - d*d*s.precision[i]) / 2 * w, w}
			continue
		}
		sigma := 1 / math.Sqrt(s.precision[i])
		h := hazard(d / sigma)
		mu[i] = pull{-h * sigma * w, w}
		eta[i] = pull{-h * d / sigma / 2 * w, w}
	}
}

const (
	maxScale   = 256  // the search doubles no step beyond this scale
	leastShift = 1e-4 // steps that move a row less, on average, are not worth taking
)

// booster is a model in training.
type booster struct {
	opt          NGBoostOptions
	m            *NGBoost
	learn, valid sample
	at, held     *state
	g            *grower
	draws        drawer
	rows, order  []uint32
	features     []int
	asks         [2][]pull
}

// boost learns from a sample; the stages after the best on the held-out rows
// are cut off. It returns how many of the stages learn both parameters.
func boost(learn, valid sample, opt NGBoostOptions) (m *NGBoost, both int, err error) {
	mu, sigma := learn.marginal()
	smallest := max(sigma*math.Exp(-etaRange/2), 1e-12*(1+math.Abs(mu)))
	m = &NGBoost{family: opt.Dist, features: len(learn.cols), floor: math.Log(smallest)}
	m.start = [2]float64{mu, math.Log(max(sigma, smallest))}
	if sigma <= smallest {
		return m, 0, nil
	}
	n := len(learn.y)
	b := &booster{
		opt: opt, m: m, learn: learn, valid: valid,
		g: newGrower(learn.cols, opt.Depth, opt.MinLeaf), draws: drawer(opt.Seed),
		rows: make([]uint32, 0, n), order: make([]uint32, n), features: make([]int, 0, m.features),
		asks: [2][]pull{make([]pull, n), make([]pull, n)},
	}
	if err := b.run(opt.Stages, len(b.asks)); err != nil {
		return nil, 0, err
	}
	both = len(m.trees)
	if err := b.run(opt.MeanStages, 1); err != nil {
		return nil, 0, err
	}
	return m, both, nil
}

// run adds at most so many stages; parameters says how many parameters they learn, 1 or
// 2.
func (b *booster) run(stages, parameters int) error {
	if stages == 0 {
		return nil
	}
	b.at, b.held = newState(b.learn, b.m.start, b.m.floor), newState(b.valid, b.m.start, b.m.floor)
	for i := range b.m.trees {
		b.at.move(&b.m.trees[i])
		b.held.move(&b.m.trees[i])
	}
	validated := len(b.valid.y) > 0
	best, least := len(b.m.trees), math.Inf(1)
	if validated {
		least = b.held.score()
	}
	for range stages {
		if b.opt.Pause != nil {
			if err := b.opt.Pause(); err != nil {
				return err
			}
		}
		t, step, shift := b.stage(parameters)
		if !t[0].within(maxDuration) || !t[1].within(maxDuration) {
			break
		}
		b.at.move(&t)
		b.m.trees = append(b.m.trees, t)
		if validated {
			b.held.move(&t)
			step.Valid = b.held.score()
			if step.Valid < least {
				best, least = len(b.m.trees), step.Valid
			}
		}
		b.m.trace = append(b.m.trace, step)
		if shift < leastShift || validated && b.opt.Patience > 0 && len(b.m.trees)-best >= b.opt.Patience {
			break
		}
	}
	if validated {
		b.m.trees = slices.Clip(b.m.trees[:best])
	}
	return nil
}

// stage makes the trees of one stage, ready to be subtracted, and returns the
// mean length of the step before it was scaled.
func (b *booster) stage(parameters int) (t [2]tree, step Stage, shift float64) {
	n, p := len(b.learn.y), b.m.features
	b.features = choose(&b.draws, b.features[:0], p, max(int(b.opt.ColFrac*float64(p)), 1))
	b.rows = choose(&b.draws, b.rows[:0], n, max(int(b.opt.RowFrac*float64(n)), 2))
	b.at.pulls(b.asks[0], b.asks[1])
	for i := range t {
		if i >= parameters {
			t[i] = stump()
			continue
		}
		order := b.order[:len(b.rows)]
		copy(order, b.rows)
		t[i] = b.g.grow(b.asks[i], order, b.features)
	}
	l := newLine(b.at, &t, b.rows)
	step = Stage{Train: l.score(0) + b.learn.jacobian, Valid: math.NaN(), Scale: l.search()}
	for i := range t {
		t[i].scale(b.opt.Rate * step.Scale)
	}
	return t, step, l.shift
}

// line is the score of a batch of rows as a function of the scale of one step.
// Rows that fall into the same pair of leaves take the same step, so that the
// score of those that are not censored is a sum over pairs of leaves.
type line struct {
	s        *state
	t        *[2]tree
	cells    [64]cell
	censored []int
	total    float64
	shift    float64 // mean length of a step of scale 1
}

type cell struct {
	n, weight, eta         float64
	squares, sums, weights float64 // of residuals, times the precision
}

func newLine(s *state, t *[2]tree, rows []uint32) *line {
	l := &line{s: s, t: t}
	for _, r := range rows {
		i := int(r)
		c := &l.cells[t[0].place(s.cols, i)<<3|t[1].place(s.cols, i)]
		w := s.weight[i]
		l.total += w
		c.n++
		if s.censored[i] {
			l.censored = append(l.censored, i)
			continue
		}
		d, p := s.y[i]-s.mu[i], s.precision[i]*w
		c.weight += w
		c.eta += w * s.eta[i]
		c.squares += p * d * d
		c.sums += p * d
		c.weights += p
	}
	for i, c := range l.cells {
		l.shift += c.n * math.Hypot(t[0].leaf[i>>3], t[1].leaf[i&7]) / float64(len(rows))
	}
	return l
}

// score returns the mean negative log likelihood after a step of a scale.
func (l *line) score(scale float64) float64 {
	var sum float64
	for i := range l.cells {
		c := &l.cells[i]
		if c.weight == 0 {
			continue
		}
		a, b := scale*l.t[0].leaf[i>>3], scale*l.t[1].leaf[i&7]
		sum += c.eta - b*c.weight + math.Exp(2*b)/2*(c.squares+2*a*c.sums+a*a*c.weights) + logRoot2Pi*c.weight
	}
	for _, i := range l.censored {
		a, b := l.t[0].leaf[l.t[0].place(l.s.cols, i)], l.t[1].leaf[l.t[1].place(l.s.cols, i)]
		sum += l.s.weight[i] * l.s.rowScore(i, scale*a, scale*b)
	}
	return sum / l.total
}

// search returns the scale of the step: it doubles while the score is no worse
// than at the start, then halves until it is better.
func (l *line) search() float64 {
	start, scale := l.score(0), 1.0
	for scale <= maxScale && l.score(scale) <= start {
		scale *= 2
	}
	for scale*l.shift >= leastShift && !(l.score(scale) < start) {
		scale /= 2
	}
	return scale
}

// drawer is the generator splitmix64 (Steele, Lea, Flood 2014).
type drawer uint64

func (d *drawer) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// choose appends a random choice of k of the numbers below n, ascending (Knuth,
// The Art of Computer Programming 2, section 3.4.2, algorithm S).
func choose[T int | uint32](d *drawer, list []T, n, k int) []T {
	for i := 0; k > 0; i++ {
		if k == n-i || d.next()%uint64(n-i) < uint64(k) {
			list = append(list, T(i))
			k--
		}
	}
	return list
}
