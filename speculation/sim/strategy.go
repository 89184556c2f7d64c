package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// ErrUnknownStrategy is wrapped by the error of Lookup.
var ErrUnknownStrategy = errors.New("unknown strategy")

// Strategy is one way to run a merge queue.
type Strategy interface {
	// Name is its name on the command line and in figures.
	Name() string
	// Run replays the world with it. The same world and options give the same
	// decisions. It returns the context's error if the context ends the run, and an
	// error for a setting that it has with a value that makes no sense. It ignores
	// settings that it does not have, as they may be another strategy's. Only ours
	// refuses them: its names are those of a file in which none may be misspelt. Call
	// CheckSettings first, and give each strategy its own settings by SettingsFor.
	Run(ctx context.Context, w *World, o Options) (*Outcome, error)
}

// Options of a run.
type Options struct {
	Workers  int                      // builds at a time; at least 1
	Set      map[string]string        // settings of the strategy
	Model    predict.Model            // the model of ours; nil: that of a new server, or, if informed, the world's predictor
	Heads    float64                  // minutes before its /land at which the CI of each change's own head has ended, on main as it was then; ours takes its passes; 0: there is no such CI
	Learn    bool                     // ours learns models of its past, as a server does
	After    int                      // the number of first changes that figures leave out; 0: the first 15 %
	Progress func(decided, total int) // may be nil; called now and then
	Record   func(queue.Row)          // is given each row of the event archive of ours; may be nil
}

// Outcome holds what a strategy did.
type Outcome struct {
	Decisions     []Decision // in the order in which they were made
	Landings      []int      // main's commits after the world's start, in order
	Builds        int        // started
	Starts        []float64  // the times of these, in minutes and in no order
	Aborted       int        // of these, stopped before their end
	WorkerMinutes float64    // time that workers were busy
	CPU           time.Duration
	Forecasts     []Forecast      // forecasts made during the run, in no order within a moment
	Plans         []time.Duration // wall time of each turn that planned, where measured
}

// began counts a build that starts at a moment.
func (o *Outcome) began(at float64) {
	o.Builds++
	o.Starts = append(o.Starts, at)
}

// Decision is one verdict on a change.
type Decision struct {
	Change int
	At     float64 // minutes
	Landed bool
	Commit int // landings with the same number, not 0, are one commit of main
}

// inTime returns the decisions by time, equal times as listed.
func (o *Outcome) inTime() []Decision {
	out := slices.Clone(o.Decisions)
	slices.SortStableFunc(out, func(a, b Decision) int { return cmp.Compare(a.At, b.At) })
	return out
}

// Strategies returns all strategies, in the order in which they are shown; the
// queue's own planner comes last.
func Strategies() []Strategy {
	return []Strategy{
		oracle{}, single{}, optimistic{}, window{}, github{}, gitlab{}, bors{},
		speculateAll{}, submitQueue2019{}, submitQueue2024{}, ours{}, ours{informed: true},
	}
}

// Ablations returns the settings that `submitqueue simulate --ablate` tries one
// by one on the queue's own planner, as "key=value": each leaves out one ingredient.
func Ablations() []string {
	return []string{"order=arrival", "off=[adaptive]", "off=[aging]", "off=[beliefs]", "off=[benefit]", "off=[bypass]", "off=[early]", "off=[flips]",
		"off=[just-in-time]", "off=[lanes]", "off=[margin]", "off=[preempt]", "off=[quotas]", "off=[samples]", "off=[target-threshold]", "off=[trials]"}
}

// Lookup returns the strategy of a name.
func Lookup(name string) (Strategy, error) {
	var names []string
	for _, s := range Strategies() {
		if s.Name() == name {
			return s, nil
		}
		names = append(names, s.Name())
	}
	return nil, fmt.Errorf("%w %q; there are: %s", ErrUnknownStrategy, name, strings.Join(names, ", "))
}

// number returns a setting as a number, or the given default if it is not set.
func (o Options) number(key string, without float64) (float64, error) {
	text, ok := o.Set[key]
	if !ok {
		return without, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !finite(x) || x < 0 {
		return 0, fmt.Errorf("setting %s: %q is not a number from 0 up", key, text)
	}
	return x, nil
}

// progress tells of progress if a callback is set.
func (o Options) progress(decided, total int) {
	if o.Progress != nil {
		o.Progress(decided, total)
	}
}
