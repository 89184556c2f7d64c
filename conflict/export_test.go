package conflict

// HashAgain computes all hashes of a snapshot from the records of its targets,
// as when it was made, and reports whether they are the same.
func HashAgain(s *Snapshot, targets []Target) bool {
	b := builder{snapshot: s, slab: make([]record, len(targets)), targets: targets}
	b.records()
	sums := blank[sum](len(s.names.all()))
	s.rehash(&sums, s.nodes(), func(id uint32) bool { return s.recs.at(id) != nil })
	id, _ := s.names.find(targets[len(targets)-1].Name)
	return sums.at(id) == s.sums.at(id) && b.slab[len(targets)-1].own == s.recs.at(id).own
}
