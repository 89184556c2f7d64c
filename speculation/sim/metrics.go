package sim

import (
	"context"
	"math"
	"slices"
	"time"
)

// Metrics are the figures of one run.
type Metrics struct {
	Strategy   string  `json:"strategy"`
	Workers    int     `json:"workers"`
	P50        float64 `json:"p50_min"` // of the turnaround: from arrival to decision
	P95        float64 `json:"p95_min"`
	P99        float64 `json:"p99_min"`
	Ratio      Ratio   `json:"ratio"`            // to the first strategy with the same workers
	Throughput float64 `json:"throughput_ratio"` // changes decided while changes arrive, to the first strategy's
	Builds     float64 `json:"builds_per_change"`
	Hours      float64 `json:"worker_hours_per_change"`
	Aborted    float64 `json:"aborted"` // share of the builds
	Landed     int     `json:"landed"`
	Rejected   int     `json:"rejected"`
	Harmed     int     `json:"harmed"`
	Red        int     `json:"red_commits"`
	Twice      int     `json:"decided_twice"`
	Undecided  int     `json:"undecided"`
	CPU        float64 `json:"cpu_seconds"`
	Plan       Plan    `json:"plan_ms"`
	ETA        *ETA    `json:"eta,omitempty"` // of strategies that make forecasts

	// Turnarounds of the changes that count, sorted; not part of the figures.
	Turnarounds []float64         `json:"-"`
	Set         map[string]string `json:"set,omitempty"` // the settings, if there were any
	decided     int
}

// Ratio compares percentiles with the normaliser's.
type Ratio struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Plan is how long one plan took, in milliseconds; zero if not measured.
type Plan struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// warmUp is the share of changes, the first ones, that percentiles leave out: they meet
// an empty queue.
const warmUp = 0.15

// Measure runs a strategy and returns its figures, checked against the truth.
func Measure(ctx context.Context, w *World, s Strategy, o Options) (*Metrics, error) {
	out, err := s.Run(ctx, w, o)
	if err != nil {
		return nil, err
	}
	return MetricsOf(w, s.Name(), o, out), nil
}

// MetricsOf returns the figures of an outcome, checked against the truth.
func MetricsOf(w *World, name string, o Options, out *Outcome) *Metrics {
	v := Check(w, out)
	n, builds := max(1, len(w.Changes)), out.Builds
	first, last := int(warmUp*float64(len(w.Changes))), 0.0
	if at := min(o.After, len(w.Changes)-1); at > 0 {
		first = at
		n = len(w.Changes) - at
		builds = 0
		for _, began := range out.Starts {
			if began >= w.Changes[at].ArriveMin {
				builds++
			}
		}
	}
	m := &Metrics{Strategy: name, Workers: o.Workers, Set: o.Set,
		Builds: thousandth(float64(builds) / float64(n)), Hours: thousandth(out.WorkerMinutes / 60 / float64(max(1, len(w.Changes)))),
		Landed: v.Landed, Rejected: v.Rejected, Harmed: v.Harmed,
		Red: v.RedCommits, Twice: v.DecidedTwice, Undecided: v.Undecided,
		CPU: out.CPU.Seconds(), Plan: Plan{P50: milliseconds(out.Plans, 0.5), P99: milliseconds(out.Plans, 0.99)}}
	if out.Builds > 0 {
		m.Aborted = thousandth(float64(out.Aborted) / float64(out.Builds))
	}
	if len(w.Changes) > 0 {
		last = w.Changes[len(w.Changes)-1].ArriveMin
	}
	for _, d := range out.Decisions {
		if d.At <= last {
			m.decided++
		}
		if d.Change >= first {
			m.Turnarounds = append(m.Turnarounds, d.At-w.Changes[d.Change].ArriveMin)
		}
	}
	slices.Sort(m.Turnarounds)
	m.ETA = etaOf(out, first)
	m.P50, m.P95, m.P99 = thousandth(Percentile(m.Turnarounds, 0.5)), thousandth(Percentile(m.Turnarounds, 0.95)), thousandth(Percentile(m.Turnarounds, 0.99))
	return m
}

// Against sets the ratios to a normaliser.
func (m *Metrics) Against(base *Metrics) {
	m.Ratio = Ratio{P50: ratio(m.P50, base.P50), P95: ratio(m.P95, base.P95), P99: ratio(m.P99, base.P99)}
	m.Throughput = ratio(float64(m.decided), float64(base.decided))
}

// Bad reports whether the strategy was wrong, which no speed makes good.
func (m *Metrics) Bad() bool { return m.Red+m.Twice+m.Undecided > 0 }

// Percentile returns a percentile (0 to 1) of sorted values, interpolated between the
// two nearest; 0 if there are no values.
func Percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := p * float64(len(sorted)-1)
	lo := int(at)
	hi := min(lo+1, len(sorted)-1)
	return sorted[lo] + (at-float64(lo))*(sorted[hi]-sorted[lo])
}

// ratio is 1 for equal numbers, even 0 and 0, and 0 if the divisor is 0.
func ratio(a, b float64) float64 {
	if a == b {
		return 1
	}
	if b == 0 {
		return 0
	}
	return math.Round(a/b*1e4) / 1e4
}

func milliseconds(plans []time.Duration, p float64) float64 {
	values := make([]float64, len(plans))
	for i, d := range plans {
		values[i] = float64(d) / float64(time.Millisecond)
	}
	slices.Sort(values)
	return thousandth(Percentile(values, p))
}
