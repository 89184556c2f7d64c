package speculation

import (
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Bounds of blame.
const (
	maxBlames = 8    // groups of failed targets of one build that are looked at
	despite   = 0.02 // how likely a fault is to show on targets that have passed with it
)

// suspect takes in targets that have failed in a build. If the targets of all its changes are
// known by name, the outcome of each target is kept (outcome.go). Otherwise targets that the same
// changes affect have one cause: one of these changes is bad, or two of them are
// red together, or one is red with a change that had landed below. (The study behind
// this leaves out all pairs but those of the build's own change. With deep bases the
// other pairs are often to blame.) A fault is as likely to show on one target as on any
// other of the change's that have not passed with it.
func (c *blaming) suspect(b *queue.Build, failed []string) {
	if c.facts.Without(config.IngredientBeliefs) {
		return
	}
	crew := c.crew(b)
	if c.named(crew) {
		c.outcomes(b, crew, failed, false)
		return
	}
	own := c.s.Changes[b.Change]
	if len(b.Also) == 0 && (own == nil || own.Phase.Final() || own.Phase == queue.Trying) {
		return
	}
	gone := slices.DeleteFunc(below(b), func(id queue.ChangeID) bool { return !c.facts.Links.TurnedDown(id) })
	groups := map[string][]int{} // by the changes that affect them
	var names []string
	for _, name := range failed {
		t := c.facts.Futures.Assumed.Number(name)
		if slices.ContainsFunc(gone, func(id queue.ChangeID) bool {
			x := c.facts.Futures.AffectedBy(id)
			return x == nil || x.Touches(t)
		}) {
			continue // that one explains it
		}
		key := make([]byte, len(crew))
		for i, id := range crew {
			if c.facts.Futures.AffectedBy(id).Touches(t) {
				key[i] = 1
			}
		}
		if groups[string(key)] == nil {
			names = append(names, string(key))
		}
		groups[string(key)] = append(groups[string(key)], t)
	}
	for n, key := range names[:min(len(names), maxBlames)] {
		var suspects []queue.ChangeID
		for i, id := range crew {
			if key[i] == 1 {
				suspects = append(suspects, id)
			}
		}
		slices.Sort(groups[key])
		c.divide(b, suspects, groups[key], fmt.Sprintf("%s/%d", b.ID, n))
	}
}

// guess is one possible cause of a failure.
type guess struct {
	a, b queue.ChangeID // b: of a pair
	w    float64
}

// divide divides the blame for red targets, which are sorted. All suspects affect these
// targets, and no other undecided change does.
func (c *blaming) divide(b *queue.Build, suspects []queue.ChangeID, red []int, event string) {
	guesses := c.guesses(b, suspects, red)
	none := 1.0
	for _, g := range guesses {
		none *= 1 - g.w
	}
	if none == 1 {
		return
	}
	for _, g := range guesses {
		if g.w == 0 {
			continue
		}
		d := queue.Doubt{Chance: min(g.w/(1-none), 1-derived.MinChance), Weight: g.w, Event: event}
		for _, id := range suspects {
			if id != g.a && id != g.b {
				d.Others = append(d.Others, id)
			}
		}
		slices.Sort(d.Others)
		if g.b == "" {
			c.addDoubt(g.a, d, red)
			continue
		}
		d.Pair = g.a
		c.addDoubt(g.b, d, red)
		c.facts.Beliefs.RethinkPair(g.a, g.b)
	}
}

// guesses returns the possible causes of red targets.
func (c *blaming) guesses(b *queue.Build, suspects []queue.ChangeID, red []int) []guess {
	var out []guess
	pair := func(x, y queue.ChangeID) {
		if c.facts.Beliefs.PairChance(x, y) == 0 {
			return
		}
		x, y = c.facts.Beliefs.Holder(x, y)
		var met []uint64
		if rec := c.s.Beliefs[y]; rec != nil {
			met = rec.Met[x]
		}
		w := c.facts.Beliefs.PairBase(x, y) * shows(c.facts.Futures.AffectedBy(y), c.facts.Futures.AffectedBy(x), met, red)
		out = append(out, guess{a: x, b: y, w: max(w, c.blamed(y, x, red))})
	}
	l := c.s.Links[b.Link]
	for i, id := range suspects {
		for _, other := range suspects[:i] {
			pair(other, id)
		}
		var tested []uint64
		good := c.facts.Beliefs.Good(id)
		if rec := c.s.Beliefs[id]; rec != nil {
			tested, good = rec.Tested, rec.Good
			for _, other := range derived.SortedIf(rec.Pairs, func(other queue.ChangeID, _ float64) bool { return c.landedBelow(l, other) }) {
				if x := c.facts.Futures.AffectedBy(other); x != nil && slices.ContainsFunc(red, x.Touches) {
					pair(other, id)
				}
			}
		}
		w := (1 - derived.ClampChance(good)) * shows(c.facts.Futures.AffectedBy(id), nil, tested, red)
		out = append(out, guess{a: id, w: max(w, c.blamed(id, "", red))})
	}
	return out
}

// shows is how likely a fault of a change, or of a pair, shows on one of the red
// targets, given the targets that have passed with it.
func shows(x, with *derived.Affects, passed []uint64, red []int) float64 {
	if x.All || with != nil && with.All {
		return 1
	}
	open, hit := 0, 0
	for i, t := range x.Places {
		if hasBit(passed, i) || with != nil && !with.Touches(t) {
			continue
		}
		if open++; among(red, t) {
			hit++
		}
	}
	if hit == 0 {
		return despite
	}
	return float64(hit) / float64(open)
}

// among reports whether a target is in a sorted list.
func among(targets []int, t int) bool {
	_, ok := slices.BinarySearch(targets, t)
	return ok
}
