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
	// This filters again where the owner has a fork, or GitHub does not follow the
	// filter.
	of := func(p *github.PullRequest) bool {
		return p.GetHead().GetRef() == branch && p.GetHead().GetRepo().GetID() == p.GetBase().GetRepo().GetID()
	}
	return f.open(ctx, &github.PullRequestListOptions{Head: f.o.Owner + ":" + branch}, fmt.Sprintf("list the pull requests of branch %q", branch), of)
}

// OpenOn lists the open pull requests that ask for a branch.
func (f *Forge) OpenOn(ctx context.Context, branch string) ([]forge.PullRequest, error) {
	on := func(p *github.PullRequest) bool { return p.GetBase().GetRef() == branch }
	return f.open(background(ctx), &github.PullRequestListOptions{Base: branch}, fmt.Sprintf("list the pull requests for branch %q", branch), on)
}

// open lists open pull requests.
func (f *Forge) open(ctx context.Context, opts *github.PullRequestListOptions, doing string, meant func(*github.PullRequest) bool) ([]forge.PullRequest, error) {
	var out []forge.PullRequest
	opts.State, opts.PerPage = "open", 100
	for {
		list, resp, err := f.client.PullRequests.List(ctx, f.o.Owner, f.o.Name, opts)
		if err != nil {
			return nil, failure(ctx, doing, err)
		}
		for _, p := range list {
			if !meant(p) {
				continue
			}
			pr := forge.PullRequest{
				Number: p.GetNumber(), Title: p.GetTitle(), Author: p.GetUser().GetLogin(), Source: p.GetHead().GetRef(),
				Head: queue.CommitID(p.GetHead().GetSHA()), HeadRef: fmt.Sprintf("refs/pull/%d/head", p.GetNumber()),
				Base: p.GetBase().GetRef(), Draft: p.GetDraft(), Open: true, URL: p.GetHTMLURL(), Changed: instantOf(p.GetUpdatedAt().Time),
			}
			for _, l := range p.Labels {
				pr.Labels = append(pr.Labels, l.GetName())
			}
			out = append(out, pr)
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			slices.SortFunc(out, func(a, b forge.PullRequest) int { return a.Number - b.Number })
			return out, nil
		}
	}
}

// stackedPull is a pull request with the member that the library does not know yet.
// The GraphQL schema that our queries are checked against has no stacks.
type stackedPull struct {
	github.PullRequest
	Stack *struct {
		Number   int `json:"number"`
		Position int `json:"position"`
		Size     int `json:"size"`
		Base     struct {
			Ref string `json:"ref"`
		} `json:"base"`
	} `json:"stack"` // null or missing: it is in none
}

func (p *stackedPull) stack() forge.Stack {
	if p.Stack == nil {
		return forge.Stack{}
	}
	return forge.Stack{Number: p.Stack.Number, Base: p.Stack.Base.Ref, Position: p.Stack.Position, Size: p.Stack.Size}
}

func (f *Forge) stackedPull(ctx context.Context, number int) (*stackedPull, error) {
	p := &stackedPull{}
	_, err := f.get(ctx, fmt.Sprintf("pulls/%d", number), p)
	return p, err
}

// Retarget changes the base of a pull request.
func (f *Forge) Retarget(ctx context.Context, number int, base string) error {
	defer f.lock(fmt.Sprintf("pull/%d", number))()
	doing := fmt.Sprintf("change the base of pull request %d", number)
	p, err := f.stackedPull(ctx, number)
	if err != nil {
		return failure(ctx, doing, err)
	}
	if p.GetState() != "open" || p.GetBase().GetRef() == base {
		return nil
	}
	if k := p.stack(); k.Number != 0 {
		return fmt.Errorf("github: %s: %w: it is in stack %d of GitHub, which changes the base of its members itself", doing, forge.ErrForbidden, k.Number)
	}
	_, _, err = f.client.PullRequests.Edit(ctx, f.o.Owner, f.o.Name, number, &github.PullRequest{Base: &github.PullRequestBranch{Ref: &base}})
	return failure(ctx, doing, err)
}
