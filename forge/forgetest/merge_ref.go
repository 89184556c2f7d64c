package forgetest

import (
	"context"
	"fmt"
	"strings"
)

// MergeRef makes the merge of a pull request's head with its base as both are now, as
// GitHub does in the background, and lets refs/pull/<n>/merge lead to it: runs that the
// event pull_request starts test that commit (docs.github.com, "Events that trigger
// workflows"). It returns the commit; the former merge can no longer be fetched.
func (r *Repository) MergeRef(number int) string {
	r.s.mu.Lock()
	p := r.issues.mustPull(number)
	base := "refs/heads/" + p.Base
	r.s.mu.Unlock()
	ctx := context.Background()
	git := func(args ...string) string {
		out, err := r.store.git(ctx, nil, append([]string{"-c", "user.name=GitHub", "-c", "user.email=noreply@github.com"}, args...)...)
		if err != nil {
			panic("forgetest: " + err.Error())
		}
		return strings.TrimSpace(string(out))
	}
	ours, theirs := r.store.readRef(base), r.store.readRef(pullRef(number))
	tree := git("merge-tree", "--write-tree", ours, theirs)
	commit := git("commit-tree", tree, "-p", ours, "-p", theirs, "-m", fmt.Sprintf("Merge %s into %s", theirs, ours))
	if err := r.store.writeRef(fmt.Sprintf("refs/pull/%d/merge", number), commit); err != nil {
		panic("forgetest: " + err.Error())
	}
	return commit
}
