package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// besideMost bounds the list that Beside returns.
const besideMost = 64

// Beside returns what a run of a step on a link's commit may have failed of, besides the
// keys that it was asked for: the step's keys that the commit adds to main and that have
// not passed, by id. A build is not asked for what another one is verifying, nor for the
// keys of the changes ahead, and yet it fails of them where CI runs everything. More than
// besideMost, and keys of a link that is gone, are one empty id.
func (fs *Links) Beside(l *queue.Link, step string, asked []queue.Key) (beside []queue.Digest) {
	all, whole := fs.under(l, step)
	for target, id := range all {
		if e := fs.s.Ledger[id]; (e == nil || e.Passed == 0) && !slices.ContainsFunc(asked, func(k queue.Key) bool { return k.Target == target }) {
			beside = append(beside, id)
		}
	}
	slices.Sort(beside)
	if len(beside) > besideMost {
		beside, whole = beside[:besideMost], false
	}
	if !whole {
		beside = append(beside, "")
	}
	return beside
}

// NotBeside reports whether what a run has failed of is still there: all that it may have
// failed of besides the keys that it was asked for has passed since, or is there.
func (fs *Ledger) NotBeside(f queue.Failure, there func(queue.Digest) bool) bool {
	return !slices.ContainsFunc(f.Beside, func(id queue.Digest) bool {
		e := fs.s.Ledger[id]
		return (e == nil || e.Passed == 0) && !there(id)
	})
}

// holds reports whether a key of a step is among those that a link's commit adds to main.
func (fs *Links) holds(l *queue.Link, step string, id queue.Digest) bool {
	all, _ := fs.under(l, step)
	for _, other := range all {
		if other == id {
			return true
		}
	}
	return false
}

// under returns the keys of a step that a link's commit adds to main, by target, and whether
// all links on the way are known.
func (fs *Links) under(l *queue.Link, step string) (all map[string]queue.Digest, whole bool) {
	all = map[string]queue.Digest{}
	for {
		for _, k := range l.Keys {
			if st, ok := fs.Step(l, k); ok && st.Name != step {
				continue
			} else if _, above := all[k.Target]; !above {
				all[k.Target] = k.ID()
			}
		}
		if len(l.Chain) == 0 {
			return all, true
		} else if l = fs.LinkTo(l.Parent); l == nil {
			return all, false
		}
	}
}
