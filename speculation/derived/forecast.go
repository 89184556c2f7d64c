package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Under returns the commit of main that a link stands on, and the changes
// between the two, in order.
func (fs *Links) Under(l *queue.Link) (queue.CommitID, []queue.ChangeID) {
	var chain []queue.ChangeID
	at := l.Parent
	for before := fs.LinkTo(at); before != nil; before = fs.LinkTo(at) {
		all := before.Changes()
		slices.Reverse(all)
		chain = append(chain, all...)
		at = before.Parent
	}
	slices.Reverse(chain)
	return at, chain
}
