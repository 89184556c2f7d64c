package speculation

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// What a belief may come to: nothing is certain before it has been built.
const (
	minChance  = 0.001
	leastPair  = 0.005 // chances of pairs below this are not remembered beyond the landing of one of them
	firstGuess = 0.95  // share of predictions that come true, before any has
	memory     = 150   // predictions that the share remembers
)

// clampChance takes NaN and what lies outside for the nearest bound.
func clampChance(q float64) float64 {
	if !(q >= minChance) {
		return minChance
	}
	return min(q, 1-minChance)
}

// good is the chance that a change is green on its own.
func (c *Core) good(id queue.ChangeID) float64 {
	if b := c.s.Beliefs[id]; b != nil {
		q := b.Good
		for i := range b.Doubts {
			if d := &b.Doubts[i]; d.Pair == "" {
				q = min(q, 1-d.Chance)
			}
		}
		return clampChance(q)
	}
	return clampChance(c.model.Good(c.s.Changes[id]))
}

// pairChance is the chance that two changes, each green on its own, are red
// together.
func (c *Core) pairChance(x, y queue.ChangeID) float64 {
	x, y = c.holder(x, y)
	for _, at := range [2][2]queue.ChangeID{{x, y}, {y, x}} { // of one that has just landed, the other way round
		if b := c.s.Beliefs[at[1]]; b != nil {
			if q, ok := b.Pairs[at[0]]; ok {
				return q
			}
		}
	}
	a, b := c.s.Changes[x], c.s.Changes[y]
	if a == nil || b == nil {
		return 0
	}
	q := c.model.Conflict(a, b)
	if !(q > 0) {
		return 0
	}
	return min(q, 1-minChance)
}

// holder returns a pair with the change last whose record holds it: the one that
// is undecided, or the later by id.
func (c *Core) holder(x, y queue.ChangeID) (queue.ChangeID, queue.ChangeID) {
	a, b := c.s.Changes[x], c.s.Changes[y]
	gone := a != nil && a.Phase.Final()
	if late := b != nil && b.Phase.Final(); gone == late && x > y || late && !gone {
		return y, x
	}
	return x, y
}

// belief returns the record of a change, to be changed.
func (c *Core) belief(id queue.ChangeID) *queue.Belief {
	b := c.s.Beliefs[id]
	if b == nil {
		b = &queue.Belief{Change: id, Good: clampChance(c.model.Good(c.s.Changes[id]))}
		c.s.Beliefs[id] = b
	}
	c.touch(queue.KindBelief, string(id))
	c.rethink(id)
	return b
}

// rethink has the chance of a change worked out again.
func (c *Core) rethink(id queue.ChangeID) {
	if n := c.nodes[id]; n != nil {
		n.fair = false
	}
}

func (c *Core) setPair(x, y queue.ChangeID, q float64) {
	x, y = c.holder(x, y)
	b := c.belief(y)
	if b.Pairs == nil {
		b.Pairs = map[queue.ChangeID]float64{}
	}
	b.Pairs[x] = q
	for _, at := range []struct{ n, to queue.ChangeID }{{x, y}, {y, x}} {
		if n := c.nodes[at.n]; n != nil {
			for i := range n.edges {
				if n.edges[i].to.id == at.to {
					n.edges[i].q = q
					n.fair = false
				}
			}
		}
	}
}

// crew returns the pending changes that a build had in it, its own last.
func (c *Core) crew(b *queue.Build) []queue.ChangeID {
	var out []queue.ChangeID
	for _, id := range append(below(b), b.Change) {
		if ch := c.s.Changes[id]; ch != nil && !ch.Phase.Final() && c.affectedBy(id) != nil {
			out = append(out, id)
		}
	}
	return out
}

// acquit takes in targets that have passed in a build: each acquits the changes
// in the build that affect it, and their pairs, by its share of their targets,
// whether or not the path is complete (planner.md 9, rule 3).
func (c *Core) acquit(b *queue.Build, passed []string) {
	crew := c.crew(b)
	if len(passed) == 0 || len(crew) == 0 || c.without(queue.IngredientBeliefs) {
		return
	}
	set := map[int]bool{}
	for _, t := range passed {
		set[c.assumed.number(t)] = true
	}
	for _, id := range crew {
		c.acquitOne(id, set)
	}
	for _, id := range crew {
		x := c.affectedBy(id)
		rec := c.s.Beliefs[id]
		for _, other := range crew {
			if other < id {
				c.acquitPair(other, id, x, c.affectedBy(other), set)
			}
		}
		if rec == nil {
			continue
		}
		for _, other := range slices.Sorted(maps.Keys(rec.Pairs)) { // with what had landed below the build
			if o := c.s.Changes[other]; o != nil && o.Phase == queue.Landed && c.below(b, o) {
				if y := c.affectedBy(other); y != nil {
					c.acquitPair(other, id, x, y, set)
				}
			}
		}
	}
}

// below reports whether a landed change was on main where a build began, or was
// assumed to land.
func (c *Core) below(b *queue.Build, o *queue.Change) bool {
	l := c.s.Links[b.Link]
	return l != nil && (slices.Contains(l.Chain, o.ID) || l.Since.Epoch == o.Line.Epoch && o.Line.Seq <= l.Since.Seq)
}

func (c *Core) acquitOne(id queue.ChangeID, passed map[int]bool) {
	x := c.affectedBy(id)
	if x.all {
		return
	}
	places := c.places(id, x)
	fresh, n := 0, 0
	old := c.s.Beliefs[id]
	for i, t := range places {
		if passed[t] && (old == nil || !hasBit(old.Tested, i)) {
			fresh++
		}
	}
	if fresh == 0 {
		return
	}
	rec := c.belief(id)
	for _, w := range rec.Tested {
		n += bits.OnesCount64(w)
	}
	before, after := len(places)-n, len(places)-n-fresh
	if before > 0 {
		left := float64(after) / float64(before)
		rec.Good = 1 - unshown(1-rec.Good, left)
		rec.Doubts = slices.DeleteFunc(rec.Doubts, func(d queue.Doubt) bool { return d.Pair == "" && after == 0 })
		for i := range rec.Doubts {
			if d := &rec.Doubts[i]; d.Pair == "" {
				d.Chance = unshown(d.Chance, left)
			}
		}
	}
	for i, t := range places {
		if passed[t] {
			setBit(&rec.Tested, i)
		}
	}
}

// carryTested keeps what has been tested of a change with its targets, where they
// have other places in its new footprint.
func (c *Core) carryTested(id queue.ChangeID, old, f *queue.Footprint) {
	rec := c.s.Beliefs[id]
	if rec == nil || len(rec.Tested) == 0 {
		return
	}
	tested := map[string]bool{}
	for i, t := range old.Affected {
		tested[t] = hasBit(rec.Tested, i)
	}
	rec.Tested = nil
	for i, t := range f.Affected {
		if tested[t] {
			setBit(&rec.Tested, i)
		}
	}
	c.touch(queue.KindBelief, string(id))
}

// places returns a change's targets in the order of its footprint.
func (c *Core) places(id queue.ChangeID, x *affects) []int {
	f := c.s.Footprints[id]
	out := make([]int, len(f.Affected))
	for i, t := range f.Affected {
		out[i] = c.assumed.number(t)
	}
	return out
}

func (c *Core) acquitPair(x, y queue.ChangeID, a, b *affects, passed map[int]bool) {
	q := c.pairChance(x, y)
	if q == 0 || a.all || b.all {
		return
	}
	shared, hit := 0, 0
	for _, i := range common(a, b) {
		shared++
		if passed[a.targets[i]] {
			hit++
		}
	}
	if hit == 0 {
		return
	}
	f := float64(hit) / float64(shared)
	c.setPair(x, y, q*(1-f)/(1-q*f))
}

// suspect takes in targets that have failed in a build: its own change is bad,
// or one of those in the build that affect a failed target is, or two of all
// these are red together (planner.md 6.3, which leaves out the pairs among the
// others; with deep bases they are often to blame).
func (c *Core) suspect(b *queue.Build, failed []string) {
	own := c.s.Changes[b.Change]
	if len(b.Also) == 0 && (own == nil || own.Phase.Final() || c.affectedBy(b.Change) == nil) || c.without(queue.IngredientBeliefs) {
		return
	}
	// Where one has been turned down since that affects a target, it explains it.
	failed = slices.DeleteFunc(slices.Clone(failed), func(t string) bool {
		return slices.ContainsFunc(b.Chain, func(id queue.ChangeID) bool {
			x := c.affectedBy(id)
			return c.turnedDown(id) && (x == nil || x.touches(c.assumed.number(t)))
		})
	})
	if len(failed) == 0 {
		return
	}
	type guess struct {
		a, b queue.ChangeID // b: of a pair
		w    float64
	}
	covered, red := map[int]bool{}, map[int]bool{}
	for _, k := range b.Keys() {
		covered[c.assumed.number(k.Target)] = true
	}
	for _, t := range failed {
		red[c.assumed.number(t)] = true
	}
	var suspects []queue.ChangeID
	var guesses []guess
	if len(b.Also) == 0 {
		guesses = []guess{{a: b.Change, w: 1 - c.good(b.Change)}}
	}
	for _, id := range c.crew(b) {
		x := c.affectedBy(id)
		if !slices.ContainsFunc(failed, func(t string) bool { return x.touches(c.assumed.number(t)) }) {
			continue
		}
		for _, other := range suspects {
			if q := c.pairChance(other, id); q > 0 && meetAt(x, c.affectedBy(other), red) {
				guesses = append(guesses, guess{a: other, b: id, w: q})
			}
		}
		suspects = append(suspects, id)
		n := 0
		for _, t := range x.targets {
			if covered[t] {
				n++
			}
		}
		if (id != b.Change || len(b.Also) > 0) && n > 0 {
			guesses = append(guesses, guess{a: id, w: (1 - c.good(id)) * float64(n) / float64(len(x.targets))})
		}
		if rec := c.s.Beliefs[id]; rec != nil {
			for _, other := range sorted(rec.Pairs) {
				o := c.s.Changes[other]
				if o == nil || o.Phase != queue.Landed || !c.below(b, o) {
					continue
				}
				if y := c.affectedBy(other); y != nil && meetAt(x, y, red) {
					guesses = append(guesses, guess{a: other, b: id, w: rec.Pairs[other]})
				}
			}
		}
	}
	none := 1.0
	for _, g := range guesses {
		none *= 1 - g.w
	}
	if none == 1 {
		return // nobody in it is known to affect what has failed
	}
	for _, g := range guesses {
		post := min(g.w/(1-none), 1-minChance)
		var others []queue.ChangeID
		for _, id := range suspects {
			if id != g.a && id != g.b {
				others = append(others, id)
			}
		}
		slices.Sort(others)
		if g.b != "" {
			x, y := c.holder(g.a, g.b)
			c.addDoubt(y, queue.Doubt{Pair: x, Chance: post, Before: c.pairChance(x, y), Others: others})
			c.setPair(x, y, post)
			continue
		}
		rec := c.addDoubt(g.a, queue.Doubt{Chance: post, Others: others})
		for i, t := range c.places(g.a, c.affectedBy(g.a)) {
			if red[t] && hasBit(rec.Tested, i) {
				rec.Tested[i/64] &^= 1 << (i % 64)
			}
		}
	}
}

// maxDoubts bounds the failures that are remembered of one change.
const maxDoubts = 32

// addDoubt remembers a failure that a change, or a pair, may be to blame for.
func (c *Core) addDoubt(id queue.ChangeID, d queue.Doubt) *queue.Belief {
	rec := c.belief(id)
	if rec.Doubts = append(rec.Doubts, d); len(rec.Doubts) > maxDoubts {
		rec.Doubts = rec.Doubts[len(rec.Doubts)-maxDoubts:]
	}
	return rec
}

// explain takes back the doubts about others for which a change that has been
// turned down is to blame.
func (c *Core) explain(id queue.ChangeID) {
	for _, at := range sorted(c.s.Beliefs) {
		rec := c.s.Beliefs[at]
		n := len(rec.Doubts)
		kept := rec.Doubts[:0:0]
		for _, d := range rec.Doubts {
			if !slices.Contains(d.Others, id) {
				kept = append(kept, d)
			} else if d.Pair != "" && rec.Pairs[d.Pair] <= d.Chance && rec.Pairs[d.Pair] > d.Before {
				c.setPair(d.Pair, at, d.Before)
			}
		}
		if rec.Doubts = kept; len(kept) != n {
			c.touch(queue.KindBelief, string(at))
			c.rethink(at)
		}
	}
}

// unshown is the chance of a fault that could show in the share of places left,
// none of the others having shown it.
func unshown(q, left float64) float64 {
	return clampChance(q * left / (q*left + 1 - q))
}

// meetAt reports whether two changes both affect one of the targets.
func meetAt(x, y *affects, at map[int]bool) bool {
	for t := range at {
		if x.touches(t) && y.touches(t) {
			return true
		}
	}
	return false
}

// keepPairs remembers the pairs of a change that has landed: those behind it
// have it below them until they have been built with it.
func (c *Core) keepPairs(id queue.ChangeID, with map[queue.ChangeID]bool) {
	for _, other := range sorted(with) {
		if o := c.s.Changes[other]; o != nil && !o.Phase.Final() {
			if q := c.pairChance(id, other); q >= leastPair {
				c.keepPair(id, other, q)
			}
		}
	}
}

// keepPair remembers the chance that a change breaks with one that has landed.
func (c *Core) keepPair(landed, id queue.ChangeID, q float64) {
	b := c.belief(id)
	if b.Pairs == nil {
		b.Pairs = map[queue.ChangeID]float64{}
	}
	b.Pairs[landed] = q
}

// measure folds whether the prediction on arrival came true into the accuracy.
func (c *Core) measure(ch *queue.Change, landed bool) {
	if ch.Chance == 0 {
		return
	}
	hit := 0.0
	if (ch.Chance >= 0.5) == landed {
		hit = 1
	}
	c.s.Accuracy = c.accuracy() + (hit-c.accuracy())/memory
	c.touch(queue.KindMeta, queue.MetaAccuracy)
}

func (c *Core) accuracy() float64 {
	if c.s.Accuracy == 0 {
		return firstGuess
	}
	return c.s.Accuracy
}

func hasBit(b []uint64, i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func setBit(b *[]uint64, i int) {
	for i/64 >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}
