package github

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// OpenFrom lists the open pull requests of a branch of this repository.
func (f *Forge) OpenFrom(ctx context.Context, branch string) ([]forge.PullRequest, error) {
	var out []forge.PullRequest
	opts := &github.PullRequestListOptions{State: "open", Head: f.o.Owner + ":" + branch, ListOptions: github.ListOptions{PerPage: 100}}
	for {
		list, resp, err := f.client.PullRequests.List(ctx, f.o.Owner, f.o.Name, opts)
		if err != nil {
			return nil, failure(ctx, fmt.Sprintf("list the pull requests of branch %q", branch), err)
		}
		for _, p := range list {
			// Where the owner has a fork of its own, or the filter is not followed.
			if p.GetHead().GetRef() != branch || p.GetHead().GetRepo().GetID() != p.GetBase().GetRepo().GetID() {
				continue
			}
			out = append(out, forge.PullRequest{
				Number: p.GetNumber(), Title: p.GetTitle(), Author: p.GetUser().GetLogin(), Source: branch,
				Head: queue.CommitID(p.GetHead().GetSHA()), HeadRef: fmt.Sprintf("refs/pull/%d/head", p.GetNumber()),
				Base: p.GetBase().GetRef(), Draft: p.GetDraft(), Open: true, URL: p.GetHTMLURL(),
			})
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			slices.SortFunc(out, func(a, b forge.PullRequest) int { return a.Number - b.Number })
			return out, nil
		}
	}
}

// Retarget changes the base of a pull request.
func (f *Forge) Retarget(ctx context.Context, number int, base string) error {
	defer f.lock(fmt.Sprintf("pull/%d", number))()
	doing := fmt.Sprintf("change the base of pull request %d", number)
	p, _, err := f.client.PullRequests.Get(ctx, f.o.Owner, f.o.Name, number)
	if err != nil {
		return failure(ctx, doing, err)
	}
	if p.GetState() != "open" || p.GetBase().GetRef() == base {
		return nil
	}
	_, _, err = f.client.PullRequests.Edit(ctx, f.o.Owner, f.o.Name, number, &github.PullRequest{Base: &github.PullRequestBranch{Ref: &base}})
	return failure(ctx, doing, err)
}
