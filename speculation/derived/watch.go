package derived

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Unwatched returns the keys of a link that have not been seen to pass since it was
// made, the quickest first; those that have failed since before all.
func (fs *Facts) Unwatched(l *queue.Link) []queue.Key {
	type timed struct {
		key    queue.Key
		took   time.Duration
		failed int
	}
	var list []timed
	for i, f := range fs.Links.Info(l).Facts {
		if !f.Passed() || f.Entry.Good() >= l.At {
			continue // revoked by now, or confirmed
		}
		x := timed{key: l.Keys[i]}
		if st, ok := fs.Links.Step(l, x.key); ok {
			x.took = fs.Beliefs.Duration(st.Name, x.key.Target)
		}
		if n := len(f.Entry.Failures); n > 0 && f.Entry.Failures[n-1].At >= l.At {
			x.failed = 1
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.failed, a.failed), cmp.Compare(a.took, b.took))
	})
	keys := make([]queue.Key, len(list))
	for i, x := range list {
		keys[i] = x.key
	}
	return keys
}
