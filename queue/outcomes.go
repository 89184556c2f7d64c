package queue

import "slices"

// Outcomes is what builds of pending changes have shown of one target: sets of changes that it
// has passed with, and sets that it has failed with. Together they tell which of the changes
// are to blame. They choose builds; no verdict rests on them.
type Outcomes struct {
	Target string    `json:"target"`
	Sets   []Outcome `json:"sets"` // oldest first; none says what another says already (Add)
}

// Outcome is one result of a target.
type Outcome struct {
	With   []ChangeID `json:"with"` // the changes that were in the build and affect the target, and not all of main; sorted
	Passed bool       `json:"passed,omitempty"`
}

// mostOutcomes bounds the results that are kept of one target.
const mostOutcomes = 160

// Add takes in a result, and reports whether it tells anything new. A set that passes clears
// its subsets, and a set that fails accuses its supersets: of these only the largest and the
// smallest are kept. A result that contradicts earlier ones takes their place.
func (o *Outcomes) Add(x Outcome) bool {
	for _, old := range o.Sets {
		if old.Passed == x.Passed && (x.Passed && within(x.With, old.With) || !x.Passed && within(old.With, x.With)) {
			return false
		}
	}
	o.Sets = slices.DeleteFunc(o.Sets, func(old Outcome) bool {
		if x.Passed {
			return within(old.With, x.With)
		}
		return within(x.With, old.With)
	})
	o.Sets = append(o.Sets, x)
	o.Sets = slices.Delete(o.Sets, 0, max(0, len(o.Sets)-mostOutcomes))
	return true
}

// Failed reports whether one of the results is a failure.
func (o *Outcomes) Failed() bool {
	return slices.ContainsFunc(o.Sets, func(x Outcome) bool { return !x.Passed })
}

// within reports whether all of the first set are in the second. Both are sorted.
func within(a, b []ChangeID) bool {
	if len(a) > len(b) {
		return false
	}
	for _, id := range a {
		at, ok := slices.BinarySearch(b, id)
		if !ok {
			return false
		}
		b = b[at+1:]
	}
	return true
}
