package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// GatherRollups finds out who is in which rollup: the members in order, each in
// its rollup's list. It holds until the order or a member changes.
func (fs *Order) GatherRollups() {
	clear(fs.Rollups)
	for _, ch := range fs.Pending {
		if at := ch.Rollup; at != "" {
			fs.Rollups[at] = append(fs.Rollups[at], ch.ID)
		}
	}
}

// RollupOf returns the members of a change's rollup, itself among them; none
// where it is alone.
func (fs *Order) RollupOf(id queue.ChangeID) []queue.ChangeID {
	if len(fs.Rollups) == 0 {
		return nil
	}
	if ch := fs.s.Changes[id]; ch != nil && ch.Rollup != "" && len(fs.Rollups[ch.Rollup]) > 1 {
		return fs.Rollups[ch.Rollup]
	}
	return nil
}

// NextLink returns the link of the next changes of a train on a commit, nil where
// there is none, and how many they are.
func (fs *Order) NextLink(at queue.CommitID, train []queue.ChangeID) (*queue.Link, int) {
	if group := fs.RollupOf(train[0]); len(group) > 0 && len(group) <= len(train) && slices.Equal(group, train[:len(group)]) {
		if l := fs.s.Links[queue.LinkOf(at, group...)]; l != nil && Landable(fs.Links.State(l).Status) {
			return l, len(group)
		}
	}
	return fs.s.Links[queue.LinkOf(at, train[0])], 1
}
