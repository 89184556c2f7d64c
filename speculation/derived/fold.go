package derived

import (
	"github.com/submitqueue/submitqueue/queue"
)

// Active returns a pull request's change without a verdict, or nil.
func (fs *Links) Active(number int) *queue.Change {
	if p := fs.s.Pulls[number]; p != nil {
		return fs.s.Changes[p.Active]
	}
	return nil
}
