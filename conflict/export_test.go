package conflict

import (
	"slices"
	"strings"
)

// HashAgain returns what computes all hashes of a snapshot from the records of
// its targets, as when it was made, and reports whether they are the same.
func HashAgain(s *Snapshot, targets []Target) func() bool {
	targets = slices.SortedFunc(slices.Values(targets), func(a, b Target) int { return strings.Compare(a.Name, b.Name) })
	b := builder{snapshot: s, targets: targets, slab: make([]record, len(targets)), ids: make([]uint32, len(targets))}
	for i := range targets {
		b.ids[i], _ = s.names.find(targets[i].Name)
		b.slab[i] = *s.recs.at(b.ids[i])
		b.deps = append(b.deps, b.slab[i].deps...)
	}
	last := b.ids[len(targets)-1]
	return func() bool {
		size := len(s.names.all())
		sums, levels := blank[sum](size), blank[uint32](size)
		b.hash(&sums, &levels)
		return sums.at(last) == s.sums.at(last) && levels.at(last) == s.level.at(last) && b.slab[len(targets)-1].own == s.recs.at(last).own
	}
}

// Names returns how many names the family of a snapshot has numbers for.
func Names(s *Snapshot) int { return len(s.names.all()) }
