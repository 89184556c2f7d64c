package config

import (
	"fmt"
	"slices"
)

// A step with StrictNew runs a target that a change brings so many times before the change
// may land, and each run has a separate step: the step as it is written, with the number of
// the run (Step.Repeat). To all else these are steps like others, so each run has a key, the
// gate wants each of them, and a run that has passed is never made again.
//
// Say that step unit has `strict_new: 3`, and a change adds ./web. ./web is asked for under
// the runs 1, 2 and 3 of unit, and the other targets that the change affects under unit.

// Strict reports whether the step runs new targets several times.
func (s Step) Strict() bool { return s.StrictNew > 1 && !s.ByForge() && s.Scope != ScopeRepository }

// Once returns the step as it is written, of one of its runs for new targets.
func (s Step) Once() Step {
	s.Repeat = 0
	return s
}

// Title returns the step's name for people, with the number of the run where it is one for
// new targets.
func (s Step) Title() string {
	if s.Repeat == 0 {
		return s.Name
	}
	return fmt.Sprintf("%s (run %d of %d of what is new)", s.Name, s.Repeat, s.StrictNew)
}

// WithRepeats returns some steps, and behind each one that is Strict its runs for new
// targets.
func WithRepeats(steps []Step) []Step {
	if !slices.ContainsFunc(steps, Step.Strict) {
		return steps
	}
	var out []Step
	for _, s := range steps {
		out = append(out, s)
		if !s.Strict() {
			continue
		}
		for n := range s.StrictNew {
			s.Repeat = n + 1
			out = append(out, s)
		}
	}
	return out
}
