// Package predict holds the models of how changes turn out: how likely one is
// good, and how long verifying it takes. They choose what is built first; by
// the design of package speculation none of them can change a verdict, however
// wrong it is.
//
// Prior knows nothing of a change and is right on average. Durations are
// running means of what was seen, per step and target.
//
// # How do I add a predictor?
//
// One type that implements Model, in a file here or in a package of its own below, and
// one row of Models. package server says by its name which one a queue gets, the
// simulator takes any (sim.Options.Model). For example, one that distrusts big changes:
//
//	{"size", func() Model { return bySize{} }}
//
//	func (bySize) Good(ch *queue.Change) float64 { return 1 / (1 + float64(ch.Touches.Targets)/1000) }
//
// What it says is bounded by whoever asks, and moves builds only: that main stays green
// under any model is a property test of package speculation.
package predict

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Model predicts outcomes. Implementations are pure: the same change gets the
// same answer. What its analysis has shown is in its Touches: how many targets,
// files and directories, whether it alters the graph or is unknown, and how
// often its targets have failed lately. They are set before a model is asked for
// the first time, and again with each analysis.
type Model interface {
	// Good returns the chance, from 0 to 1, that a change of which no result is
	// known will land. Callers take NaN and what lies outside for the nearest
	// bound.
	Good(ch *queue.Change) float64
	// Conflict returns the chance that two changes that influence a common
	// target, each green on its own, are red together. It is symmetric. One of
	// them may have landed before the other arrived; a model that knows that the
	// other was made on top of it returns 0.
	Conflict(a, b *queue.Change) float64
	// Duration returns how long building the whole of a change takes, or false:
	// then the history of its targets says. Callers take what is negative or
	// absurd for the nearest bound.
	Duration(ch *queue.Change) (time.Duration, bool)
	// Cold reports that the model knows no more of a change than an average.
	Cold() bool
}

// Row is a model that a queue can be run with.
type Row struct {
	Name string
	New  func() Model // for one queue
}

// Models returns all of them. Server, simulator and tests take theirs from here.
func Models() []Row {
	return []Row{{"prior", func() Model { return Default }}}
}

// New makes the model of a new server: the first of Models.
func New() Model { return Models()[0].New() }

// Named makes the model of a table that has a name; nil where there is none.
func Named(table []Row, name string) Model {
	for _, row := range table {
		if row.Name == name {
			return row.New()
		}
	}
	return nil
}

// Prior gives every change the same chance.
type Prior float64

// Default is the prior of a queue without a history: most changes that people
// ask to land are good.
const Default Prior = 0.9

var _ Model = Default

// Good implements Model.
func (p Prior) Good(*queue.Change) float64 { return float64(p) }

// Conflict implements Model: few of the pairs that could break each other do.
func (p Prior) Conflict(*queue.Change, *queue.Change) float64 { return 0.004 }

// Duration implements Model.
func (p Prior) Duration(*queue.Change) (time.Duration, bool) { return 0, false }

// Cold implements Model.
func (p Prior) Cold() bool { return true }
