package mirror

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// Stage makes one of our own branches at the remote point at a commit, wherever it
// pointed before, so that the forge knows the commit and checks can be set on it.
// It is for branches that only the queue writes. *Transient as in Push.
func (m *Remotes) Stage(ctx context.Context, r forge.Remote, branch string, commit queue.CommitID) error {
	return m.stage(ctx, r, RefMove{Branch: branch, Commit: commit})
}

// Unstage deletes branches that Stage made. It is no error if a branch is gone.
func (m *Remotes) Unstage(ctx context.Context, r forge.Remote, branches ...string) error {
	moves := make([]RefMove, len(branches))
	for i, b := range branches {
		moves[i].Branch = b
	}
	return m.stage(ctx, r, moves...)
}

func (m *Remotes) stage(ctx context.Context, r forge.Remote, moves ...RefMove) error {
	_, each, err := m.stageParts(ctx, r, moves)
	return errors.Join(append(each, err)...)
}
