package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// join puts a change among the changes that conflicts are computed for.
func (c *landing) join(id queue.ChangeID, f *queue.Footprint) {
	c.facts.Order.Enroll(id, f)
	c.joined(id, f)
}

// joined does what is due when a change has come into the order: it marks pairs to ask
// about, and sets wake-ups.
func (c *landing) joined(id queue.ChangeID, f *queue.Footprint) {
	c.settling.markPairs(id, f)
	if f.Again {
		c.wakeAt(max(c.settling.againAt(f), c.facts.Now+1)) // attend may be over
	}
}

// leave takes a change out again.
func (c *landing) leave(id queue.ChangeID) {
	if f := c.s.Footprints[id]; f != nil && len(f.Edges) > 0 {
		defer c.settling.markAllPairs() // changes in conflict by its edges may now be so by a path alone
	}
	c.facts.Order.Strike(id)
}

// sortOrder puts the pending changes in order: by virtual finish time, then by arrival, then by
// number. The order is total; a change's place in it is fixed by its first
// analysis. So it is overtaken only by changes that arrive within its own predicted
// duration (at most max_overtake) after it, by changes of a higher lane within its
// lane's wait (lane.go), and by changes that land through a freeze which holds it (giveway.go).
func (c *landing) sortOrder() {
	if !c.facts.Order.Sorted() {
		c.settling.raise()
		c.facts.Order.Sort()
	}
}

// Before a queue has any result, the changes of its first builds are placed as if each target took
// unseenTarget, and no change longer than unseenMost: most changes of one repository differ more by how many
// targets they affect than targets do by how long they take, and a place is not found again.
const (
	unseenTarget = 3 * time.Minute
	unseenMost   = time.Hour
)

// virtual returns v of a change: arrival + predicted duration, capped, less its
// lane's head start.
func (c *landing) virtual(ch *queue.Change) queue.Instant {
	r := c.facts.Rules()
	from := ch.Arrival.Add(-c.entering.headStart(ch))
	if ch.Refused != nil {
		from = max(ch.Arrival, ch.Refused.Back).Add(-c.entering.headStart(ch))
	}
	if r.Order == config.OrderArrival {
		return from
	}
	took := max(ch.Predicted, 0)
	if f := c.s.Footprints[ch.ID]; f != nil && c.s.Durations[derived.AllID] == nil {
		took = max(took, min(time.Duration(len(f.Affected))*unseenTarget, unseenMost))
	}
	// Nobody is overtaken for parts of a second: no prediction is that good.
	return from.Add(min(took.Round(time.Second), r.MaxOvertake))
}

// learn folds one observation into the records of durations.
func (c *landing) learn(step, target string, took time.Duration) {
	id := derived.DurationID(step, target)
	if t, ok := c.facts.Futures.Assumed.Numbers[target]; ok {
		c.facts.Futures.NewCost(t)
	}
	c.s.Durations[id] = predict.Observe(c.s.Durations[id], id, took)
	c.touch(queue.KindDuration, id)
	levels := []string{derived.StepID(step), derived.AllID}
	if area := predict.Area(target); area != "" {
		levels = append(levels, derived.AreaID(step, area))
	}
	news := false
	for _, id := range levels {
		before := predict.LevelOf(c.s.Durations[id])
		c.s.Durations[id] = predict.ObserveLevel(c.s.Durations[id], id, took)
		news = news || predict.LevelOf(c.s.Durations[id]) != before
		c.touch(queue.KindDuration, id)
	}
	if news {
		c.facts.Futures.NewCosts()
	}
}

// paced folds in the duration of a build that has a result for all of its jobs.
func (c *landing) paced(b *queue.Build) {
	if b.Started == 0 || slices.ContainsFunc(b.Jobs, func(j queue.Job) bool { return !j.Done }) {
		return
	}
	took := c.facts.Now.Sub(b.Started)
	if ch := c.s.Changes[b.Change]; ch != nil && len(b.Also) == 0 && ch.Course.Builds == 1 && ch.Guess.Model == c.s.Model.Using {
		c.s.Learned.Credit.Took = predict.SeeTime(c.s.Learned.Credit.Took, ch.Guess.Took, ch.Guess.Usual, took)
	}
	c.s.Learned.Pace = predict.ObservePace(c.s.Learned.Pace, c.facts.Builds.WorkOf(b), took)
	c.touch(queue.KindMeta, queue.MetaLearned)
}

// estimate writes down the chance, as it looks on arrival, that a change lands. It puts
// the change behind those of its lane that it probably breaks with, and those that it
// would overtake for little.
func (c *landing) estimate(ch *queue.Change) {
	chance := c.facts.Beliefs.Prior(ch)
	ch.Rivals = 0
	c.stayBehind(ch)
	for _, other := range derived.Sorted(c.facts.Order.ConflictsOf(ch.ID)) {
		o := c.s.Changes[other]
		if o == nil || o.Phase != queue.Pending {
			continue
		}
		q := c.facts.Beliefs.PairChance(other, ch.ID)
		c.entering.yield(ch, o, q)
		chance *= 1 - q
		ch.Rivals++
	}
	for _, id := range slices.Backward(c.facts.Futures.Assumed.Line) {
		l := c.s.Changes[id]
		if l == nil || l.Phase == queue.Landed && c.facts.Now.Sub(l.Decided) > keepFootprint {
			break
		}
		if l.Phase == queue.Landed {
			q := c.recall(l, ch)
			if chance *= 1 - q; q > 0 {
				ch.Rivals++
			}
		}
	}
	ch.Chance = derived.ClampChance(chance)
	c.touchChange(ch)
}

// recall remembers, and returns, the chance that a change breaks with a change that had
// landed before it arrived.
func (c *landing) recall(landed, ch *queue.Change) float64 {
	if c.s.Beliefs[ch.ID] == nil && c.s.Beliefs[landed.ID] == nil && !(c.facts.Beliefs.Model.Conflict(landed, ch) >= leastPair) {
		return 0 // as below, for most
	}
	q := c.facts.Beliefs.PairChance(landed.ID, ch.ID)
	if q < leastPair || c.blaming.sweeping(landed.ID) && c.blaming.sweeping(ch.ID) {
		return 0
	}
	x, y := c.facts.Futures.AffectedBy(landed.ID), c.facts.Futures.AffectedBy(ch.ID)
	if x == nil || y == nil || len(derived.Common(y, x)) == 0 {
		return 0
	}
	c.blaming.keepPair(landed.ID, ch.ID, c.facts.Beliefs.PairBase(landed.ID, ch.ID))
	return q
}
