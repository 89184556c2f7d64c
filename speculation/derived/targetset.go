package derived

import (
	"slices"
)

// TargetSet holds targets by their numbers.
type TargetSet []bool

// NewTargetSet returns the set of the given targets; nil if there are none.
func NewTargetSet(targets []int) TargetSet {
	if len(targets) == 0 {
		return nil
	}
	set := make(TargetSet, slices.Max(targets)+1)
	for _, t := range targets {
		set[t] = true
	}
	return set
}

// Has reports whether a target is in the set.
func (s TargetSet) Has(t int) bool { return t < len(s) && s[t] }

// Unshown is the chance of a fault with the prior chance q that has not shown so far;
// left is the share of places where it could still show.
func Unshown(q, left float64) float64 {
	return ClampChance(q * left / (q*left + 1 - q))
}
