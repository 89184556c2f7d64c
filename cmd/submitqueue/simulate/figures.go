package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/speculation/sim"
)

// simulateFigures are the figures of `simulate`.
type simulateFigures struct {
	World      sim.Stats           `json:"world"`
	Runs       []*sim.Metrics      `json:"runs"`                 // runs that have ended
	Unfinished *simulateUnfinished `json:"unfinished,omitempty"` // left out where all have ended
}

// simulateUnfinished names the runs that were asked for and have no figures.
type simulateUnfinished struct {
	Why  string         `json:"why"`  // "interrupted", or what went wrong
	Runs []simulateLeft `json:"runs"` // the first of them had begun
}

type simulateLeft struct {
	Strategy string            `json:"strategy"`
	Workers  int               `json:"workers"`
	Set      map[string]string `json:"set,omitempty"`
}

// unfinished returns the runs without figures; nil where there are none.
func (r replayed) unfinished() *simulateUnfinished {
	if r.err == nil {
		return nil
	}
	u := &simulateUnfinished{Why: r.err.Error()}
	if errors.Is(r.err, context.Canceled) {
		u.Why = "interrupted"
	}
	for _, x := range r.left {
		u.Runs = append(u.Runs, simulateLeft{Strategy: x.strategy.Name(), Workers: x.workers, Set: x.set})
	}
	return u
}

// finish writes the figures of the runs that have ended, says which have not, and
// returns the command's error. If no run has ended, files stay as they are.
func (s *Command) finish(title string, stats sim.Stats, r replayed) error {
	f := simulateFigures{World: stats, Unfinished: r.unfinished()}
	for _, d := range r.done {
		f.Runs = append(f.Runs, d.Metrics)
	}
	if f.Unfinished != nil {
		title += fmt.Sprintf(", %d of %d runs", len(r.done), len(r.done)+len(r.left))
	}
	var unwritten error
	if len(r.done) > 0 {
		unwritten = errors.Join(print.Figures(s.JSON, f), s.draw(title, r.done))
	}
	if f.Unfinished != nil {
		fmt.Fprintf(os.Stderr, "submitqueue: %s; %s\n", f.Unfinished.Why, s.kept(r, unwritten == nil))
	}
	verdict := verdictOf(f.Runs)
	switch {
	case unwritten != nil:
		return unwritten
	case verdict != nil:
		return verdict
	case errors.Is(r.err, context.Canceled):
		return r.err
	case r.err != nil:
		return print.ExitCode(1) // the error has been printed
	}
	return nil
}

// kept says what was kept of a replay that has ended early.
func (s *Command) kept(r replayed, written bool) string {
	text := fmt.Sprintf("%d of %d runs are done, and %s is not", len(r.done), len(r.done)+len(r.left), r.left[0])
	var files []string
	for _, file := range []string{s.JSON, s.SVG} {
		if file != "" {
			files = append(files, file)
		}
	}
	switch {
	case len(files) == 0 || !written:
		return text
	case len(r.done) == 0:
		return text + "; nothing is written to " + strings.Join(files, " and ")
	}
	return text + "; finished runs are in " + strings.Join(files, " and ")
}

// verdictOf says which runs were wrong; their figures mean nothing.
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
		return print.ExitCode(1)
	}
	return nil
}
