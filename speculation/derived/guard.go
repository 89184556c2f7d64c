package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// approved reports whether an administrator vouches for the head of a change.
func approved(ch *queue.Change) bool { return ch != nil && (ch.Approved || ch.Vouched) }

// Guard names the globs in force.
func (fs *Links) Guard() queue.Digest {
	if globs := fs.Permissions().Protected; !slices.Equal(globs, fs.guarded) {
		fs.guarded, fs.guard = slices.Clone(globs), queue.GuardOf(globs)
	}
	return fs.guard
}

// Cleared reports whether an administrator has approved all protected paths that
// a link changes. A link that was checked by other globs than those in force is
// not cleared.
func (fs *Links) Cleared(l *queue.Link) bool {
	if l.Change == "" {
		return true // main itself
	}
	if l.Guard != fs.Guard() {
		return false
	}
	return len(l.Taken) == 0 && fs.vouchedFor(l)
}

// vouchedFor reports whether an administrator has approved each head with a
// merge that changes a protected path.
func (fs *Links) vouchedFor(l *queue.Link) bool {
	return len(l.Protected) == 0 || !slices.ContainsFunc(l.Changes(), func(id queue.ChangeID) bool { return !approved(fs.s.Changes[id]) })
}
