package derived

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Tries returns the tries that are under way, the oldest first.
func (fs *Facts) Tries() []*queue.Change {
	var out []*queue.Change
	for _, ch := range fs.Open {
		if ch.Phase == queue.Trying {
			out = append(out, ch)
		}
	}
	slices.SortFunc(out, func(a, b *queue.Change) int {
		if a.Arrival != b.Arrival {
			return int(a.Arrival - b.Arrival)
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return out
}
