package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// IndexSet takes in an entry of the ledger that is of a set.
func (fs *Ledger) IndexSet(id queue.Digest, e *queue.Entry) {
	if !e.IsSet() {
		return
	}
	fs.Spare[id] = true
	for _, k := range e.Keys {
		kid := k.ID()
		if at, known := slices.BinarySearch(fs.Sets[kid], id); !known {
			fs.SetsOf(kid, slices.Insert(slices.Clone(fs.Sets[kid]), at, id))
		}
	}
}

func (fs *Ledger) SetsOf(key queue.Digest, sets []queue.Digest) {
	if fs.Sets[key] = sets; len(sets) == 0 {
		delete(fs.Sets, key)
	}
	if f := fs.Keys[key]; f != nil {
		f.Sets = sets
	}
}
