package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// knownWords names what a future has shown.
func knownWords(st derived.Status) string {
	switch st {
	case derived.Verified, derived.TreeKeysOnly:
		return queue.KnownPassed
	case derived.Failed:
		return queue.KnownFailed
	case derived.Conflicting:
		return queue.KnownConflict
	case derived.Empty:
		return queue.KnownEmpty
	}
	return ""
}

// sharers returns the live builds of others that verify what a change's
// likeliest future has open.
func (c *telling) sharers(n *derived.Node) []*queue.Build {
	var out []*queue.Build
	for i, k := range plan.MindOf(n).Likely.Known {
		if k == nil || len(k.From) == 0 || plan.MindOf(n).Likely.By[i] != derived.Unknown {
			continue
		}
		busy, _ := k.Work()
		for _, b := range busy {
			if !b.IsFor(n.ID) && !slices.Contains(out, b) {
				out = append(out, b)
			}
		}
	}
	slices.SortFunc(out, func(a, b *queue.Build) int { return derived.CompareIDs(a.ID, b.ID) })
	return out
}
