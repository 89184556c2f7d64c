package forgetest

import (
	"context"
	"path/filepath"
	"strings"
)

// Fork makes a copy of the repository under another owner. A pull request from
// it is opened with the branch "<owner>:<branch>".
func (r *Repository) Fork(owner string) (*Repository, error) {
	dir := filepath.Join(r.s.opts.Dir, owner, r.name+".git")
	if err := initBare(dir, r.main); err != nil {
		return nil, err
	}
	r.s.mu.Lock()
	fork := r.s.addRepository(owner, r.name, r.main, dir)
	fork.parent = r
	r.s.mu.Unlock()
	_, err := fork.store.git(context.Background(), nil, "fetch", "--quiet", r.dir, "+refs/heads/*:refs/heads/*")
	return fork, err
}

type follower struct {
	base   *Repository
	branch string
	number int
}

// forkPulls lists the parent's open pull requests from this fork.
func (r *store) forkPulls() []follower {
	if r.repo.parent == nil {
		return nil
	}
	var list []follower
	for _, p := range r.repo.parent.issues.sorted() {
		if p.open() && strings.EqualFold(p.Fork, r.repo.owner.login) {
			list = append(list, follower{r.repo.parent, p.Branch, p.Number})
		}
	}
	return list
}

// follow takes a new head of a fork's branch into a pull request.
func (r *store) follow(ctx context.Context, actor *user, number int, from, head string) {
	r.repo.refs.Lock()
	defer r.repo.refs.Unlock()
	if err := r.take(ctx, number, from, head); err != nil {
		r.repo.s.log.Error("follow a fork", "pull", number, "err", err)
		return
	}
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	r.synchronize(actor, r.repo.issues.mustPull(number), head)
	r.repo.s.touch()
}

// take fetches a commit from a fork and makes it the head ref of a pull request.
func (r *store) take(ctx context.Context, number int, from, head string) error {
	_, err := r.git(ctx, nil, "fetch", "--quiet", from, "+"+head+":"+pullRef(number))
	return err
}
