package simulate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
	"github.com/submitqueue/submitqueue/speculation/sim"
)

// simulateRun is one strategy with its settings and a number of workers.
type simulateRun struct {
	strategy sim.Strategy
	workers  int
	set      map[string]string // only settings that the strategy has
	without  string            // the ingredient that an ablation takes out
	model    *predict.Trained  // nil: the strategy's own
	learns   bool
	heads    float64 // as in sim.Options
}

func (r simulateRun) label() string {
	name := r.strategy.Name()
	if r.model != nil {
		name += " trained"
	}
	if r.learns {
		name += " learning"
	}
	if r.heads > 0 {
		name += " heads"
	}
	if r.without != "" {
		name += " " + r.without
	}
	return name
}

func (r simulateRun) String() string { return fmt.Sprintf("%s with %d workers", r.label(), r.workers) }

// runs returns the runs in their order: each strategy for the first number of workers,
// then for the next.
func (s *Command) runs(strategies []sim.Strategy) []simulateRun {
	var out []simulateRun
	for _, workers := range s.Workers {
		for _, x := range strategies {
			r := simulateRun{strategy: x, workers: workers, set: sim.SettingsFor(x, s.Set)}
			if x.Name() == "ours" {
				r.model, r.learns, r.heads = s.model, s.Learn, s.Heads
			}
			out = append(out, r)
			if !s.Ablate || x.Name() != "ours" {
				continue
			}
			for _, setting := range sim.Ablations() {
				key, value, _ := strings.Cut(setting, "=")
				set := map[string]string{}
				maps.Copy(set, sim.SettingsFor(x, s.Set))
				set[key] = value
				out = append(out, simulateRun{strategy: x, workers: workers, set: set, without: setting, model: s.model, learns: s.Learn, heads: s.Heads})
			}
		}
	}
	return out
}

// replayed is the result of runs.
type replayed struct {
	done []sim.Drawn
	left []simulateRun // runs that have not ended; the first of them had begun
	err  error         // what ended the first of left; nil where left is empty
}

// replay does the runs one after the other, and prints a row for each that ends. The figures leave
// out the first `after` changes. The first run that fails, or the end of the context, ends the
// replay. record, if not nil, gets the rows of the event archive of the strategy "ours".
func replay(ctx context.Context, w *sim.World, runs []simulateRun, after int, record func(queue.Row)) replayed {
	var out replayed
	shown := newScreen(os.Stdout)
	var base *sim.Metrics // the first run with the same number of workers
	for i, r := range runs {
		o := sim.Options{Workers: r.workers, Set: r.set,
			Progress: func(decided, total int) { shown.progress(r.label(), r.workers, decided, total) }}
		if r.strategy.Name() == "ours" {
			o.Record = record
		}
		if r.model != nil {
			o.Model = r.model
		}
		o.Learn, o.Heads, o.After = r.learns, r.heads, after
		m, err := sim.Measure(ctx, w, r.strategy, o)
		if err != nil {
			shown.Clear()
			out.left, out.err = runs[i:], fmt.Errorf("%s: %w", r, err)
			return out
		}
		if base == nil || base.Workers != r.workers {
			base = m
		}
		m.Against(base)
		out.done = append(out.done, sim.Drawn{Label: r.label(), Metrics: m})
		shown.row(r.label(), m)
	}
	return out
}
