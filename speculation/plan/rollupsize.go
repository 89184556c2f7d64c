package plan

import (
	"math"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// The size of a rollup, and the place to split a failed one: group testing (Hwang 1972;
// Aldridge, Johnson and Scarlett 2019, section 2.2), except that changes that are tested
// and pass have landed.

// bestSize returns how many of some changes make the rollup that is expected to take the
// fewest builds for each change that lands. chances[i] is the chance of the i-th, given
// that those before it are good; again is how often the failure of a single change is
// run again.
func bestSize(chances []float64, again float64) int {
	best, least := 1, math.Inf(1)
	for n := range len(chances) {
		builds, lands := outcome(chances[:n+1], again)
		if per := builds / lands; per < least-1e-9 {
			best, least = n+1, per
		}
	}
	return best
}

// outcome returns how many builds a rollup is expected to take until all of it has landed
// or its first bad member is known. It also returns how many changes have landed by then:
// those before the bad one. Changes behind it are free to join other rollups.
func outcome(chances []float64, again float64) (builds, lands float64) {
	all := 1.0
	for _, q := range chances {
		all *= q
		lands += all
	}
	return 1 + (1-all)*search(chances, again), lands
}

// search returns how many builds are expected to find the first bad member of changes
// that have failed together. When the first part passes, the rest is known to fail.
func search(chances []float64, again float64) float64 {
	if len(chances) == 1 {
		return again
	}
	n, passes := splitAt(chances)
	return 1 + passes*search(chances[n:], again) + (1-passes)*search(chances[:n], again)
}

// splitAt returns after how many members to split changes that have failed together, so
// that the first part is as likely to pass as to fail. It also returns the chance that the
// first part passes (by Bayes: the chance that the first part is good and the whole is not,
// over the chance that the whole is not good).
func splitAt(chances []float64) (n int, passes float64) {
	all := 1.0
	for _, q := range chances {
		all *= q
	}
	part, off := 1.0, math.Inf(1)
	for i, q := range chances[:len(chances)-1] {
		part *= q
		given := (part - all) / (1 - all)
		if d := math.Abs(given - 0.5); d < off-1e-9 {
			n, passes, off = i+1, given, d
		}
	}
	return n, passes
}

// chances returns, for each of some changes in order, the chance that it is good and
// breaks with no change before it.
func (p *rollups) chances(group []queue.ChangeID) []float64 {
	out := make([]float64, len(group))
	for i, id := range group {
		q := p.sound(id)
		for _, other := range group[:i] {
			q *= 1 - p.facts.Beliefs.PairChance(id, other)
		}
		out[i] = derived.ClampChance(q)
	}
	return out
}

// sized returns the chance that all changes of a rollup land, and how many builds it is
// expected to take for each that lands, together and one by one.
func (p *rollups) sized(group []queue.ChangeID) (all, together, apart float64) {
	chances := p.chances(group)
	all = 1
	singly, good := 0.0, 0.0
	for _, q := range chances {
		all *= q
		builds, lands := outcome([]float64{q}, p.again())
		singly, good = singly+builds, good+lands
	}
	builds, lands := outcome(chances, p.again())
	return rounded(all), rounded(builds / lands), rounded(singly / good)
}

// sound is the chance that a change is good on its own. If the model knows only an average
// and no build with the change has failed, sound is the present average, since the
// change's own prediction is older.
func (p *rollups) sound(id queue.ChangeID) float64 {
	q := p.facts.Beliefs.Good(id)
	if b := p.s.Beliefs[id]; b != nil && len(b.Doubts) == 0 && !p.facts.Beliefs.Blamed(id) && p.facts.Beliefs.Model.Cold() {
		q = max(q, p.facts.Beliefs.Prior(p.s.Changes[id]))
	}
	return q
}

// again is how often the failure of a single change is run again before it decides.
func (p *rollups) again() float64 { return float64(p.facts.Rules().Retries) }

// clashes reports whether a change probably breaks with a member of a rollup.
func (p *rollups) clashes(id queue.ChangeID, group []queue.ChangeID) bool {
	for _, other := range group {
		if other != id && p.facts.Beliefs.PairChance(id, other) > rollupClash {
			return true
		}
	}
	return false
}
