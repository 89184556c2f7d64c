package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// next is what the last plan has answered to why no further build of a pending
// change begins, with the names and numbers that people need. It is asked for
// between turns and reads only.
func (c *Core) next(ch *queue.Change) queue.Next {
	if c.planner.plans == 0 || c.s.Main.Tip == "" || c.s.Main.Config == nil {
		return queue.Next{}
	}
	n := c.nodes[ch.ID]
	if n == nil || mindOf(n).said.plan != c.planner.plans {
		return queue.Next{Code: queue.ReasonWaitsWindow, Limit: c.window()}
	}
	worth, single := c.thresholds()
	a := mindOf(n).said
	out := queue.Next{Code: a.code, Value: a.value, Place: a.place, Rivals: a.rivals, Until: a.until}
	switch a.code {
	case queue.ReasonWaitsUnlikely:
		if out.Threshold, out.Target = worth, a.target; a.target {
			out.Threshold = single
		}
	case queue.ReasonWaitsKnown:
		out.Known = knownWords(a.known)
		if len(n.edges) == 0 && out.Known == queue.KnownPassed {
			out.Code = queue.ReasonWaitsTrain
		}
	case queue.ReasonWaitsTime:
		if out.For = awaits(n); len(out.For) == 0 {
			out.Code, out.Until = queue.ReasonWaitsSlot, 0 // whoever it waited for has left since: it is not early any more
		}
	case queue.ReasonWaitsShared:
		for _, b := range c.sharers(n) {
			out.Builds = append(out.Builds, b.ID)
			if b.Change != "" && !slices.Contains(out.For, b.Change) {
				out.For = append(out.For, b.Change)
			}
		}
		if len(out.Builds) == 0 {
			out.Code = queue.ReasonWaitsBuild // its own
		}
	case queue.ReasonWaitsSlot:
		out.Least = c.leastCredit()
	case queue.ReasonWaitsHour:
		out.Limit, out.Spent = c.rules().BuildsPerHour, len(c.s.Spent)
	case queue.ReasonWaitsCap:
		out.Limit, out.Spent = (c.rules().BuildsPerChange+1)/2, ch.Builds
	}
	return out
}

// awaits returns the changes ahead for whose verdicts a build waits that would
// be too early, the last to be decided first.
func awaits(n *node) []queue.ChangeID {
	var due []*node
	for _, i := range mindOf(n).deal.due {
		if i < len(n.edges) {
			due = append(due, n.edges[i].to)
		}
	}
	slices.SortStableFunc(due, func(a, b *node) int { return cmp.Compare(mindOf(b).end, mindOf(a).end) })
	var out []queue.ChangeID
	for _, to := range due {
		if mindOf(to).plan == mindOf(n).plan && mindOf(to).end > mindOf(n).said.until {
			out = append(out, to.id)
		}
	}
	return out[:min(len(out), queue.MostRivals)]
}

// leave takes an edge out of a deal that its plan has made: who is behind it moves
// up.
func (d *deal) leave(at int) {
	kept := d.due[:0]
	for _, i := range d.due {
		switch {
		case i < at:
			kept = append(kept, i)
		case i > at:
			kept = append(kept, i-1)
		}
	}
	d.due = kept
}

// leastCredit is the least that a running build was worth to the last plan.
func (c *Core) leastCredit() float64 {
	least := 0.0
	for i, live := range c.building {
		if !live.Cancel && (least == 0 || i == 0 || live.credit < least) {
			least = live.credit
		}
	}
	return least
}

// trust is how good the predictions have been, and what follows from that.
func (c *Core) trust() queue.Trust {
	worth, single := c.thresholds()
	return queue.Trust{Accuracy: c.accuracy(), Threshold: worth, Single: single}
}

// outlook is what is believed of a pending change. It is asked for between
// turns and reads only.
func (c *Core) outlook(ch *queue.Change, next queue.Next) queue.Outlook {
	o := queue.Outlook{Next: next, Arrived: ch.Chance, Good: c.good(ch.ID), Trust: c.trust()}
	n := c.nodes[ch.ID]
	if n != nil && mindOf(n).plan == c.planner.plans {
		o.Chance = mindOf(n).odds
	}
	if x := c.affectedBy(ch.ID); x != nil && !x.all {
		o.Targets = len(x.targets)
	}
	if n != nil {
		for i := range n.edges[:min(len(n.edges), queue.MostRivals)] {
			e := &n.edges[i]
			r := queue.Rival{Change: e.to.id, Chance: c.good(e.to.id), Red: e.q, Shared: len(e.shared)}
			if mindOf(e.to).plan == c.planner.plans {
				r.Chance, r.Ends = mindOf(e.to).odds, mindOf(e.to).end
			}
			o.Ahead = append(o.Ahead, r)
		}
	}
	o.Pairs = c.suspicions(ch.ID)
	if b := c.s.Beliefs[ch.ID]; b != nil {
		for i := range o.Targets {
			if hasBit(b.Tested, i) {
				o.Tested++
			}
		}
		for _, d := range b.Doubts {
			o.Doubts = append(o.Doubts, queue.Suspect{Pair: d.Pair, Chance: d.Chance, Others: slices.Clone(d.Others)})
		}
	}
	return o
}

// suspicions returns the changes that one may be red together with, those in the
// queue and those that have landed below it, the likeliest first.
func (c *Core) suspicions(id queue.ChangeID) []queue.Pair {
	var out []queue.Pair
	add := func(other queue.ChangeID, q float64) {
		if o := c.s.Changes[other]; o != nil && q >= leastPair && !c.turnedDown(other) {
			out = append(out, queue.Pair{With: other, Chance: q, Landed: o.Phase == queue.Landed})
		}
	}
	with := c.conflictsOf(id)
	for _, other := range sorted(with) {
		add(other, c.pairChance(id, other))
	}
	if b := c.s.Beliefs[id]; b != nil {
		for _, other := range sorted(b.Pairs) {
			if !with[other] {
				add(other, c.pairChance(id, other))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b queue.Pair) int { return cmp.Compare(b.Chance, a.Chance) })
	return out[:min(len(out), queue.MostPairs)]
}
