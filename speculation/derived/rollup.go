package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// GatherRollups lists the members of each rollup, in order. It holds until the order or a member changes.
func (fs *Order) GatherRollups() {
	clear(fs.rollups)
	for _, ch := range fs.Pending {
		if at := ch.Rollup; at != "" {
			fs.rollups[at] = append(fs.rollups[at], ch.ID)
		}
	}
}

// FormRollup takes in that changes have joined the first of them; group is in order.
func (fs *Order) FormRollup(first queue.ChangeID, group []queue.ChangeID) { fs.rollups[first] = group }

// PartRollup takes in that a rollup is given up.
func (fs *Order) PartRollup(first queue.ChangeID) { delete(fs.rollups, first) }

// Rollups returns the changes that others have joined, in order.
func (fs *Order) Rollups() []queue.ChangeID { return Sorted(fs.rollups) }

// Members returns, in order, the members of the rollup that begins with the given change.
func (fs *Order) Members(first queue.ChangeID) []queue.ChangeID { return fs.rollups[first] }

// RollupOf returns the members of a change's rollup, with the change itself, or none if
// it is alone.
func (fs *Order) RollupOf(id queue.ChangeID) []queue.ChangeID {
	if len(fs.rollups) == 0 {
		return nil
	}
	if ch := fs.s.Changes[id]; ch != nil && ch.Rollup != "" && len(fs.rollups[ch.Rollup]) > 1 {
		return fs.rollups[ch.Rollup]
	}
	return nil
}

// NextLink returns the link of the next changes of a train on a commit, or nil if there
// is none, and the number of these changes.
func (fs *Order) NextLink(at queue.CommitID, train []queue.ChangeID) (*queue.Link, int) {
	if group := fs.RollupOf(train[0]); len(group) > 0 && len(group) <= len(train) && slices.Equal(group, train[:len(group)]) {
		if l := fs.s.Links[queue.LinkOf(at, group...)]; l != nil && Landable(fs.Links.State(l).Status) {
			return l, len(group)
		}
	}
	return fs.s.Links[queue.LinkOf(at, train[0])], 1
}
