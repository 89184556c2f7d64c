package forgetest

import (
	"context"
	"errors"
)

// RenameBranch renames a branch as the settings page does: open pull requests into
// it ask for the new name, and the default branch stays the default under its new
// name.
func (r *Repository) RenameBranch(login, from, to string) error {
	r.refs.Lock()
	defer r.refs.Unlock()
	tip := r.store.readRef("refs/heads/" + from)
	if tip == "" || r.store.readRef("refs/heads/"+to) != "" {
		return errors.New("no branch " + from + ", or " + to + " is there")
	}
	// This does not go through push: GitHub's protection goes with the branch, and no
	// pull request is closed.
	ctx := context.Background()
	if _, err := r.store.git(ctx, nil, "update-ref", "refs/heads/"+to, tip); err != nil {
		return err
	}
	if _, err := r.store.git(ctx, nil, "update-ref", "-d", "refs/heads/"+from); err != nil {
		return err
	}
	if r.main == from {
		if _, err := r.store.git(ctx, nil, "symbolic-ref", "HEAD", "refs/heads/"+to); err != nil {
			return err
		}
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	u := r.s.mustUser(login)
	if r.renamed == nil {
		r.renamed = map[string]string{}
	}
	r.renamed[from] = to
	delete(r.renamed, to)
	if g, ok := r.guards[from]; ok {
		r.guards[to] = g
		delete(r.guards, from)
	}
	wasMain := r.main == from
	if wasMain {
		r.main = to
	}
	r.shapes.emitPush(u, refMove{ref: "refs/heads/" + to, new: tip}, false, nil, nil)
	r.shapes.emitPush(u, refMove{ref: "refs/heads/" + from, old: tip, new: zeroID}, false, nil, nil)
	for _, p := range r.issues.sorted() {
		if p.open() && p.Base == from {
			r.issues.edit(u, p, p.Title, p.Body, to)
		}
	}
	if wasMain {
		r.shapes.emit(u, "repository", obj{"action": "edited", "changes": obj{"default_branch": obj{"from": from}}})
	}
	r.s.touch()
	return nil
}

// branchNow returns the present name of a missing branch: "" if it was not renamed,
// or is gone for good. The caller holds s.mu.
func (r *Repository) branchNow(name string) string {
	for range len(r.renamed) {
		if name = r.renamed[name]; name == "" || r.store.readRef("refs/heads/"+name) != "" {
			return name
		}
	}
	return ""
}

// RestoreBranch makes a deleted branch anew at a commit, as the button on a pull
// request does.
func (r *Repository) RestoreBranch(login, branch, tip string) error {
	r.refs.Lock()
	defer r.refs.Unlock()
	r.s.mu.Lock()
	who := identity{user: r.s.mustUser(login)}
	r.s.mu.Unlock()
	return r.store.push(context.Background(), who, []refMove{{ref: "refs/heads/" + branch, new: tip}}, pushOptions{}).err()
}

// SetDefaultBranch makes another branch the default one, which renames nothing.
func (r *Repository) SetDefaultBranch(login, branch string) error {
	r.refs.Lock()
	defer r.refs.Unlock()
	if r.store.readRef("refs/heads/"+branch) == "" {
		return errors.New("no branch " + branch)
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	u := r.s.mustUser(login)
	from := r.main
	r.main = branch
	r.shapes.emit(u, "repository", obj{"action": "edited", "changes": obj{"default_branch": obj{"from": from}}})
	r.s.touch()
	return nil
}
