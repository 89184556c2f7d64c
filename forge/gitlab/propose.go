package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
)

// titleLimit is how many characters a title may have.
const titleLimit = 255

// Proposed implements forge.Proposer.
func (f *Forge) Proposed(ctx context.Context, branch, base string) (forge.PullRequest, error) {
	open, err := f.OpenFrom(ctx, branch)
	if err != nil {
		return forge.PullRequest{}, err
	}
	for _, p := range open {
		if p.Base == base {
			return p, nil
		}
	}
	return forge.PullRequest{}, fmt.Errorf("no merge request of branch %q to %q is open: %w", branch, base, forge.ErrNotFound)
}

// Propose implements forge.Proposer. It quiets the description: quick actions in it
// would be executed with our rights.
func (f *Forge) Propose(ctx context.Context, p forge.Proposal) (forge.PullRequest, error) {
	defer f.lock("propose " + p.Branch)()
	if found, err := f.Proposed(ctx, p.Branch, p.Base); err == nil || !errors.Is(err, forge.ErrNotFound) {
		return found, err
	}
	doing := fmt.Sprintf("open a merge request of branch %q", p.Branch)
	id, err := f.project(ctx)
	if err != nil {
		return forge.PullRequest{}, failure(ctx, doing, err)
	}
	mr, _, err := f.client.MergeRequests.CreateMergeRequest(id, &gitlab.CreateMergeRequestOptions{SourceBranch: &p.Branch, TargetBranch: &p.Base,
		Title: gitlab.Ptr(truncate(oneLine(p.Title), titleLimit)), Description: gitlab.Ptr(truncate(quiet(p.Body), noteLimit))}, gitlab.WithContext(ctx))
	if status(err) == http.StatusConflict {
		return f.Proposed(ctx, p.Branch, p.Base) // somebody has opened it meanwhile
	}
	if err != nil {
		return forge.PullRequest{}, failure(ctx, doing, err)
	}
	return pull(mr), nil
}
