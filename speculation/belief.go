package speculation

import (
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
	q := c.pairBase(x, y)
	x, y = c.holder(x, y)
	if b := c.s.Beliefs[y]; b != nil {
		for i := range b.Doubts {
			if d := &b.Doubts[i]; d.Pair == x {
				q = max(q, d.Chance)
			}
		}
	}
	return q
}

// pairBase is the same, but for what has failed.
func (c *Core) pairBase(x, y queue.ChangeID) float64 {
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

// rethinkWith has the chances worked out again that rest on where a change is:
// of all that remember a pair with it, whether they still conflict or not.
func (c *Core) rethinkWith(id queue.ChangeID) {
	for other, b := range c.s.Beliefs {
		if _, ok := b.Pairs[id]; ok {
			c.rethink(other)
		}
	}
}

// setPair sets the chance of a pair, but for what has failed.
func (c *Core) setPair(x, y queue.ChangeID, q float64) {
	x, y = c.holder(x, y)
	b := c.belief(y)
	if b.Pairs == nil {
		b.Pairs = map[queue.ChangeID]float64{}
	}
	b.Pairs[x] = q
	c.renewPair(x, y)
}

// renewPair takes in that the chance of a pair has changed.
func (c *Core) renewPair(x, y queue.ChangeID) {
	q := c.pairChance(x, y)
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

// keepPairs remembers the pairs of a change that has landed: those behind it
// have it below them until they have been built with it.
func (c *Core) keepPairs(id queue.ChangeID, with map[queue.ChangeID]bool) {
	for _, other := range sorted(with) {
		if o := c.s.Changes[other]; o != nil && !o.Phase.Final() {
			c.moveDoubts(id, other)
			if c.pairChance(id, other) >= leastPair {
				c.keepPair(id, other, c.pairBase(id, other))
			}
		}
	}
}

// keepPair remembers the chance that a change breaks with one that has landed,
// and what they have been tested on together.
func (c *Core) keepPair(landed, id queue.ChangeID, q float64) {
	b := c.belief(id)
	if b.Pairs == nil {
		b.Pairs = map[queue.ChangeID]float64{}
	}
	b.Pairs[landed] = q
	x, y, was := c.affectedBy(landed), c.affectedBy(id), c.s.Beliefs[landed]
	if was == nil || was.Met[id] == nil || x == nil || y == nil {
		return
	}
	met := map[int]bool{}
	for i, t := range x.places {
		met[t] = hasBit(was.Met[id], i)
	}
	var bits []uint64
	for i, t := range y.places {
		if met[t] {
			setBit(&bits, i)
		}
	}
	setMet(b, landed, bits)
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
