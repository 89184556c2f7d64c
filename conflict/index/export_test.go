package index

// NewWith returns an index that takes a set of so many names for large, looks
// for small sets in a list of so many names for each of them, and leaves the
// overlay out above so many hubs.
func NewWith(dense, sets, hubs int) *Index {
	return newWith(limits{dense: dense, sets: sets, hubs: hubs})
}

// MaxHubs is the limit of New.
const MaxHubs = maxHubs

// Size returns how many names, slots and hubs an index has room for.
func (x *Index) Size() (names, slots, hubs int) { return x.names.Len(), len(x.parts), x.hubs }
