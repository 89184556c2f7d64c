package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/speculation/sim"
)

// ending is a strategy that a test ends: it calls end, and returns what that does.
type ending struct {
	sim.Strategy
	end func() error
}

func (ending) Name() string { return "ending" }

func (e ending) Run(context.Context, *sim.World, sim.Options) (*sim.Outcome, error) {
	return nil, e.end()
}

// figuresOf reads what --json wrote: the strategies that ran, and the unfinished changes.
func figuresOf(t *testing.T, file string) (done []string, u *simulateUnfinished) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f simulateFigures
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	for _, m := range f.Runs {
		done = append(done, m.Strategy)
	}
	return done, f.Unfinished
}

// After any end of a run, the runs before it are written, and those that are
// missing are named.
func TestSimulateKeepsWhatIsDone(t *testing.T) {
	s := simulate(t, "--changes", "40")
	w, stats, err := s.prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := sim.Lookup("oracle")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	interrupt := ending{oracle, func() error { cancel(); return ctx.Err() }}
	broken := ending{oracle, func() error { return errors.New("it broke") }}
	for _, c := range []struct {
		name string
		runs []simulateRun
		why  string
		is   error
	}{
		{"failed", []simulateRun{{strategy: oracle, workers: 5}, {strategy: broken, workers: 5}, {strategy: oracle, workers: 6}},
			"ending with 5 workers: it broke", print.ExitCode(1)},
		{"interrupted", []simulateRun{{strategy: oracle, workers: 5}, {strategy: interrupt, workers: 5}, {strategy: oracle, workers: 6}},
			"interrupted", context.Canceled},
	} {
		dir := t.TempDir()
		s.JSON, s.SVG = filepath.Join(dir, "f.json"), filepath.Join(dir, "p.svg")
		if err := s.finish("title", stats, replay(ctx, w, c.runs, 0, nil)); !errors.Is(err, c.is) {
			t.Errorf("%s: it ends with %v, want %v", c.name, err, c.is)
		}
		done, u := figuresOf(t, s.JSON)
		want := &simulateUnfinished{Why: c.why, Runs: []simulateLeft{{Strategy: "ending", Workers: 5}, {Strategy: "oracle", Workers: 6}}}
		if d := cmp.Diff(want, u); d != "" || cmp.Diff([]string{"oracle"}, done) != "" {
			t.Errorf("%s: %v has run; %s", c.name, done, d)
		}
		if svg, err := os.ReadFile(s.SVG); err != nil || strings.Count(string(svg), "<polyline") != 1 || !strings.Contains(string(svg), "title, 1 of 3 runs") {
			t.Errorf("%s: the picture is %q, %v", c.name, svg, err)
		}
	}
}

// Figures of an earlier simulation are not written over with nothing.
func TestSimulateWritesNothingWhereNothingIsDone(t *testing.T) {
	s := simulate(t, "--changes", "20", "--strategy", "single", "--json", filepath.Join(t.TempDir(), "f.json"))
	if err := os.WriteFile(s.JSON, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	strategies, err := s.strategies()
	if err != nil {
		t.Fatal(err)
	}
	w, stats, err := s.prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.finish("", stats, replay(ctx, w, s.runs(strategies), 0, nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if b, err := os.ReadFile(s.JSON); err != nil || string(b) != "kept" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// A world that takes long to make is not waited for.
func TestSimulateInterruptedBeforeItsWorldIsMade(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := simulate(t, "--changes", "4000").prepare(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

// A file that cannot be written after all is an error, interrupted or not.
func TestSimulateSaysWhatCannotBeWritten(t *testing.T) {
	s := simulate(t, "--json", t.TempDir())
	r := replayed{done: []sim.Drawn{{Metrics: &sim.Metrics{}}}, left: []simulateRun{{strategy: ending{}}}, err: context.Canceled}
	if err := s.finish("", sim.Stats{}, r); err == nil || !strings.Contains(err.Error(), "name another file with --json") {
		t.Errorf("it ends with %v", err)
	}
}
