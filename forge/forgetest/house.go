package forgetest

// DeleteMerged sets whether the repository wants head branches to be deleted once
// their pull requests are merged. The fake does so itself for none that is merged
// by a push, as GitHub does not promise to.
func (r *Repository) DeleteMerged(yes bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.tidies = yes
	r.s.touch()
}
