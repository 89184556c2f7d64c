// Package culprit works out which changes are to blame for the failures of one target.
//
// A target is built with many sets of changes. It passes with a set if no change of the set
// breaks it alone, and no two of them break it together. This is group testing: each build is
// a test of a set, and the faults are to be found from the results of overlapping sets. What
// has passed clears all changes and pairs of its set for certain. What has failed accuses those
// that are left, each by its chance beforehand. The chances are made consistent over all
// failures by belief propagation (Pearl, "Probabilistic Reasoning in Intelligent Systems",
// 1988, chapter 4; for group testing Sejdinovic and Johnson, "Note on noisy group testing",
// 2010): a change that explains one failure takes the blame for it from the others, and so their
// share of the blame for the next.
//
// # An example
//
// Four changes affect a target; each breaks it alone with chance 0.05, and pairs do not
// matter. It fails with {1, 2, 3}, fails with {2, 3, 4}, and passes with {1, 2}.
//
//	1 and 2 are cleared.
//	{3} is left of the first failure: 3 is to blame.
//	{3, 4} are left of the second: 3 explains it, and the chance of 4 stays 0.05.
//
// Without the pass, 2 and 3 are to blame with a chance of nearly one half each, and 1 and 4 with
// 0.14: the exact chance is 0.07, but propagation takes failures that overlap as independent.
//
// A failure by chance (a flake) is not modelled: a target that fails is run again before that
// decides, and a set that passes takes the place of its failure (queue.Outcomes).
package culprit

import (
	"math"
	"slices"
)

// Case is what is known of one target.
type Case struct {
	Members int                    // changes, numbered from 0
	Passed  [][]int                // sets that it has passed with
	Failed  [][]int                // sets that it has failed with
	Alone   func(i int) float64    // chance beforehand that a change breaks it alone; 0: it cannot
	Pair    func(i, j int) float64 // the same of two changes together, i < j
}

// Guess is a change, or a pair, that may be to blame.
type Guess struct {
	A, B   int     // B is -1 for a change alone, else A < B
	Before float64 // its chance without the failures
	Chance float64 // its chance
}

// Finding is the result of a case.
type Finding struct {
	Guesses  []Guess
	Failures [][]int // by failure that tells something: the places of its guesses
}

const (
	rounds = 20   // of messages at most
	still  = 0.02 // relative change of a message from which there is another round
	surest = 1e-9 // chances stay so far from 0 and 1
	most   = 0.9  // chance beforehand, at most
)

// Find returns which changes may be to blame for the failures of a case. It takes time in
// proportion to the failures, times the square of their sizes.
func Find(c Case) Finding {
	clear := newSet(c.Members)
	with := make([]set, c.Members) // by change: those that it has passed with
	for _, list := range c.Passed {
		s := setOf(c.Members, list)
		clear.add(s)
		for _, i := range list {
			if with[i] == nil {
				with[i] = newSet(c.Members)
			}
			with[i].add(s)
		}
	}
	failed := slices.Clone(c.Failed)
	slices.SortStableFunc(failed, func(a, b []int) int { return len(a) - len(b) })
	f := finding{places: map[[2]int]int{}}
	var known []set
	for _, list := range failed {
		s := setOf(c.Members, list)
		if slices.ContainsFunc(known, func(k set) bool { return k.within(s) }) {
			continue // explained by another failure, whichever change is to blame
		}
		var guesses []int
		for n, i := range list {
			if !clear.has(i) {
				guesses = f.accuse(guesses, [2]int{i, -1}, func() float64 { return c.Alone(i) })
			}
			for _, j := range list[:n] {
				if with[i] == nil || !with[i].has(j) {
					pair := [2]int{min(i, j), max(i, j)}
					guesses = f.accuse(guesses, pair, func() float64 { return c.Pair(pair[0], pair[1]) })
				}
			}
		}
		if len(guesses) > 0 {
			known = append(known, s)
			f.Failures = append(f.Failures, guesses)
		}
	}
	f.propagate()
	return f.Finding
}

type finding struct {
	Finding
	places map[[2]int]int // of guesses
}

// accuse adds a guess to those of a failure, if it has a chance.
func (f *finding) accuse(list []int, who [2]int, before func() float64) []int {
	at, ok := f.places[who]
	if !ok {
		at = -1
		if q := before(); q > 0 {
			at = len(f.Guesses)
			f.Guesses = append(f.Guesses, Guess{A: who[0], B: who[1], Before: min(q, most)})
		}
		f.places[who] = at
	}
	if at < 0 {
		return list
	}
	return append(list, at)
}

// propagate passes messages between failures and guesses until they stand still. The message of
// a failure to a guess is a factor of the guess's odds: how much likelier the failure is with
// it than without it. Half of each message, by its logarithm, is the message before, so that
// guesses that explain the same failures do not swing.
func (f *finding) propagate() {
	odds := make([]float64, len(f.Guesses))
	for i, g := range f.Guesses {
		odds[i] = g.Before / (1 - g.Before)
	}
	said := make([][]float64, len(f.Failures))
	for i, list := range f.Failures {
		said[i] = slices.Repeat([]float64{1}, len(list))
	}
	var innocent []float64
	for round, moving := 0, true; moving && round < rounds; round++ {
		moving = round < 3
		for i, list := range f.Failures {
			all := 1.0 // chance that none of them is to blame
			innocent = innocent[:0]
			for n, g := range list {
				q := max(1/(1+odds[g]/said[i][n]), surest)
				innocent = append(innocent, q)
				all *= q
			}
			for n, g := range list {
				was := said[i][n]
				now := math.Sqrt(was / max(1-all/innocent[n], surest))
				moving = moving || math.Abs(now-was) > still*was
				odds[g] *= now / was
				said[i][n] = now
			}
		}
	}
	for i := range f.Guesses {
		f.Guesses[i].Chance = odds[i] / (1 + odds[i])
	}
}

// set is a set of changes, as bits.
type set []uint64

func newSet(members int) set { return make(set, (members+63)/64) }

func setOf(members int, list []int) set {
	s := newSet(members)
	for _, i := range list {
		s[i/64] |= 1 << (i % 64)
	}
	return s
}

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s set) add(o set) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s set) within(o set) bool {
	for i := range s {
		if s[i]&^o[i] != 0 {
			return false
		}
	}
	return true
}
