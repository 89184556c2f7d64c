package github

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
)

// Close labels a pull request that is not merged, and closes it where GitHub has not done
// so: GitHub closes a pull request that has nothing left to merge. The label is set before
// that, so that a closed pull request also shows why. It is set after the issues are
// closed, so that they are closed only once.
func (f *Forge) Close(ctx context.Context, number int, how forge.Closing) error {
	defer f.lock(fmt.Sprintf("pull/%d", number))()
	doing := fmt.Sprintf("close pull request %d, which has landed", number)
	p, _, err := f.client.PullRequests.Get(ctx, f.o.Owner, f.o.Name, number)
	if err != nil {
		return failure(ctx, doing, err)
	}
	if p.GetMerged() {
		return nil
	}
	if !slices.ContainsFunc(p.Labels, func(l *github.Label) bool { return l.GetName() == how.Label }) {
		if how.Issues {
			if err := f.closeIssues(ctx, p); err != nil {
				return err
			}
		}
		if _, _, err := f.client.Issues.AddLabelsToIssue(ctx, f.o.Owner, f.o.Name, number, []string{how.Label}); err != nil {
			return failure(ctx, doing, err)
		}
	}
	if p.GetState() != "open" {
		return nil
	}
	closed := "closed"
	_, _, err = f.client.PullRequests.Edit(ctx, f.o.Owner, f.o.Name, number, &github.PullRequest{State: &closed})
	return failure(ctx, doing, err)
}

// closeIssues closes the open issues that the merge of a pull request would have closed.
// Issues that we may not close, or that do not exist, are left to people.
func (f *Forge) closeIssues(ctx context.Context, p *github.PullRequest) error {
	for _, n := range closing(p.GetBody(), f.o.Owner+"/"+f.o.Name, p.GetBase().GetRepo().GetHTMLURL()) {
		doing := fmt.Sprintf("close issue %d, as pull request %d says", n, p.GetNumber())
		issue, _, err := f.client.Issues.Get(ctx, f.o.Owner, f.o.Name, n)
		if err == nil && (issue.GetNumber() != n || issue.IsPullRequest() || issue.GetState() != "open") {
			continue // moved elsewhere, or a merge would not close it
		}
		if err == nil {
			state, reason := "closed", "completed"
			_, _, err = f.client.Issues.Edit(ctx, f.o.Owner, f.o.Name, n, &github.IssueRequest{State: &state, StateReason: &reason})
		}
		if err = failure(ctx, doing, err); err == nil {
			continue
		}
		passing := (*forge.Transient)(nil)
		if errors.As(err, &passing) || ctx.Err() != nil {
			return err
		}
		f.log.Warn("an issue that a landed pull request closes could not be closed", "pull", p.GetNumber(), "issue", n, "error", err)
	}
	return nil
}

// House reads the repository.
func (f *Forge) House(ctx context.Context) (forge.House, error) {
	r, _, err := f.client.Repositories.Get(ctx, f.o.Owner, f.o.Name)
	if err != nil {
		return forge.House{}, failure(ctx, "read the repository", err)
	}
	return forge.House{Default: r.GetDefaultBranch(), Delete: r.GetDeleteBranchOnMerge()}, nil
}
