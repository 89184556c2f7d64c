package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Under overload, first builds of changes that have no target in common share
// one build (config.BatchIndependent). It runs on the chain of all of them, and
// verifies the keys of each link of the chain. No later link changes or removes a key
// of an earlier one. So each result is of its key as in any other build, and belongs to
// one change. The links tell the keys; footprints only choose which changes are tried.
//
// It saves the fixed cost of builds, and delays all results to that of the last.
// So a build is shared only when about a whole round of the slots waits behind it,
// and only by changes that assume no other to land: a build on a guess had better
// be short.

// ownerOf returns the change of a build that asks for a key, by footprints. Texts show
// the result as that change's.
func (c *landing) ownerOf(b *queue.Build, k queue.Key) queue.ChangeID {
	for _, id := range b.Also {
		if x := c.facts.Futures.AffectedBy(id); x != nil && !x.All && x.Touches(c.facts.Futures.Assumed.Number(k.Target)) {
			return id
		}
	}
	return b.Change
}

// decided reports whether all changes that a build was for have their verdicts.
func (c *landing) decided(b *queue.Build) bool {
	return b.Change != "" && !slices.ContainsFunc(b.For(), func(id queue.ChangeID) bool {
		ch := c.s.Changes[id]
		return ch == nil || !ch.Phase.Final()
	})
}

// noteBuild writes something about a build into the history of each change that
// it is for.
func (c *landing) noteBuild(b *queue.Build, n queue.Note) {
	n.Build, n.Commit = b.ID, b.Commit
	for _, id := range b.For() {
		n.Change, n.Number = id, 0
		if ch := c.s.Changes[id]; ch != nil {
			n.Number = ch.Number
		}
		c.note(n)
	}
	if b.Change == "" {
		c.note(n)
	}
}
