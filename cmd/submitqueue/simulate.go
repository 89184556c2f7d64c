package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

// simulateCommand replays a stretch of a merge queue's life with several
// strategies and prints what each would have cost. Strategy "ours" is the code
// that the server runs, over a virtual clock. Each run is checked by code that
// knows the truth; a red commit, a change decided twice or not at all ends the
// command with status 1.
type simulateCommand struct {
	World string `help:"Replay a world: JSON lines, gzip or not." placeholder:"FILE" type:"existingfile" xor:"source" group:"world"`
	Trace string `help:"Replay a history: JSON lines with landed or time, author, paths, added, removed, commits. What it does not tell is drawn." placeholder:"FILE" type:"existingfile" xor:"source" group:"world"`

	Rate         float64 `default:"500" help:"Generated: changes per hour. With --trace: re-time its arrivals to this rate; 0 keeps its times." group:"world"`
	Changes      int     `default:"1500" help:"Generated: changes. With --trace: at most so many of its last." group:"world"`
	Seed         uint64  `default:"1" help:"What is drawn is drawn from this." group:"world"`
	Arrivals     string  `default:"fixed" enum:"fixed,poisson,bursts" help:"Generated: ${enum}." group:"world"`
	Components   int     `default:"200" help:"Generated: components of the repository." group:"world"`
	Zipf         float64 `default:"0.7" help:"Generated: how unevenly changes fall on them." group:"world"`
	Shared       float64 `default:"0.5" help:"Generated: share of a change's work on targets that its component shares." group:"world"`
	Large        float64 `default:"0" help:"Generated: share of large diffs (60 to 120 minutes, half of all components)." group:"world"`
	Broken       float64 `default:"0.065" help:"Share of changes that are broken on their own." group:"world"`
	Conflict     float64 `default:"0.01" help:"Chance that two changes which may conflict do." group:"world"`
	Predictor    float64 `default:"3.4" help:"Quality of the predictor, d': 3.4 is right for 97 %, 1.5 for 88 %." group:"world"`
	Pairs        float64 `name:"predictor-pairs" default:"0" help:"The same for conflicts; 0: 0.85 more than --predictor." group:"world"`
	Mape         float64 `default:"0.05" help:"Mean relative error of predicted durations." group:"world"`
	Flaky        float64 `default:"0" help:"Chance that a build reports a sound target as failed." group:"world"`
	ExternalPush float64 `default:"0" help:"Generated: commits per hour that reach main without the queue." group:"world"`
	TreeStep     float64 `default:"0" help:"Minutes of a step on the whole tree that each landing needs." group:"world"`
	TreeBroken   float64 `default:"0" help:"Generated: share of changes that break that step." group:"world"`

	Strategy []string          `default:"${strategies}" help:"Strategies, the first is the normaliser: ${strategies_all}." group:"run"`
	Workers  []int             `default:"500" help:"Builds at a time; each strategy runs with each." group:"run"`
	Set      map[string]string `help:"A setting of the planner, KEY=VALUE; repeat it." placeholder:"KEY=VALUE" group:"run" mapsep:"none"`
	Ablate   bool              `help:"Also run ours without each of its ingredients, one at a time." group:"run"`

	Stats bool   `help:"Print the world's figures as JSON and stop." group:"out"`
	Save  string `help:"Write the world to a file." placeholder:"FILE" type:"path" group:"out"`
	JSON  string `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path" group:"out"`
	SVG   string `name:"svg" help:"Draw the turnarounds and the ratios into a file." placeholder:"FILE" type:"path" group:"out"`
}

// simulateVars are the strategies, for the help. Without --strategy those run
// that the question is most often about.
func simulateVars() kong.Vars {
	var all, usual []string
	for _, s := range sim.Strategies() {
		all = append(all, s.Name())
		if slices.Contains([]string{"oracle", "submitqueue-2019", "ours"}, s.Name()) {
			usual = append(usual, s.Name())
		}
	}
	return kong.Vars{"strategies": strings.Join(usual, ","), "strategies_all": strings.Join(all, ", ")}
}

// simulateFigures are the figures of `simulate`.
type simulateFigures struct {
	World sim.Stats      `json:"world"`
	Runs  []*sim.Metrics `json:"runs"`
}

// Run implements the command.
func (s *simulateCommand) Run(ctx context.Context) error {
	strategies, err := s.strategies()
	if err != nil {
		return err
	}
	w, err := s.world()
	if err != nil {
		return err
	}
	if err := s.check(w, strategies); err != nil {
		return err
	}
	debug.SetGCPercent(400) // a world is small, and time is what counts
	stats := sim.StatsOf(w)
	if s.Save != "" {
		if err := s.save(w); err != nil {
			return err
		}
	}
	if s.Stats {
		return printJSON(os.Stdout, stats)
	}
	fmt.Println(stats)
	f := simulateFigures{World: stats}
	var drawn []sim.Drawn
	screen := newSimulateScreen(os.Stdout)
	for _, workers := range s.Workers {
		var base *sim.Metrics
		for _, r := range s.runs(strategies) {
			label := r.label()
			m, err := sim.Measure(ctx, w, r.strategy, sim.Options{Workers: workers, Set: r.set,
				Progress: func(decided, total int) { screen.progress(label, workers, decided, total) }})
			if err != nil {
				screen.clear()
				return fmt.Errorf("%s with %d workers: %w", label, workers, err)
			}
			if base == nil {
				base = m
			}
			m.Against(base)
			f.Runs = append(f.Runs, m)
			drawn = append(drawn, sim.Drawn{Label: label, Metrics: m})
			screen.row(label, m)
		}
	}
	if err := writeFigures(s.JSON, f); err != nil {
		return err
	}
	if err := s.draw(fmt.Sprintf("%d changes at %.0f per hour", len(w.Changes), w.RatePerHour), drawn); err != nil {
		return err
	}
	return verdictOf(f.Runs)
}

// world reads or generates the world.
func (s *simulateCommand) world() (*sim.World, error) {
	p := sim.Defaults()
	p.RatePerHour, p.Changes, p.Seed, p.Arrivals = s.Rate, s.Changes, s.Seed, s.Arrivals
	p.Components, p.Zipf, p.Shared, p.Large = s.Components, s.Zipf, s.Shared, s.Large
	p.Broken, p.Conflict, p.Predictor, p.MAPE = s.Broken, s.Conflict, s.Predictor, s.Mape
	p.PredictorPair = s.Pairs
	p.Flaky, p.ExternalPush, p.TreeStepMin, p.TreeBroken = s.Flaky, s.ExternalPush, s.TreeStep, s.TreeBroken
	if s.World == "" && s.Trace == "" {
		w, err := sim.Generate(p)
		if err != nil {
			return nil, fmt.Errorf("such a world cannot be generated: %w", err)
		}
		return w, nil
	}
	name := s.World + s.Trace
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var w *sim.World
	if s.World != "" {
		w, err = sim.ReadWorld(file)
	} else {
		w, err = sim.ReadTrace(file, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

func (s *simulateCommand) save(w *sim.World) error {
	file, err := os.Create(s.Save)
	if err != nil {
		return fmt.Errorf("the world cannot be written; name another file with --save: %w", err)
	}
	return errors.Join(sim.WriteWorld(file, w), file.Close())
}

// strategies looks up what was named, before anything is run.
func (s *simulateCommand) strategies() ([]sim.Strategy, error) {
	var out []sim.Strategy
	for _, name := range s.Strategy {
		found, err := sim.Lookup(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	for _, n := range s.Workers {
		if n < 1 {
			return nil, fmt.Errorf("--workers %d: at least one is needed", n)
		}
	}
	if len(out) == 0 || len(s.Workers) == 0 {
		return nil, errors.New("name at least one --strategy and one number of --workers")
	}
	if s.Ablate && !slices.ContainsFunc(out, func(x sim.Strategy) bool { return x.Name() == "ours" }) {
		return nil, errors.New("--ablate takes ingredients out of strategy ours; name it in --strategy")
	}
	return out, nil
}

// check finds what would end the command only after the first strategies have
// run for long: a setting of ours that makes no sense, a file that cannot be
// written.
func (s *simulateCommand) check(w *sim.World, strategies []sim.Strategy) error {
	for _, r := range s.runs(strategies) {
		if r.strategy.Name() == "ours" {
			if err := sim.CheckSettings(w, r.set); err != nil {
				return fmt.Errorf("--set: %w", err)
			}
		}
	}
	for flag, file := range map[string]string{"--json": s.JSON, "--svg": s.SVG, "--save": s.Save} {
		if file == "" {
			continue
		}
		if err := writable(file); err != nil {
			return fmt.Errorf("%s cannot be written: %w", flag, err)
		}
	}
	return nil
}

// writable tries to open a file for writing, and leaves everything as it was.
func writable(file string) error {
	_, missing := os.Stat(file)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil || missing == nil {
		return err
	}
	return os.Remove(file)
}

// simulateRun is one strategy with its settings.
type simulateRun struct {
	strategy sim.Strategy
	set      map[string]string
	without  string // the ingredient that an ablation takes out
}

func (r simulateRun) label() string {
	if r.without != "" {
		return r.strategy.Name() + " " + r.without
	}
	return r.strategy.Name()
}

// runs returns what is run for each number of workers.
func (s *simulateCommand) runs(strategies []sim.Strategy) []simulateRun {
	var out []simulateRun
	for _, x := range strategies {
		out = append(out, simulateRun{strategy: x, set: s.Set})
		if !s.Ablate || x.Name() != "ours" {
			continue
		}
		for _, setting := range sim.Ablations() {
			key, value, _ := strings.Cut(setting, "=")
			set := map[string]string{key: value}
			for k, v := range s.Set {
				if k != key {
					set[k] = v
				}
			}
			out = append(out, simulateRun{strategy: x, set: set, without: setting})
		}
	}
	return out
}

// verdictOf says which runs were wrong; figures of those mean nothing.
func verdictOf(runs []*sim.Metrics) error {
	bad := 0
	for _, m := range runs {
		if m.Bad() {
			bad++
			fmt.Fprintf(os.Stderr, "submitqueue: %s with %d workers: %d red commits, %d decided twice, %d undecided\n",
				m.Strategy, m.Workers, m.Red, m.Twice, m.Undecided)
		}
	}
	if bad > 0 {
		return exitCode(1)
	}
	return nil
}
