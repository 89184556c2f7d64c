package speculation

import (
	"math/bits"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// crew returns the pending changes that a build had in it, its own last.
func (c *blaming) crew(b *queue.Build) []queue.ChangeID {
	var out []queue.ChangeID
	for _, id := range append(below(b), b.Change) {
		if ch := c.s.Changes[id]; ch != nil && !ch.Phase.Final() && c.facts.Futures.AffectedBy(id) != nil {
			out = append(out, id)
		}
	}
	return out
}

// acquit takes in targets that have passed in a build, on a complete path or not. Each
// target acquits the changes in the build that affect it, and their pairs, also those
// with a change that had landed below. It does so by its share of the targets that they
// have not passed before. A change blamed for a failure on one of them is cleared of it
// (doubt.go).
func (c *blaming) acquit(b *queue.Build, passed []string) {
	crew := c.crew(b)
	if len(passed) == 0 || len(crew) == 0 || c.facts.Without(config.IngredientBeliefs) {
		return
	}
	if c.named(crew) {
		c.outcomes(b, crew, passed, true)
	}
	set := c.setOf(passed)
	for _, id := range crew {
		c.acquitOne(id, set)
	}
	l := c.s.Links[b.Link]
	for _, id := range crew {
		rec := c.s.Beliefs[id]
		for _, other := range crew {
			if other < id {
				c.acquitPair(other, id, set)
			}
		}
		if rec == nil {
			continue
		}
		for _, other := range derived.SortedIf(rec.Pairs, func(other queue.ChangeID, _ float64) bool { return c.landedBelow(l, other) }) {
			if c.facts.Futures.AffectedBy(other) != nil {
				c.acquitPair(other, id, set)
			}
		}
	}
}

// landedBelow reports whether a change has landed, and was on main where a build of a link began, or
// was assumed to land.
func (c *blaming) landedBelow(l *queue.Link, id queue.ChangeID) bool {
	o := c.s.Changes[id]
	return o != nil && o.Phase == queue.Landed && l != nil &&
		(l.Since.Epoch == o.Line.Epoch && o.Line.Seq <= l.Since.Seq || slices.Contains(l.Chain, id))
}

// setOf returns the set of targets with the given names.
func (c *blaming) setOf(names []string) derived.TargetSet {
	targets := make([]int, 0, len(names))
	for _, t := range names {
		targets = append(targets, c.facts.Futures.Assumed.Number(t))
	}
	return derived.NewTargetSet(targets)
}

func (c *blaming) acquitOne(id queue.ChangeID, passed derived.TargetSet) {
	x := c.facts.Futures.AffectedBy(id)
	if x.All {
		return
	}
	fresh, n := 0, 0
	old := c.s.Beliefs[id]
	for i, t := range x.Places {
		if passed.Has(t) && (old == nil || !hasBit(old.Tested, i)) {
			fresh++
		}
	}
	c.dismiss(id, "", x, passed)
	if fresh == 0 {
		return
	}
	rec := c.belief(id)
	for _, w := range rec.Tested {
		n += bits.OnesCount64(w)
	}
	before, after := len(x.Places)-n, len(x.Places)-n-fresh
	if before > 0 {
		left := float64(after) / float64(before)
		rec.Good = 1 - derived.Unshown(1-rec.Good, left)
	}
	for i, t := range x.Places {
		if passed.Has(t) {
			setBit(&rec.Tested, i)
		}
	}
}

// acquitPair takes in targets that have passed with both changes of a pair in the
// build: these targets no longer count as untested for the pair.
func (c *blaming) acquitPair(x, y queue.ChangeID, passed derived.TargetSet) {
	x, y = c.facts.Beliefs.Holder(x, y)
	a, b := c.facts.Futures.AffectedBy(x), c.facts.Futures.AffectedBy(y)
	c.dismiss(y, x, b, passed)
	few, many := a, b
	if len(few.Targets) > len(many.Targets) {
		few, many = many, few
	}
	if a.All || b.All || !slices.ContainsFunc(few.Targets, func(t int) bool { return passed.Has(t) && many.Touches(t) }) {
		return
	}
	q := c.facts.Beliefs.PairBase(x, y)
	if q == 0 {
		return
	}
	var met []uint64
	if rec := c.s.Beliefs[y]; rec != nil {
		met = rec.Met[x]
	}
	open, fresh := 0, 0
	for i, t := range b.Places {
		if hasBit(met, i) || !a.Touches(t) {
			continue
		}
		if open++; passed.Has(t) {
			if fresh++; fresh == 1 {
				met = slices.Clone(met)
			}
			setBit(&met, i)
		}
	}
	if fresh == 0 {
		return
	}
	left := 1 - float64(fresh)/float64(open)
	c.setPair(x, y, q*left/(q*left+1-q))
	setMet(c.s.Beliefs[y], x, met)
}

func setMet(rec *queue.Belief, with queue.ChangeID, bits []uint64) {
	if rec.Met == nil {
		rec.Met = map[queue.ChangeID][]uint64{}
	}
	rec.Met[with] = bits
}

// carryTested keeps the record of the targets that a change has been tested on, where
// these targets have other places in its new footprint.
func (c *blaming) carryTested(id queue.ChangeID, old, f *queue.Footprint) {
	rec := c.s.Beliefs[id]
	if rec == nil {
		return
	}
	carry := func(was []uint64) []uint64 {
		tested := map[string]bool{}
		for i, t := range old.Affected {
			tested[t] = hasBit(was, i)
		}
		var now []uint64
		for i, t := range f.Affected {
			if tested[t] {
				setBit(&now, i)
			}
		}
		return now
	}
	rec.Tested = carry(rec.Tested)
	for with, met := range rec.Met {
		rec.Met[with] = carry(met)
	}
	places := map[string]int{}
	for i, t := range f.Affected {
		places[t] = i
	}
	for i := range rec.Doubts {
		var now []int
		for _, p := range rec.Doubts[i].Places {
			if at, ok := places[old.Affected[p]]; ok && !f.All {
				now = append(now, at)
			}
		}
		rec.Doubts[i].Places = now
	}
	c.touch(queue.KindBelief, string(id))
}

func hasBit(b []uint64, i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func setBit(b *[]uint64, i int) {
	for i/64 >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}
