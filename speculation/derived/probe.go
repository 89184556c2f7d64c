package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

const LostProbes = 3 // so many builds of a commit without a result, and it cannot be built

// Unbuildable reports whether builds of a commit have brought no result too often.
func (fs *Links) Unbuildable(h *queue.Hunt, commit queue.CommitID) bool {
	return slices.ContainsFunc(h.Lost, func(l queue.LostProbe) bool { return l.Commit == commit && l.Times >= LostProbes })
}
