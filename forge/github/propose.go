package github

import (
	"context"
	"fmt"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// Proposed finds the open pull request of a branch to a base.
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
	return forge.PullRequest{}, fmt.Errorf("no pull request of branch %q to %q is open: %w", branch, base, forge.ErrNotFound)
}

// Propose opens a pull request, unless it is open.
func (f *Forge) Propose(ctx context.Context, p forge.Proposal) (forge.PullRequest, error) {
	defer f.lock("propose/" + p.Branch)()
	open, err := f.OpenFrom(ctx, p.Branch)
	if err != nil {
		return forge.PullRequest{}, err
	}
	for _, o := range open {
		if o.Base == p.Base {
			return o, nil
		}
	}
	made, _, err := f.client.PullRequests.Create(ctx, f.o.Owner, f.o.Name, &github.NewPullRequest{
		Title: &p.Title, Head: &p.Branch, Base: &p.Base, Body: github.String(truncate(p.Body, summaryLimit)), MaintainerCanModify: github.Bool(false)})
	if err != nil {
		return forge.PullRequest{}, failure(ctx, fmt.Sprintf("open a pull request of branch %q", p.Branch), err)
	}
	return forge.PullRequest{Number: made.GetNumber(), Title: made.GetTitle(), Body: made.GetBody(), Author: made.GetUser().GetLogin(), Source: p.Branch,
		Head: queue.CommitID(made.GetHead().GetSHA()), HeadRef: fmt.Sprintf("refs/pull/%d/head", made.GetNumber()),
		Base: made.GetBase().GetRef(), Open: true, URL: made.GetHTMLURL()}, nil
}
