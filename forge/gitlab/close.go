package gitlab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
)

// Close implements forge.Closer: the label is set before the merge request is closed, and
// after its issues are closed, so that they are closed only once.
func (f *Forge) Close(ctx context.Context, number int, how forge.Closing) error {
	defer f.lock(fmt.Sprint("close ", number))()
	doing := fmt.Sprintf("close merge request %d, which has landed", number)
	mr, id, err := f.get(ctx, number)
	if err != nil || mr.State == "merged" {
		return failure(ctx, doing, err)
	}
	if !slices.Contains(mr.Labels, how.Label) {
		if how.Issues {
			if err := f.closeIssues(ctx, id, number); err != nil {
				return err
			}
		}
		_, _, err = f.client.MergeRequests.UpdateMergeRequest(id, number, &gitlab.UpdateMergeRequestOptions{AddLabels: &gitlab.LabelOptions{how.Label}}, gitlab.WithContext(ctx))
		if err != nil {
			return failure(ctx, doing, err)
		}
	}
	if mr.State != "opened" {
		return nil
	}
	_, _, err = f.client.MergeRequests.UpdateMergeRequest(id, number, &gitlab.UpdateMergeRequestOptions{StateEvent: gitlab.Ptr("close")}, gitlab.WithContext(ctx))
	return failure(ctx, doing, err)
}

// closeIssues closes the issues of this project that GitLab would have closed with the
// merge. Issues that we may not close are left to people.
func (f *Forge) closeIssues(ctx context.Context, id, number int) error {
	o := &gitlab.GetIssuesClosedOnMergeOptions{}
	var list []*gitlab.Issue
	err := all(func(page gitlab.ListOptions) ([]*gitlab.Issue, *gitlab.Response, error) {
		*o = gitlab.GetIssuesClosedOnMergeOptions(page)
		return f.client.MergeRequests.GetIssuesClosedOnMerge(id, number, o, gitlab.WithContext(ctx))
	}, func(i *gitlab.Issue) bool { list = append(list, i); return true })
	if err != nil {
		return failure(ctx, fmt.Sprintf("list the issues that merge request %d closes", number), err)
	}
	for _, i := range list {
		if i.ProjectID != id || i.State != "opened" {
			continue
		}
		_, _, err := f.client.Issues.UpdateIssue(id, i.IID, &gitlab.UpdateIssueOptions{StateEvent: gitlab.Ptr("close")}, gitlab.WithContext(ctx))
		err = failure(ctx, fmt.Sprintf("close issue %d, as merge request %d says", i.IID, number), err)
		passing := (*forge.Transient)(nil)
		if errors.As(err, &passing) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			f.log.Warn("an issue that a landed merge request closes could not be closed", "pull", number, "issue", i.IID, "error", err)
		}
	}
	return nil
}

// House implements forge.Closer.
func (f *Forge) House(ctx context.Context) (forge.House, error) {
	p, err := f.readProject(ctx, 0)
	if err != nil {
		return forge.House{}, failure(ctx, "read the project", err)
	}
	return forge.House{Default: p.DefaultBranch, Delete: p.RemoveSourceBranchAfterMerge}, nil
}

// Uses implements forge.Closer.
func (f *Forge) Uses(ctx context.Context, branches []string) (out []forge.BranchUse, err error) {
	for _, name := range branches {
		doing := "read what branch " + name + " is used for"
		use := forge.BranchUse{}
		b, err := f.branch(ctx, name)
		switch {
		case errors.Is(err, gitlab.ErrNotFound):
			use.Gone = true
		case err != nil:
			return nil, failure(ctx, doing, err)
		default:
			use.Protected = b.Protected
			from, err := f.OpenFrom(ctx, name)
			if err != nil {
				return nil, err
			}
			use.From = numbers(from)
		}
		into, err := f.OpenOn(ctx, name)
		if err != nil {
			return nil, err
		}
		use.Into = numbers(into)
		out = append(out, use)
	}
	return out, nil
}

// numbers returns the numbers of the first hundred.
func numbers(list []forge.PullRequest) (out []int) {
	for _, p := range list[:min(len(list), hundred)] {
		out = append(out, p.Number)
	}
	return out
}
