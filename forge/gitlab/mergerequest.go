package gitlab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// Mark is the sign that GitLab writes before the number of a merge request: "#" is
// for issues.
const Mark = "!"

// get reads a merge request, and returns the number of the project, too.
func (f *Forge) get(ctx context.Context, number int) (*gitlab.MergeRequest, int, error) {
	if number <= 0 {
		return nil, 0, gitlab.ErrNotFound
	}
	id, err := f.project(ctx)
	if err != nil {
		return nil, 0, err
	}
	mr, _, err := f.client.MergeRequests.GetMergeRequest(id, number, nil, gitlab.WithContext(ctx))
	return mr, id, err
}

// PullRequest reads a merge request and the approvals of its head.
func (f *Forge) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	doing := fmt.Sprintf("read merge request %d", number)
	mr, id, err := f.get(ctx, number)
	if err != nil {
		return forge.PullRequest{}, failure(ctx, doing, err)
	}
	out := pull(mr)
	if out.Open {
		a, err := f.approvals(ctx, id, number)
		if err == nil {
			out.ApprovedBy, err = f.approved(ctx, id, mr, a)
		}
		if err != nil {
			return forge.PullRequest{}, vanished(failure(ctx, doing, err))
		}
	}
	return out, nil
}

// vanished returns the error for a merge request that exists although its approvals are
// not found.
func vanished(err error) error {
	if errors.Is(err, forge.ErrNotFound) {
		return &forge.Transient{Err: fmt.Errorf("it is there, and something of it is not: %s", err.Error())}
	}
	return err
}

// pull makes a PullRequest of a merge request, without its approvals. Its head is that of
// the stored diff: the branch may be further.
func pull(mr *gitlab.MergeRequest) forge.PullRequest {
	out := forge.PullRequest{
		Number: mr.IID, Title: mr.Title, Body: mr.Description, Source: mr.SourceBranch, Base: mr.TargetBranch, Head: queue.CommitID(mr.SHA),
		HeadRef: fmt.Sprintf("refs/merge-requests/%d/head", mr.IID), Fork: mr.SourceProjectID != mr.TargetProjectID,
		Draft: mr.Draft || mr.WorkInProgress, Open: mr.State == "opened" || mr.State == "locked", Merged: mr.State == "merged",
		Labels: slices.Clone(mr.Labels), URL: mr.WebURL,
	}
	if mr.Author != nil {
		out.Author = mr.Author.Username
	}
	revert, plan := queue.IsRevert(mr.Title, mr.Description), queue.HasPlan(mr.Description)
	out.Facets.Revert, out.Facets.Plan = &revert, &plan
	if mr.UpdatedAt != nil {
		out.Changed = queue.At(*mr.UpdatedAt)
	}
	if mr.CreatedAt != nil {
		out.Facets.Opened = queue.At(*mr.CreatedAt)
	}
	return out
}

// OpenOn implements forge.Lister.
func (f *Forge) OpenOn(ctx context.Context, branch string) ([]forge.PullRequest, error) {
	list, err := f.open(ctx, &gitlab.ListProjectMergeRequestsOptions{TargetBranch: &branch})
	return pulls(list), failure(ctx, "list the merge requests for "+branch, err)
}

// OpenFrom implements forge.Stacker.
func (f *Forge) OpenFrom(ctx context.Context, branch string) ([]forge.PullRequest, error) {
	list, err := f.open(ctx, &gitlab.ListProjectMergeRequestsOptions{SourceBranch: &branch})
	list = slices.DeleteFunc(list, func(mr *gitlab.MergeRequest) bool { return mr.SourceProjectID != mr.TargetProjectID })
	return pulls(list), failure(ctx, "list the merge requests of "+branch, err)
}

// open lists open merge requests, by number.
func (f *Forge) open(ctx context.Context, o *gitlab.ListProjectMergeRequestsOptions) (list []*gitlab.MergeRequest, err error) {
	id, err := f.project(ctx)
	if err != nil {
		return nil, err
	}
	o.State, o.Scope = gitlab.Ptr("opened"), gitlab.Ptr("all")
	err = all(func(page gitlab.ListOptions) ([]*gitlab.MergeRequest, *gitlab.Response, error) {
		o.ListOptions = page
		return f.client.MergeRequests.ListProjectMergeRequests(id, o, gitlab.WithContext(ctx))
	}, func(mr *gitlab.MergeRequest) bool { list = append(list, mr); return true })
	slices.SortFunc(list, func(a, b *gitlab.MergeRequest) int { return a.IID - b.IID })
	return list, err
}

func pulls(list []*gitlab.MergeRequest) (out []forge.PullRequest) {
	for _, mr := range list {
		out = append(out, pull(mr))
	}
	return out
}

// Retarget implements forge.Stacker.
func (f *Forge) Retarget(ctx context.Context, number int, base string) error {
	doing := fmt.Sprintf("have merge request %d ask for %s", number, base)
	mr, id, err := f.get(ctx, number)
	if err != nil || mr.State != "opened" || mr.TargetBranch == base {
		return failure(ctx, doing, err)
	}
	_, _, err = f.client.MergeRequests.UpdateMergeRequest(id, number, &gitlab.UpdateMergeRequestOptions{TargetBranch: &base}, gitlab.WithContext(ctx))
	return failure(ctx, doing, err)
}
