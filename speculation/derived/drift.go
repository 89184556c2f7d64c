package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// IsDrift reports whether a key of main has drifted.
func (fs *Ledger) IsDrift(k queue.Key) bool {
	if len(fs.s.Main.Drift) == 0 {
		return false
	}
	id := k.ID()
	return slices.ContainsFunc(fs.s.Main.Drift, func(d queue.Drift) bool { return d.Key == id })
}

// onlyDrift reports whether nothing of what a root link has unproven has come with a
// commit.
func (fs *Ledger) onlyDrift(root *queue.Link) bool {
	facts := fs.Links.Info(root).Facts
	for i, k := range root.Keys {
		if !facts[i].Passed() && !fs.IsDrift(k) {
			return false
		}
	}
	return true
}
