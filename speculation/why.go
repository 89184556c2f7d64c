package speculation

import (
	"cmp"
	"math"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// next returns the last plan's answer to the question why no further build of a pending
// change begins, with the names and numbers that people need. It is called between
// turns and only reads.
func (c *telling) next(ch *queue.Change) queue.Next {
	if c.planner.Plans == 0 || c.s.Main.Tip == "" || c.s.Main.Config == nil {
		return queue.Next{}
	}
	n := c.facts.Futures.Nodes[ch.ID]
	if n == nil || plan.MindOf(n).Said.Plan != c.planner.Plans {
		return queue.Next{Code: queue.ReasonWaitsWindow, Limit: c.facts.Window()}
	}
	worth, single := c.facts.Thresholds()
	a := plan.MindOf(n).Said
	out := queue.Next{Code: a.Code, Value: a.Value, Place: a.Place, Rivals: a.Rivals, Until: a.Until}
	switch a.Code {
	case queue.ReasonWaitsUnlikely:
		if out.Threshold, out.Target = worth, a.Target; a.Target {
			out.Threshold = single
		}
		if a.Least != 0 {
			out.Threshold = a.Least
		}
	case queue.ReasonWaitsSplit:
		out.For = c.landing.triedFirst(n)
	case queue.ReasonWaitsKnown:
		out.Known = knownWords(a.Known)
		if len(n.Edges) == 0 && out.Known == queue.KnownPassed {
			out.Code = queue.ReasonWaitsTrain
		}
	case queue.ReasonWaitsTime:
		if out.For = awaits(n); len(out.For) == 0 {
			out.Code, out.Until = queue.ReasonWaitsSlot, 0 // the change that it waited for has left since, so the build is not early any more
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
		out.Limit, out.Spent = c.facts.Rules().BuildsPerHour, len(c.s.Spent)
	case queue.ReasonWaitsCap:
		out.Limit, out.Spent = int(c.facts.Allowance(false)), int(math.Ceil(ch.Spent))
	}
	return out
}

// awaits returns the changes ahead with the verdicts that an early build waits for, the
// last to be decided first.
func awaits(n *derived.Node) []queue.ChangeID {
	var due []*derived.Node
	for _, i := range plan.MindOf(n).Deal.Due {
		if i < len(n.Edges) {
			due = append(due, n.Edges[i].To)
		}
	}
	slices.SortStableFunc(due, func(a, b *derived.Node) int { return cmp.Compare(plan.MindOf(b).End, plan.MindOf(a).End) })
	var out []queue.ChangeID
	for _, to := range due {
		if plan.MindOf(to).Plan == plan.MindOf(n).Plan && plan.MindOf(to).End > plan.MindOf(n).Said.Until {
			out = append(out, to.ID)
		}
	}
	return out[:min(len(out), queue.MostRivals)]
}

// leastCredit is the least that a running build was worth to the last plan.
func (c *telling) leastCredit() float64 {
	least := 0.0
	for i, live := range c.facts.Builds.Building {
		if !live.Cancel && (least == 0 || i == 0 || live.Credit < least) {
			least = live.Credit
		}
	}
	return least
}

// trust is how good the predictions have been, and the thresholds that follow from
// that.
func (c *telling) trust() queue.Trust {
	worth, single := c.facts.Thresholds()
	return queue.Trust{Accuracy: c.facts.Beliefs.Accuracy(), Threshold: worth, Single: single}
}

// outlook returns the beliefs about a pending change. It is called between turns and
// only reads.
func (c *telling) outlook(ch *queue.Change, next queue.Next) queue.Outlook {
	o := queue.Outlook{Next: next, Arrived: ch.Chance, Good: c.facts.Beliefs.Good(ch.ID), Trust: c.trust()}
	n := c.facts.Futures.Nodes[ch.ID]
	if n != nil && plan.MindOf(n).Plan == c.planner.Plans {
		o.Chance = plan.MindOf(n).Odds
	}
	if x := c.facts.Futures.AffectedBy(ch.ID); x != nil && !x.All {
		o.Targets = len(x.Targets)
	}
	if n != nil {
		for i := range n.Edges[:min(len(n.Edges), queue.MostRivals)] {
			e := &n.Edges[i]
			r := queue.Rival{Change: e.To.ID, Chance: c.facts.Beliefs.Good(e.To.ID), Red: e.Q, Shared: len(e.Shared)}
			if plan.MindOf(e.To).Plan == c.planner.Plans {
				r.Chance, r.Ends = plan.MindOf(e.To).Odds, plan.MindOf(e.To).End
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
	o.Doubts = append(o.Doubts, c.facts.Beliefs.Suspects(ch.ID)...)
	return o
}

// suspicions returns the changes, in the queue or landed below it, that a change may be
// red together with, the likeliest first.
func (c *telling) suspicions(id queue.ChangeID) []queue.Pair {
	var out []queue.Pair
	add := func(other queue.ChangeID, q float64) {
		if o := c.s.Changes[other]; o != nil && q >= leastPair && !c.facts.Links.TurnedDown(other) {
			out = append(out, queue.Pair{With: other, Chance: q, Landed: o.Phase == queue.Landed})
		}
	}
	with := c.facts.Order.ConflictsOf(id)
	for _, other := range derived.Sorted(with) {
		add(other, c.facts.Beliefs.PairChance(id, other))
	}
	if b := c.s.Beliefs[id]; b != nil {
		for _, other := range derived.Sorted(b.Pairs) {
			if !with[other] {
				add(other, c.facts.Beliefs.PairChance(id, other))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b queue.Pair) int { return cmp.Compare(b.Chance, a.Chance) })
	return out[:min(len(out), queue.MostPairs)]
}

// knownWords names the known result of a future.
func knownWords(st derived.Status) string {
	switch st {
	case derived.Verified, derived.TreeKeysOnly:
		return queue.KnownPassed
	case derived.Failed:
		return queue.KnownFailed
	case derived.Conflicting:
		return queue.KnownConflict
	case derived.Empty:
		return queue.KnownEmpty
	}
	return ""
}

// sharers returns the live builds of other changes that verify targets which a change's
// likeliest future has open.
func (c *telling) sharers(n *derived.Node) []*queue.Build {
	var out []*queue.Build
	for i, k := range plan.MindOf(n).Likely.Known {
		if k == nil || len(k.From) == 0 || plan.MindOf(n).Likely.By[i] != derived.Unknown {
			continue
		}
		busy := k.Work().Busy
		for _, b := range busy {
			if !b.IsFor(n.ID) && !slices.Contains(out, b) {
				out = append(out, b)
			}
		}
	}
	slices.SortFunc(out, func(a, b *queue.Build) int { return derived.CompareIDs(a.ID, b.ID) })
	return out
}
