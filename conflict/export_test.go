package conflict

// HashAgain computes all hashes of a snapshot from the records of its targets,
// as when it was made, and reports whether they are the same.
func HashAgain(s *Snapshot, targets []Target) bool {
	b := builder{snapshot: s, slab: make([]record, len(targets)), targets: targets}
	digested := make(chan struct{})
	go func() {
		defer close(digested)
		b.records()
	}()
	sums, levels := blank[sum](len(s.names.all())), blank[uint32](len(s.names.all()))
	r := rehash{snap: s, sums: &sums, levels: &levels, ids: s.nodes(), inside: func(id uint32) bool { return s.recs.at(id) != nil }}
	r.search()
	<-digested
	r.run()
	id, _ := s.names.find(targets[len(targets)-1].Name)
	return sums.at(id) == s.sums.at(id) && b.slab[len(targets)-1].own == s.recs.at(id).own
}

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

// Names returns how many names the family of a snapshot has numbers for.
func Names(s *Snapshot) int { return len(s.names.all()) }
