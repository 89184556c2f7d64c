package conflict

// NewIndexWith returns an index that takes a set of so many names for large,
// looks for small sets in a list of so many names for each of them, and leaves
// the overlay out above so many hubs.
func NewIndexWith(dense, sets, hubs int) *Index {
	return newIndex(limits{dense: dense, sets: sets, hubs: hubs})
}

// MaxHubs is the limit of NewIndex.
const MaxHubs = maxHubs

// IndexSize returns how many names, slots and hubs an index has room for.
func (x *Index) IndexSize() (names, slots, hubs int) { return x.names.Len(), len(x.parts), x.hubs }
