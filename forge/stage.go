package forge

import (
	"context"
	"errors"
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// Stage makes a branch of our own at the remote point at a commit, wherever it
// pointed before, so that the forge knows the commit and checks can be set on
// it. It is for branches that only the queue writes. *Transient as in Push.
func (m *Mirror) Stage(ctx context.Context, r Remote, branch string, commit queue.CommitID) error {
	ref, err := branchRef(branch)
	if err != nil {
		return err
	}
	if err := m.Flush(ctx); err != nil {
		return err
	}
	return m.pushRefs(ctx, r, "+"+string(commit)+":"+ref)
}

// Unstage deletes branches that Stage made. One that is gone is no error.
func (m *Mirror) Unstage(ctx context.Context, r Remote, branches ...string) error {
	var specs []string
	for _, b := range branches {
		ref, err := branchRef(b)
		if err != nil {
			return err
		}
		specs = append(specs, ":"+ref)
	}
	return m.pushRefs(ctx, r, specs...)
}

func (m *Mirror) pushRefs(ctx context.Context, r Remote, specs ...string) error {
	_, stderr, err := m.run(ctx, invocation{
		args:   append([]string{"push", "--porcelain", "--no-verify", "--no-recurse-submodules", "--", r.URL}, specs...),
		header: r.Header,
		alone:  true,
	})
	if err == nil {
		return nil
	}
	if words := remoteWords(string(stderr)); words != "" {
		return fmt.Errorf("pushing %s: %w: %s", specs, ErrForbidden, words)
	}
	err = remoteError(err)
	var transient *Transient
	if ctx.Err() == nil && !errors.As(err, &transient) {
		err = &Transient{Err: err}
	}
	return fmt.Errorf("pushing %s: %w", specs, err)
}
