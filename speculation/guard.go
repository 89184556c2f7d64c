package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Protected paths. A change of one of them may neither be built nor land before an
// administrator has approved the very head that it comes from. The paths are read
// from its merges, and not from its head alone: where a change
// below has moved a file to a protected place, git's merge takes an edit of that file
// along. So each link says which protected paths its commits change, by the globs in
// force (Link.Protected). The push asks here right beside the gate, and so does the
// start of each build.
//
// The other way round, a change may move a file to a protected place while a change below
// has an edit of it, which no administrator has seen. An approval speaks only for the
// head that it was given to. If a merge brings content into a protected path that this
// head does not hold there (Link.Taken), the change needs another head that holds it, and
// an approval of that head.
//
// A change with such a link waits, parked, for the approval, and returns when it is
// given, or when no merge that can still come about needs it.

// stopUncleared acts on a link that is not cleared: its change leaves the order until
// it is approved. If the link is a rollup's, the rollup is given up, and each of its
// members goes on alone.
func (c *guarding) stopUncleared(l *queue.Link) {
	ch := c.s.Changes[l.Change]
	switch {
	case l.Outcome != queue.Merged || c.facts.Links.Cleared(l) || ch == nil || ch.Phase.Final():
	case len(l.With) > 0:
		c.landing.dissolve(ch)
	case ch.Phase == queue.Trying:
		c.settling.endTry(ch, queue.Tried, queue.Reason{Code: queue.ReasonRequirements, Unmet: []queue.Requirement{clearing(l)}}, nil)
	case ch.Phase != queue.Parked && ch.Phase != queue.Landing:
		c.await(ch, []queue.Requirement{clearing(l)})
		c.reconsider(ch) // the forge was not asked yet for an administrator's approval
	}
}

// clearing is the requirement of a link that is not cleared.
func clearing(l *queue.Link) queue.Requirement {
	if len(l.Taken) > 0 {
		return queue.Requirement{Kind: queue.RequireUpdate, Names: l.Taken, Merged: true, On: l.Chain}
	}
	return queue.Requirement{Kind: queue.RequireAdministrator, Names: l.Protected, Merged: true, On: l.Chain}
}

// guarded returns a link of a change that changes protected paths, or nil if there is
// none. Of the links that can still come about and are wanted, it is the one with the
// fewest changes below it.
func (c *guarding) guarded(id queue.ChangeID, wanted func(*queue.Link) bool) *queue.Link {
	var out *queue.Link
	for l := range c.facts.Links.LinksOf[id] {
		if len(l.With) > 0 || len(l.Protected) == 0 || l.Guard != c.facts.Links.Guard() || l.Since.Epoch != c.s.Main.Line.Epoch || slices.ContainsFunc(l.Chain, c.facts.Links.TurnedDown) || !wanted(l) {
			continue
		}
		if out == nil || len(l.Chain) < len(out.Chain) || len(l.Chain) == len(out.Chain) && l.ID < out.ID {
			out = l
		}
	}
	return out
}

// Protected returns the protected paths that merges of a pull request's change would
// change, besides those that its head changes. They, too, make an approval of the head
// necessary.
func (c *Core) Protected(number int) []string {
	ch := c.facts.Links.Active(number)
	if ch == nil {
		return nil
	}
	if l := c.guarding.guarded(ch.ID, func(*queue.Link) bool { return true }); l != nil {
		return l.Protected
	}
	return nil
}

// lacking returns the requirements that a change's pull request does not meet, by the
// forge's answer and by the paths that its merges change.
func (c *guarding) lacking(ch *queue.Change, b queue.Inspected, vouched bool) []queue.Requirement {
	c.endKept(ch, b)
	if len(b.Protected)+len(b.Guarded) > 0 && ch.Approved != b.Approved && (b.Approved || !ch.Kept) {
		ch.Approved = b.Approved
		c.touch(queue.KindChange, string(ch.ID))
	}
	out := append(wanting(asKept(ch, b), vouched), c.entering.toRestack(b)...)
	out = append(out, c.entering.restacking(ch, b)...)
	l := c.guarded(ch.ID, func(l *queue.Link) bool { return !c.facts.Links.Cleared(l) })
	if l == nil || len(l.Taken) == 0 && slices.ContainsFunc(out, func(r queue.Requirement) bool { return r.Kind == queue.RequireAdministrator }) {
		return out
	}
	return append(out, clearing(l))
}

// releaseFrom takes in that a change has been turned down. It has those changes looked
// at again that wait for an approval because they would have stood on that change.
func (c *guarding) releaseFrom(id queue.ChangeID) {
	for _, ch := range c.settling.parked() {
		if waitsOutside(ch) && slices.ContainsFunc(ch.Reason.Unmet, func(r queue.Requirement) bool { return slices.Contains(r.On, id) }) {
			c.reconsider(ch)
		}
	}
}

// reguard forgets links with protected paths that were read by other globs than
// those in force, and the actions that ask by such globs.
func (c *guarding) reguard() {
	if c.s.Push != nil {
		return // main will be at its links; no other is cleared meanwhile
	}
	guard := c.facts.Links.Guard()
	for _, id := range derived.SortedIf(c.s.Links, func(_ queue.LinkID, l *queue.Link) bool { return l.Change != "" && l.Guard != guard }) {
		c.upkeep.dropLink(c.s.Links[id])
		c.settling.onTip = tipLinks{}
		c.facts.Links.Rewalk()
	}
	for _, key := range derived.Sorted(c.s.Actions) {
		if t, ok := c.s.Actions[key].Task.(queue.Resolve); ok && t.Guard() != guard {
			c.upkeep.done(key)
		}
	}
}
