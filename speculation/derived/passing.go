package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// LetThrough says which pending changes land through the freeze of this turn; nil: no freeze holds any.
func (fs *Order) LetThrough(passing map[queue.ChangeID]bool) { fs.Passing = passing }

// Froze reports whether a freeze holds a change.
func (fs *Order) Froze(id queue.ChangeID) bool { return fs.Passing != nil && !fs.Passing[id] }

// HeldUp reports whether a change lands through a freeze, and the freeze holds one of others.
func (fs *Order) HeldUp(id queue.ChangeID, others map[queue.ChangeID]bool) bool {
	if !fs.Passing[id] {
		return false
	}
	for o := range others {
		if fs.Froze(o) {
			return true
		}
	}
	return false
}

// Alike reports whether changes may land as one: an emergency lands alone, and a freeze holds
// either all of them or none.
func (fs *Order) Alike(ids ...queue.ChangeID) bool {
	return !slices.ContainsFunc(ids, func(id queue.ChangeID) bool {
		ch := fs.s.Changes[id]
		return ch == nil || ch.Now != nil || fs.Froze(id) != fs.Froze(ids[0])
	})
}
