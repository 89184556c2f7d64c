package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/model"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/speculation/predict"
	"github.com/submitqueue/submitqueue/speculation/sim"
)

// Command replays a stretch of a merge queue's life with several strategies and prints
// what each would have cost. Strategy "ours" is the code that the server runs, over a
// virtual clock. Code that knows the right results checks each run. A red commit, or a
// change decided twice or not at all, ends the command with status 1.
type Command struct {
	World string `help:"Replay a world: JSON lines, gzip or not." placeholder:"FILE" type:"existingfile" xor:"source" group:"world"`
	Trace string `help:"Replay a history: JSON lines with landed or time, author, paths, added, removed, commits. The rest is drawn at random." placeholder:"FILE" type:"existingfile" xor:"source" group:"world"`

	History string `help:"Replay a queue's history: the file of submitqueue history export, or the folder of a queue below serve --history. The rest is drawn at random." placeholder:"PATH" type:"path" xor:"source" group:"world"`
	Queue   string `help:"Replay the history that a server has of a queue." placeholder:"NAME" xor:"source" group:"world"`
	Server  string `env:"SUBMITQUEUE_SERVER" help:"With --queue: address of the server; default: the one that this user runs." placeholder:"URL" group:"world"`
	Data    string `default:"${data}" env:"SUBMITQUEUE_DATA" help:"With --queue: data folder of the server that this user runs." type:"path" group:"world"`

	Rate         float64 `default:"500" help:"Generated: changes per hour. With --trace: re-time its arrivals to this rate; 0 keeps its times." group:"world"`
	Changes      int     `default:"1500" help:"Generated: changes. With --trace, --history or --queue: at most so many of the last." group:"world"`
	Seed         uint64  `default:"1" help:"Seed of all random draws." group:"world"`
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
	Opaque       bool    `help:"Generated: nobody can say what a change affects, as with analyzer: none; each build is whole." group:"world"`
	TreeBroken   float64 `default:"0" help:"Generated: share of changes that break that step." group:"world"`

	Strategy []string          `default:"${strategies}" help:"Strategies, the first is the normaliser: ${strategies_all}." group:"run"`
	Workers  []int             `default:"500" help:"Builds at a time; each strategy runs with each." group:"run"`
	Set      map[string]string `help:"A setting of the planner, KEY=VALUE; repeat it." placeholder:"KEY=VALUE" group:"run" mapsep:"none"`
	Ablate   bool              `help:"Also run ours without each of its ingredients, one at a time." group:"run"`

	Model string `help:"Run strategy ours with a model of submitqueue train, in place of knowing nothing on its first day." placeholder:"FILE" type:"path" group:"run"`

	Heads float64 `help:"The CI of each change's own head has ended so many minutes before its /land, on main as it was then, and strategy ours counts what has passed there." placeholder:"MIN" group:"run"`

	Learn bool `help:"Have strategy ours learn models of what it sees, as a server does; its time counts as the run's." group:"run"`

	After int `help:"Leave the first so many changes out of the percentiles and of the builds for each change, in place of the first 15 %, to see a queue that has a history." placeholder:"N" group:"run"`

	Red int `help:"Inject so many red mains instead, print how often the commit that is named is the right one and how soon, and end with status 1 where it is another in more than one of 50." placeholder:"N" group:"run"`

	Stats bool   `help:"Print the world's figures as JSON and stop." group:"out"`
	Save  string `help:"Write the world to a file." placeholder:"FILE" type:"path" group:"out"`
	Keep  string `name:"save-history" help:"Write the history of strategy ours to a file, as a server would." placeholder:"FILE" type:"path" group:"out"`
	JSON  string `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path" group:"out"`
	SVG   string `name:"svg" help:"Draw the turnarounds and the ratios into a file." placeholder:"FILE" type:"path" group:"out"`

	model *predict.Trained // for the strategy "ours"; nil: none
}

// Vars are the strategies, for the help. Without --strategy, the usual ones run.
func Vars() map[string]string {
	var all, usual []string
	for _, s := range sim.Strategies() {
		all = append(all, s.Name())
		if slices.Contains([]string{"oracle", "submitqueue-2019", "ours"}, s.Name()) {
			usual = append(usual, s.Name())
		}
	}
	return map[string]string{"strategies": strings.Join(usual, ","), "strategies_all": strings.Join(all, ", ")}
}

// Validate refuses values that no world can have.
func (s *Command) Validate() error {
	if s.Red < 0 {
		return fmt.Errorf("--red must be at least 1, not %d", s.Red)
	}
	return nil
}

// Run implements the command. It checks its arguments before it makes the
// world, and keeps the runs that have ended on any error.
func (s *Command) Run(ctx context.Context) error {
	if s.Red > 0 {
		return s.redMains(ctx)
	}
	strategies, err := s.strategies()
	if err != nil {
		return err
	}
	if err := s.check(strategies); err != nil {
		return err
	}
	if s.Model != "" {
		if s.model, err = model.Load(s.Model); err != nil {
			return err
		}
	}
	debug.SetGCPercent(400) // a world is small, and time matters more than memory
	w, stats, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	if s.Save != "" {
		if err := s.save(w); err != nil {
			return err
		}
	}
	if s.Stats {
		return print.JSON(os.Stdout, stats)
	}
	fmt.Println(stats)
	title := fmt.Sprintf("%d changes at %.0f per hour", len(w.Changes), w.RatePerHour)
	if s.Keep == "" {
		return s.finish(title, stats, replay(ctx, w, s.runs(strategies), s.After, nil))
	}
	k, err := s.keep()
	if err != nil {
		return err
	}
	done := replay(ctx, w, s.runs(strategies), s.After, k.row)
	return errors.Join(k.close(), s.finish(title, stats, done))
}

// redMains injects red mains and prints the results.
func (s *Command) redMains(ctx context.Context) error {
	r, err := sim.InjectRedMains(ctx, s.Red, s.Seed)
	if err != nil {
		return err
	}
	fmt.Println(r)
	if s.JSON != "" {
		file, err := os.Create(s.JSON)
		if err != nil {
			return err
		}
		if err := errors.Join(print.JSON(file, r), file.Close()); err != nil {
			return err
		}
	}
	if (r.Injected-r.Right)*50 > r.Injected {
		return print.ExitCode(1)
	}
	return nil
}

// prepare makes the world and its figures. A large world takes minutes, and making it
// cannot be stopped. When the context ends first, the goroutine that makes it ends with
// the process.
func (s *Command) prepare(ctx context.Context) (*sim.World, sim.Stats, error) {
	type made struct {
		world *sim.World
		stats sim.Stats
		err   error
	}
	done := make(chan made, 1)
	go func() {
		var m made
		if m.world, m.err = s.world(ctx); m.err == nil {
			m.stats = sim.StatsOf(m.world)
		}
		done <- m
	}()
	select {
	case m := <-done:
		return m.world, m.stats, m.err
	case <-ctx.Done():
		return nil, sim.Stats{}, ctx.Err()
	}
}

// world reads or generates the world.
func (s *Command) world(ctx context.Context) (*sim.World, error) {
	p := sim.Defaults()
	p.RatePerHour, p.Changes, p.Seed, p.Arrivals = s.Rate, s.Changes, s.Seed, s.Arrivals
	p.Components, p.Zipf, p.Shared, p.Large = s.Components, s.Zipf, s.Shared, s.Large
	p.Broken, p.Conflict, p.Predictor, p.MAPE = s.Broken, s.Conflict, s.Predictor, s.Mape
	p.PredictorPair = s.Pairs
	p.Flaky, p.ExternalPush, p.TreeStepMin, p.TreeBroken = s.Flaky, s.ExternalPush, s.TreeStep, s.TreeBroken
	p.Opaque = s.Opaque
	if s.History != "" || s.Queue != "" {
		return s.past(ctx, p)
	}
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

func (s *Command) save(w *sim.World) error {
	file, err := os.Create(s.Save)
	if err != nil {
		return fmt.Errorf("the world cannot be written; name another file with --save: %w", err)
	}
	return errors.Join(sim.WriteWorld(file, w), file.Close())
}

// mostWorkers is more than any world needs, and little enough to count each.
const mostWorkers = 1_000_000

// strategies looks up the named strategies, before anything is run.
func (s *Command) strategies() ([]sim.Strategy, error) {
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
		if n > mostWorkers {
			return nil, fmt.Errorf("--workers %d: at most %d can be simulated", n, mostWorkers)
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

// check finds errors that would else end the command only after the first strategies
// have run for long. Such are a setting that no strategy has or that makes no sense, a
// file that cannot be written, or one file that would overwrite another.
func (s *Command) check(strategies []sim.Strategy) error {
	if err := sim.CheckSettings(strategies, s.Set); err != nil {
		return fmt.Errorf("--set: %w", err)
	}
	for _, r := range s.runs(strategies) {
		if err := sim.CheckSettings([]sim.Strategy{r.strategy}, r.set); err != nil {
			return fmt.Errorf("--set, with %s: %w", r.label(), err)
		}
	}
	if s.Model != "" && !slices.ContainsFunc(strategies, func(x sim.Strategy) bool { return x.Name() == "ours" }) {
		return errors.New("--model is for strategy ours; name it in --strategy")
	}
	if s.After < 0 {
		return errors.New("--after is a number of changes")
	}
	if s.Learn && !slices.ContainsFunc(strategies, func(x sim.Strategy) bool { return x.Name() == "ours" }) {
		return errors.New("--learn is for strategy ours; name it in --strategy")
	}
	if s.Heads != 0 && !slices.ContainsFunc(strategies, func(x sim.Strategy) bool { return x.Name() == "ours" }) {
		return errors.New("--heads is for strategy ours; name it in --strategy")
	}
	if !(s.Heads >= 0 && s.Heads <= 1e6) {
		return errors.New("--heads is of minutes, at most a million")
	}
	files := map[string]string{s.World: "--world", s.Trace: "--trace", s.History: "--history", s.Model: "--model"}
	if s.Keep != "" && (len(s.Workers) != 1 || s.Ablate || !slices.ContainsFunc(strategies, func(x sim.Strategy) bool { return x.Name() == "ours" })) {
		return errors.New("--save-history writes what one run of strategy ours does: name it in --strategy, with one number of --workers and without --ablate")
	}
	for _, out := range []struct{ flag, file string }{{"--save", s.Save}, {"--save-history", s.Keep}, {"--json", s.JSON}, {"--svg", s.SVG}} {
		if out.file == "" {
			continue
		}
		if other := files[out.file]; other != "" {
			return fmt.Errorf("%s and %s name the same file; give each its own", other, out.flag)
		}
		files[out.file] = out.flag
		if err := writable(out.file); err != nil {
			return fmt.Errorf("%s cannot be written: %w", out.flag, err)
		}
	}
	return nil
}

// writable tries to open a file for writing, and changes nothing.
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
