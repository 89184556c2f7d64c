package forgetest

import (
	"context"
	"errors"
)

// DeleteMerged sets whether the repository wants head branches to be deleted once
// their pull requests are merged. The fake does so for pull requests that are merged
// by the API, but not for those that are merged by a push, since GitHub does not
// promise that.
func (r *Repository) DeleteMerged(yes bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.tidies = yes
	r.s.touch()
}

// SetDefault makes another branch the repository's default one, as somebody does
// in its settings.
func (r *Repository) SetDefault(branch string) error {
	r.refs.Lock()
	defer r.refs.Unlock()
	if r.store.readRef("refs/heads/"+branch) == "" {
		return errors.New("no branch " + branch)
	}
	if _, err := r.store.git(context.Background(), nil, "symbolic-ref", "HEAD", "refs/heads/"+branch); err != nil {
		return err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.main = branch
	r.s.touch()
	return nil
}
