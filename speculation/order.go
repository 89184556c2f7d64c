package speculation

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// inOrder reports whether a change takes part in the order.
func inOrder(ch *queue.Change) bool {
	return ch.Phase == queue.Pending || ch.Phase == queue.Landing
}

// join puts a change among those that conflicts are computed for.
func (c *Core) join(id queue.ChangeID, f *queue.Footprint) {
	c.enroll(id, f)
	c.unmeet(id, f)
	if f.Again {
		c.wakeAt(max(c.againAt(f), c.now+1)) // attend may be over
	}
}

// leave takes a change out again.
func (c *Core) leave(id queue.ChangeID) {
	if f := c.s.Footprints[id]; f != nil && len(f.Edges) > 0 {
		defer c.unmeetAll() // whom its edges have brought together, a path may yet
	}
	c.strike(id)
}

// enroll takes in that a change may stand in the order, with a footprint.
func (c *Core) enroll(id queue.ChangeID, f *queue.Footprint) {
	c.open[id] = c.s.Changes[id]
	c.moved = append(c.moved, c.s.Changes[id])
	c.index.Put(id, *f)
	c.noteVerified(id)
	c.staleAhead(id)
	if len(f.Edges) > 0 {
		// Every pair is evaluated with the added edges of all pending changes.
		c.staleAll()
		clear(c.conflicting)
		return
	}
	delete(c.conflicting, id)
	for _, with := range c.index.With(id) {
		if m := c.conflicting[with]; m != nil {
			m[id] = true
		}
	}
	if c.tied(c.s.Changes[id]) {
		for _, with := range c.relatives(c.s.Changes[id]) {
			if m := c.conflicting[with]; m != nil {
				m[id] = true
			}
		}
		c.staleAll()
	}
	if place, known := c.rank[id]; known {
		c.forgetAhead(id, place)
	}
}

// strike takes back what enroll has taken in.
func (c *Core) strike(id queue.ChangeID) {
	c.departed(id, c.rank[id])
	c.forgetNode(id)
	delete(c.verified, id)
	c.index.Remove(id)
	if f := c.s.Footprints[id]; f != nil && len(f.Edges) > 0 {
		c.staleAll()
		clear(c.conflicting)
		return
	}
	delete(c.conflicting, id)
	for _, m := range c.conflicting {
		delete(m, id)
	}
}

func (c *Core) conflictsOf(id queue.ChangeID) map[queue.ChangeID]bool {
	if m, ok := c.conflicting[id]; ok {
		return m
	}
	m := map[queue.ChangeID]bool{}
	for _, with := range c.index.With(id) {
		m[with] = true
	}
	for _, with := range c.relatives(c.s.Changes[id]) {
		m[with] = true
	}
	c.conflicting[id] = m
	return m
}

// sortOrder puts the pending changes in order: by virtual finish time, then by
// id. The order is total; a change's place in it is fixed by its first
// analysis, so it is overtaken only by what arrives within its own predicted
// duration (at most max_overtake) after it, and within its lane's wait where
// that is of a higher lane (lane.go; DESIGN 8; planner.md 6.1).
func (c *Core) sortOrder() {
	if c.ordered {
		return
	}
	c.ordered = true
	c.raise()
	c.arrange()
}

// arrange brings the order up to date.
func (c *Core) arrange() {
	pending := make([]*queue.Change, 0, len(c.pending)+len(c.moved))
	for _, ch := range slices.Concat(c.pending, c.moved) {
		if ch.Phase == queue.Pending {
			pending = append(pending, ch)
		}
	}
	c.moved = c.moved[:0]
	slices.SortFunc(pending, func(x, y *queue.Change) int {
		switch {
		case x.Virtual != y.Virtual:
			return cmp.Compare(x.Virtual, y.Virtual)
		case x.Arrival != y.Arrival:
			return cmp.Compare(x.Arrival, y.Arrival)
		}
		return cmp.Compare(x.ID, y.ID)
	})
	pending = slices.Compact(pending)
	if slices.Equal(pending, c.pending) {
		return
	}
	c.pending = pending
	c.seating++
	c.news++
	before := c.rank
	c.order = make([]queue.ChangeID, len(pending))
	c.rank = make(map[queue.ChangeID]int, len(pending))
	for i, ch := range pending {
		c.order[i], c.rank[ch.ID] = ch.ID, i
	}
	for i, id := range c.order {
		if _, was := before[id]; !was {
			c.forgetAhead(id, i)
		}
	}
	for id := range before {
		if ch := c.s.Changes[id]; ch != nil && ch.Phase == queue.Landing {
			c.departed(id, 0) // the others that are gone have said so as they left
		}
	}
}

// forgetAhead drops the cached lists that a change at a place is or may come to
// be in. Who stays in the order keeps its place relative to the others.
func (c *Core) forgetAhead(id queue.ChangeID, place int) {
	if c.tied(c.s.Changes[id]) {
		c.staleAll() // it is in lists of others than those it conflicts with
		return
	}
	c.staleAhead(id)
	for other := range c.conflictsOf(id) {
		if c.rank[other] >= place {
			c.staleAhead(other)
		}
	}
}

// departed takes a change that leaves the order out of the cached lists it is in.
func (c *Core) departed(id queue.ChangeID, place int) {
	c.staleAhead(id)
	if c.tied(c.s.Changes[id]) {
		defer c.staleAll() // it is in lists of others than those it conflicts with
	}
	for other := range c.conflictsOf(id) {
		c.rethink(other)
		if r, ok := c.rank[other]; ok && r < place {
			continue
		}
		list, known := c.aheadOf[other]
		at := slices.Index(list.ids, id)
		if !known || at < 0 {
			continue
		}
		if list.more && len(list.ids) <= maxDepth+1 {
			c.staleAhead(other) // there may be more than the list has left
			continue
		}
		if at == 0 {
			list.ids = list.ids[1:]
		} else {
			list.ids = slices.Delete(list.ids, at, at+1)
		}
		c.aheadOf[other] = list
		if n := c.nodes[other]; n != nil && n.made {
			if at := slices.IndexFunc(n.edges, func(e edge) bool { return e.to.id == id }); at >= 0 {
				if n.memory != nil {
					n.memory.Leave(at, len(n.edges))
				}
				n.edges = slices.Delete(n.edges, at, at+1)
				n.shape, n.fair, n.dealt = false, false, false
			}
			n.made = len(list.ids) <= maxDepth
		}
	}
}

func (c *Core) staleAhead(id queue.ChangeID) {
	delete(c.aheadOf, id)
	if n := c.nodes[id]; n != nil {
		n.made = false
	}
}

func (c *Core) staleAll() {
	clear(c.aheadOf)
	for _, n := range c.nodes {
		n.made = false
	}
}

// ahead returns the pending, undecided changes before one in the order that
// conflict with it, in order.
func (c *Core) ahead(id queue.ChangeID) []queue.ChangeID { return c.seek(id, len(c.order)) }

// firstAhead returns the first maxDepth+1 of ahead: enough to see that there are
// more than anybody follows. The result belongs to the core.
func (c *Core) firstAhead(id queue.ChangeID) []queue.ChangeID {
	list, known := c.aheadOf[id]
	if !known {
		const enough = 2*maxDepth + 2 // so that some may leave before it is made again
		list.ids = c.seek(id, enough)
		list.more = len(list.ids) == enough
		c.aheadOf[id] = list
	}
	return list.ids[:min(len(list.ids), maxDepth+1)]
}

// aheadList is the beginning of a change's list of those ahead.
type aheadList struct {
	ids  []queue.ChangeID
	more bool // there may be more
}

func (c *Core) seek(id queue.ChangeID, max int) []queue.ChangeID {
	mine, ok := c.rank[id]
	if !ok {
		return nil
	}
	if len(c.stacked) > 0 {
		return c.seekStacked(id, max)
	}
	var out []queue.ChangeID
	conflicts := c.conflictsOf(id)
	if len(conflicts) > mine/4 {
		for _, other := range c.order[:mine] {
			if len(out) == max {
				break
			}
			if conflicts[other] {
				out = append(out, other)
			}
		}
		return out
	}
	for other := range conflicts {
		if r, ok := c.rank[other]; ok && r < mine {
			out = append(out, other)
		}
	}
	slices.SortFunc(out, func(a, b queue.ChangeID) int { return cmp.Compare(c.rank[a], c.rank[b]) })
	return out[:min(len(out), max)]
}

// virtual returns v of a change: arrival + predicted duration, capped, less its
// lane's head start.
func (c *Core) virtual(ch *queue.Change) queue.Instant {
	r := c.rules()
	from := ch.Arrival.Add(-c.headStart(ch))
	if ch.Refused != nil {
		from = max(ch.Arrival, ch.Refused.Back).Add(-c.headStart(ch))
	}
	if r.Order == config.OrderArrival {
		return from
	}
	return from.Add(min(max(ch.Predicted, 0), r.MaxOvertake))
}

// duration predicts how long verifying a target takes under a step.
func (c *Core) duration(step, target string) time.Duration {
	return predict.Duration(c.s.Durations[durationID(step, target)])
}

func durationID(step, target string) string { return step + "\x00" + target }

// learn folds one observation into what is known of durations.
func (c *Core) learn(step, target string, took time.Duration) {
	id := durationID(step, target)
	if t, ok := c.assumed.numbers[target]; ok {
		c.newCost(t)
	}
	c.s.Durations[id] = predict.Observe(c.s.Durations[id], id, took)
	c.touch(queue.KindDuration, id)
}

// estimate writes down the chance that a change lands as it looks on arrival,
// and puts it behind those of its lane that it probably breaks, and those that
// it would overtake for little.
func (c *Core) estimate(ch *queue.Change) {
	chance := clampChance(c.model.Good(ch))
	c.stayBehind(ch)
	for _, other := range sorted(c.conflictsOf(ch.ID)) {
		o := c.s.Changes[other]
		if o == nil || o.Phase != queue.Pending {
			continue
		}
		q := c.pairChance(other, ch.ID)
		c.yield(ch, o, q)
		chance *= 1 - q
	}
	for _, id := range slices.Backward(c.assumed.line) {
		l := c.s.Changes[id]
		if l == nil || l.Phase == queue.Landed && c.now.Sub(l.Decided) > keepFootprint {
			break
		}
		if l.Phase == queue.Landed {
			chance *= 1 - c.recall(l, ch)
		}
	}
	ch.Chance = clampChance(chance)
	c.touchChange(ch)
}

// recall remembers the chance that a change breaks with one that had landed
// before it arrived, and returns it.
func (c *Core) recall(landed, ch *queue.Change) float64 {
	if c.s.Beliefs[ch.ID] == nil && c.s.Beliefs[landed.ID] == nil && !(c.model.Conflict(landed, ch) >= leastPair) {
		return 0 // as below, for most
	}
	q := c.pairChance(landed.ID, ch.ID)
	if q < leastPair {
		return 0
	}
	x, y := c.affectedBy(landed.ID), c.affectedBy(ch.ID)
	if x == nil || y == nil || len(common(y, x)) == 0 {
		return 0
	}
	c.keepPair(landed.ID, ch.ID, c.pairBase(landed.ID, ch.ID))
	return q
}

// probablyBreaks is the chance of a pair above which neither overtakes the
// other (planner.md 6.1).
const probablyBreaks = 0.1

// longest bounds what a model may say of a duration, so that sums of them are
// durations, too.
const longest = 30 * 24 * time.Hour

// predict returns the expected duration of a change's first build.
func (c *Core) predict(ch *queue.Change, f *queue.Footprint) time.Duration {
	if c.s.Main.Config == nil {
		return 0
	}
	if d, ok := c.model.Duration(ch); ok {
		return min(max(d, 0), longest)
	}
	var total time.Duration
	for _, s := range c.s.Main.Config.Steps {
		if s.Scope == config.ScopeRepository {
			total += c.duration(s.Name, config.TargetTree)
			continue
		}
		for _, t := range f.Affected {
			if s.Covers(t) {
				total += c.duration(s.Name, t)
			}
		}
	}
	return total
}
