package derived

// Work is a part of a change's work: its share of the whole, and the share that
// is likely to be done one after the other.
type Work struct{ Share, Row float64 }
