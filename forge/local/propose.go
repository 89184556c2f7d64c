package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// proposer is the author of requests that the queue proposes.
const proposer = "submitqueue"

// Proposed returns the open request for a branch.
func (f *Forge) Proposed(ctx context.Context, branch, base string) (forge.PullRequest, error) {
	requests, err := f.List(ctx)
	if err != nil {
		return forge.PullRequest{}, err
	}
	for _, r := range requests {
		if r.State == Open && r.Branch == branch && r.Base == base {
			return f.PullRequest(ctx, r.Number)
		}
	}
	return forge.PullRequest{}, fmt.Errorf("no request for branch %q: %w", branch, forge.ErrNotFound)
}

// Propose makes a request for a branch that nobody has asked to land: it lands when
// somebody does, as with `submitqueue land BRANCH`.
func (f *Forge) Propose(ctx context.Context, p forge.Proposal) (forge.PullRequest, error) {
	head, _, err := f.store.Commit(ctx, "refs/heads/"+p.Branch)
	if err != nil {
		return forge.PullRequest{}, fmt.Errorf("branch %q: %w", p.Branch, err)
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	for {
		open, err := f.Proposed(ctx, p.Branch, p.Base)
		if err == nil || !errors.Is(err, forge.ErrNotFound) {
			return open, err
		}
		_, next := f.find(p.Branch)
		err = f.put(ctx, Request{Number: next, Branch: p.Branch, Base: p.Base, Head: head, Author: proposer,
			Created: queue.At(f.now()), State: Open, Proposed: true}, "")
		if !errors.Is(err, mirror.ErrChanged) { // otherwise, another process has taken the number
			if err != nil {
				return forge.PullRequest{}, err
			}
			return f.PullRequest(ctx, next)
		}
	}
}
