package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// A rollup (config.BatchRollup) lands changes that depend on each other as one
// merge: its first parent is main, and its tree has the members merged one after the
// other. The commits between them are never on main's first-parent line, so they need
// no verification. It is one link with several changes; the gate and the train take it
// as any other. It is used under heavy overload only, because one failure holds up all
// members, and a change that joins goes before others that came before it.
//
// The members of a rollup are written down in the changes (Change.Rollup), and are
// only a proposal. Each member has its own place in the order, changes behind it are
// built on it alone, and it is rejected alone, by its own link on main as it is.
//
// # Sizes, splits and what is reused
//
// Say that the targets of changes are not known (analyzer: none), that each is good with
// chance 0.95, and that a to h wait. Built together they all pass with chance 0.66. The
// plan (plan/rollupsize.go) takes the number of changes with the least expected builds
// for each that lands. Of eight, 6.4 land on average until the first bad one. They take
// 2.4 builds, one run again counted, so 0.37 each; one by one it is 1.11.
//
//   - a..h fail on main M. That is no verdict on a change, and the build is not run again,
//     unless the step is known for flakes: a wrong split of eight costs three more builds;
//     another run costs one, mostly in vain. By Bayes a..d pass with chance 0.45, so they
//     are tried next, and e..h wait for them (Change.After).
//   - a..d pass and land. e..h on main are now the tree that a..h were, and that has
//     failed: without a build e..h are split, and e, f are tried.
//   - e, f fail. That explains the failure of a..h, so it tells nothing of g and h: they are
//     free to join the next rollup, at the chances that they had.
//   - e passes and lands. f on main is the tree that e, f were. It is run again
//     on f's own merge, as any failure is before it decides, and f is rejected by its own
//     link on main. With retries: 0 the failure of e, f is that evidence, since the tree is
//     the same. Meanwhile the next rollup is built without f.
//
// All of this follows from the key of a target: it is the same wherever the content is the
// same, so no result is inferred and none is made twice. A change that does not affect a
// failed target is not suspected. During the search for the change to blame no change
// behind is built. Behind a rollup that is being built other changes are built if it passes
// with a chance of two in three.
//
// The search comes to an end: a rollup is split when it has failed, and its parts are
// smaller; a change is freed when others have failed or left; and a change that could not
// be merged or run with others is alone for good.

// partners returns the other members of a change's rollup, sorted by id.
func (c *landing) partners(ch *queue.Change) []queue.ChangeID {
	if ch.Rollup == "" || ch.Phase.Final() {
		return nil
	}
	var out []queue.ChangeID
	if group := c.facts.Order.Members(ch.Rollup); len(group) > 1 {
		out = slices.DeleteFunc(slices.Clone(group), func(id queue.ChangeID) bool { return id == ch.ID })
	} else {
		for id, o := range c.s.Changes {
			if o.Rollup == ch.Rollup && id != ch.ID {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}

// triedFirst returns the members of a failed rollup that are tried before a change. The
// rollup is the change's own, or one ahead of it.
func (c *landing) triedFirst(n *derived.Node) []queue.ChangeID {
	first := n.Ch.After
	for i := 0; first == "" && i < len(n.Edges); i++ {
		first = n.Edges[i].To.Ch.After
	}
	if group := c.facts.Order.RollupOf(first); group != nil {
		return slices.Clone(group)
	}
	return []queue.ChangeID{first}
}

// dissolve gives up the rollup of a change, if it has one: each member is alone
// again, and what has been learnt of their targets stays.
func (c *landing) dissolve(ch *queue.Change) {
	if ch == nil || ch.Rollup == "" {
		return
	}
	at := ch.Rollup
	c.facts.Order.PartRollup(at)
	for _, id := range derived.Sorted(c.s.Changes) {
		if o := c.s.Changes[id]; o.Rollup == at {
			o.Rollup, o.After, o.Alone = "", "", true
			c.touch(queue.KindChange, string(o.ID))
		}
	}
}

// boards returns the link by which a rollup could be the next of the train, or nil if
// it is not merged there yet. ok is false if the rollup cannot be next.
func (c *landing) boards(at queue.CommitID, line map[queue.CommitID]bool, group []queue.ChangeID, ready []queue.ChangeID, in map[queue.ChangeID]bool) (l *queue.Link, ok bool) {
	if len(group) == 0 {
		return nil, false
	}
	with := make(map[queue.ChangeID]bool, len(in)+len(group))
	for id := range in {
		with[id] = true
	}
	for _, id := range group {
		with[id] = true
	}
	for _, id := range group {
		if in[id] || !slices.Contains(ready, id) || !c.mayJoin(id, with) {
			return nil, false
		}
	}
	for p := range line {
		if l := c.s.Links[queue.LinkOf(p, group...)]; l != nil && !derived.Landable(c.facts.Links.State(l).Status) {
			return nil, false // it is being built on fewer members than this, or has failed there
		}
	}
	return c.s.Links[queue.LinkOf(at, group...)], true
}

// joinRollup makes a rollup of changes, which take their places in the order behind the
// first.
func (c *Core) joinRollup(group []queue.ChangeID) {
	first := c.s.Changes[group[0]]
	for _, id := range group {
		ch := c.s.Changes[id]
		ch.Rollup = first.ID
		ch.Virtual, ch.Lead = first.Virtual, first.Lead
		c.touchChange(ch)
		c.note(queue.Note{Change: id, Number: ch.Number, What: "rollup", Reason: queue.Reason{Names: idStrings(group)}})
	}
	for _, id := range group {
		c.facts.Order.ForgetAhead(id, 0)
	}
	c.landing.sortOrder()
	for _, id := range group {
		c.facts.Order.ForgetAhead(id, 0)
	}
	group = slices.Clone(group)
	slices.SortFunc(group, func(a, b queue.ChangeID) int { return cmp.Compare(c.facts.Order.Rank[a], c.facts.Order.Rank[b]) })
	c.facts.Order.FormRollup(first.ID, group)
	c.again = true
}

// divide has the first members of a rollup tried, and the rest wait for them.
func (c *Core) divide(first, rest []queue.ChangeID) {
	c.facts.Order.PartRollup(c.s.Changes[first[0]].Rollup)
	c.regroup(first, "")
	c.regroup(rest, first[0])
	names := idStrings(first)
	for _, id := range slices.Concat(first, rest) {
		ch := c.s.Changes[id]
		if len(rest) > 0 {
			c.note(queue.Note{Change: id, Number: ch.Number, What: "split", Reason: queue.Reason{Names: names}})
		}
	}
	c.again = true
}

// regroup makes a rollup of changes, or has a single change built alone.
func (c *Core) regroup(set []queue.ChangeID, after queue.ChangeID) {
	for _, id := range set {
		ch := c.s.Changes[id]
		ch.Rollup, ch.After, ch.Alone = set[0], after, false
		if len(set) == 1 {
			ch.Rollup, ch.Alone = "", true
		}
		c.touchChange(ch)
	}
	if len(set) > 1 {
		c.facts.Order.FormRollup(set[0], slices.Clone(set))
	}
}

// free lets changes join rollups again, and takes back doubts about them that the
// changes in by are to blame for.
func (c *Core) free(members, by []queue.ChangeID) {
	for _, id := range members {
		ch := c.s.Changes[id]
		c.facts.Order.PartRollup(ch.Rollup)
		ch.Rollup, ch.After, ch.Alone = "", "", false
		c.touchChange(ch)
		c.blaming.absolve(id, func(d *queue.Doubt) bool {
			return slices.ContainsFunc(by, func(o queue.ChangeID) bool { return slices.Contains(d.Others, o) })
		})
	}
	c.again = true
}
