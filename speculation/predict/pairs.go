package predict

// PairCase holds the facts of two changes at one moment, in plain values as in Case. It
// is the same in either order of the two.
type PairCase struct {
	SharedTargets, SharedShare, SharedDirs float64
	SameAuthor                             float64
	OverlapHours, GapHours                 float64
	CoChange                               float64
}

// pairFeatures is the table of the columns of a PairCase, never changed.
var pairFeatures = []column[PairCase]{
	{Feature{"shared_targets", "targets that both affect", "analysis", true}, true, func(c *PairCase) *float64 { return &c.SharedTargets }},
	{Feature{"shared_share", "these, as a share of what the smaller affects", "analysis", true}, false, func(c *PairCase) *float64 { return &c.SharedShare }},
	{Feature{"shared_dirs", "directories in which both touch files", "analysis", true}, true, func(c *PairCase) *float64 { return &c.SharedDirs }},
	{Feature{"same_author", "1: both are of one author", "forge", true}, false, func(c *PairCase) *float64 { return &c.SameAuthor }},
	{Feature{"overlap_hours", "hours that both have been in the queue at once", "queue", false}, true, func(c *PairCase) *float64 { return &c.OverlapHours }},
	{Feature{"gap_hours", "hours from the arrival of one to that of the other", "queue", true}, true, func(c *PairCase) *float64 { return &c.GapHours }},
	{Feature{"co_change", "highest share of the changes in a directory of one that touched one of the other, too", "queue", false}, false, func(c *PairCase) *float64 { return &c.CoChange }},
}

// PairFeatures returns the columns of PairCase.Vector, in order.
func PairFeatures() []Feature { return listed(pairFeatures) }

// NewPairCase returns a pair in which all values are unknown.
func NewPairCase() *PairCase { return unknown(pairFeatures) }

// Vector is Case.Vector for pairs.
func (c *PairCase) Vector(dst []float64) []float64 { return vector(pairFeatures, c, dst) }

// MarshalJSON is Case.MarshalJSON for pairs.
func (c *PairCase) MarshalJSON() ([]byte, error) { return encode(pairFeatures, c) }

// UnmarshalJSON is Case.UnmarshalJSON for pairs.
func (c *PairCase) UnmarshalJSON(data []byte) error { return decode(pairFeatures, c, data) }
