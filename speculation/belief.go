package speculation

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Bounds of beliefs: no outcome is certain before it has been built.
const (
	leastPair = 0.002 // chances of pairs below this are not remembered beyond the landing of one of them

	memory = 150 // predictions that the share remembers
)

// belief returns the record of a change, to be changed.
func (c *blaming) belief(id queue.ChangeID) *queue.Belief {
	b := c.s.Beliefs[id]
	if b == nil {
		b = &queue.Belief{Change: id, Good: c.facts.Beliefs.Prior(c.s.Changes[id])}
		c.s.Beliefs[id] = b
	}
	c.touch(queue.KindBelief, string(id))
	c.facts.Beliefs.Rethink(id)
	return b
}

// rethinkWith has the chances worked out again that depend on where a change is: those
// of all changes that remember a pair with it, whether they still conflict or not.
func (c *blaming) rethinkWith(id queue.ChangeID) {
	for other, b := range c.s.Beliefs {
		if _, ok := b.Pairs[id]; ok {
			c.facts.Beliefs.Rethink(other)
		}
	}
}

// setPair sets the chance of a pair, without the failures that count against it.
func (c *blaming) setPair(x, y queue.ChangeID, q float64) {
	x, y = c.facts.Beliefs.Holder(x, y)
	b := c.belief(y)
	if b.Pairs == nil {
		b.Pairs = map[queue.ChangeID]float64{}
	}
	b.Pairs[x] = q
	c.facts.Beliefs.RethinkPair(x, y)
}

// keepPairs remembers the pairs of a change that has landed: the changes behind it have
// it below them, but have not been built with it yet.
func (c *blaming) keepPairs(id queue.ChangeID, with map[queue.ChangeID]bool) {
	for _, other := range derived.Sorted(with) {
		if o := c.s.Changes[other]; o != nil && !o.Phase.Final() {
			c.moveDoubts(id, other)
			if c.sweeping(id) && c.sweeping(other) {
				continue
			}
			if c.facts.Beliefs.PairChance(id, other) >= leastPair {
				c.keepPair(id, other, c.facts.Beliefs.PairBase(id, other))
			}
		}
	}
}

// sweeping reports whether a change meets every other one and the model knows only an
// average of such pairs. Over hundreds of changes that have landed meanwhile, such
// averages would add up to a fault without evidence.
func (c *blaming) sweeping(id queue.ChangeID) bool {
	x := c.facts.Futures.AffectedBy(id)
	return x != nil && x.All && c.facts.Beliefs.Model.Cold()
}

// keepPair remembers the chance that a change breaks with one that has landed,
// and the targets that they have been tested on together.
func (c *blaming) keepPair(landed, id queue.ChangeID, q float64) {
	b := c.belief(id)
	if b.Pairs == nil {
		b.Pairs = map[queue.ChangeID]float64{}
	}
	b.Pairs[landed] = q
	x, y, was := c.facts.Futures.AffectedBy(landed), c.facts.Futures.AffectedBy(id), c.s.Beliefs[landed]
	if was == nil || was.Met[id] == nil || x == nil || y == nil {
		return
	}
	met := map[int]bool{}
	for i, t := range x.Places {
		met[t] = hasBit(was.Met[id], i)
	}
	var bits []uint64
	for i, t := range y.Places {
		if met[t] {
			setBit(&bits, i)
		}
	}
	setMet(b, landed, bits)
}

// measure folds whether the prediction on arrival came true into the accuracy.
func (c *blaming) measure(ch *queue.Change, landed bool) {
	if ch.Chance == 0 {
		return
	}
	c.learnRates(ch, landed)
	c.learning.seen()
	c.seeGuess(ch, landed)
	hit := 0.0
	if (ch.Chance >= 0.5) == landed {
		hit = 1
	}
	c.s.Accuracy = c.facts.Beliefs.Accuracy() + (hit-c.facts.Beliefs.Accuracy())/memory
	c.touch(queue.KindMeta, queue.MetaAccuracy)
}

// seeGuess folds in whether the prediction of the model in use for a change came true.
func (c *blaming) seeGuess(ch *queue.Change, landed bool) {
	g, l := ch.Guess, &c.s.Learned
	if g.Raw == 0 || g.Model != c.s.Model.Using {
		return
	}
	sound := predict.Sound(landed, c.facts.Beliefs.Good(ch.ID))
	l.Shift = predict.SeeShift(l.Shift, g.Raw, sound)
	l.Credit.Good = predict.SeeChance(l.Credit.Good, g.Shifted, g.Without, sound)
	c.touch(queue.KindMeta, queue.MetaLearned)
}

// learnRates folds in whether a change was sound, and whether the changes that it met have
// broken it. For a change that is turned down, it folds in how likely each is by the
// beliefs.
func (c *blaming) learnRates(ch *queue.Change, landed bool) {
	sound, met := 1.0, float64(ch.Rivals)
	if !landed {
		sound = c.facts.Beliefs.Good(ch.ID)
	}
	good, pair := c.facts.Beliefs.Rates()
	c.s.Learned.Good = predict.SeeGood(c.s.Learned.Good, sound)
	if broke := 0.0; met > 0 {
		if !landed {
			broke = sound
		}
		c.s.Learned.Pair = predict.SeePairs(c.s.Learned.Pair, broke, met)
	}
	c.touch(queue.KindMeta, queue.MetaLearned)
	if g, p := c.facts.Beliefs.Rates(); g != good || p != pair {
		c.facts.Order.StaleAll()
		c.facts.Beliefs.RethinkAll()
	}
}
