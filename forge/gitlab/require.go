package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// GitLab's detailed_merge_status is the first of several reasons. These values say that
// GitLab is still working it out.
var unfinished = []string{"preparing", "checking", "unchecked", "cannot_be_merged_recheck", "cannot_be_merged_rechecking"}

// unmet does not pass these reasons on: the queue itself merges and looks at drafts, and
// unmet reads checks, approvals and threads.
var others = []string{"mergeable", "draft_status", "conflict", "need_rebase", "broken_status", "not_open", "commits_status",
	"ci_must_pass", "ci_still_running", "not_approved", "discussions_not_resolved"}

// lookAgain is the time between two looks at a merge status that GitLab is working
// out.
const lookAgain = 100 * time.Millisecond

// Unmet implements forge.Requirer. Requirements that can be read directly are read; for the
// others, GitLab says which are not met. A reason that this version does not know counts as not
// met.
func (f *Forge) Unmet(ctx context.Context, r forge.Requirements) (forge.Standing, error) {
	doing := fmt.Sprintf("read what merge request %d does not meet", r.Number)
	mr, id, err := f.checked(ctx, r.Number)
	if err != nil {
		return forge.Standing{}, failure(ctx, doing, err)
	}
	if mr.SHA != string(r.Head) {
		return forge.Standing{}, &forge.Transient{Err: fmt.Errorf("gitlab: %s: it is at %.12s by now", doing, mr.SHA)}
	}
	a, err := f.approvals(ctx, id, r.Number)
	if err != nil {
		return forge.Standing{}, failure(ctx, doing, err)
	}
	return f.unmet(ctx, id, mr, a, r)
}

// Stands implements forge.Stander.
func (f *Forge) Stands(ctx context.Context, r forge.Requirements) (forge.PullRequest, forge.Standing, error) {
	doing := fmt.Sprintf("read merge request %d and what it does not meet", r.Number)
	mr, id, err := f.checked(ctx, r.Number)
	if err != nil {
		return forge.PullRequest{}, forge.Standing{}, failure(ctx, doing, err)
	}
	out := pull(mr)
	if !out.Open {
		return out, forge.Standing{}, nil
	}
	a, err := f.approvals(ctx, id, r.Number)
	if err == nil {
		out.ApprovedBy, err = f.approved(ctx, id, mr, a)
	}
	if err != nil {
		return out, forge.Standing{}, vanished(failure(ctx, doing, err))
	}
	standing, err := f.unmet(ctx, id, mr, a, r)
	return out, standing, err
}

// unmet returns the requirements that a merge request with these approvals does not
// meet.
func (f *Forge) unmet(ctx context.Context, id int, mr *gitlab.MergeRequest, a approvals, r forge.Requirements) (forge.Standing, error) {
	doing := fmt.Sprintf("read what merge request %d does not meet", r.Number)
	switch {
	case slices.Contains(unfinished, mr.DetailedMergeStatus):
		return forge.Standing{}, &forge.Transient{Err: fmt.Errorf("gitlab: %s: GitLab is still working it out (%s)", doing, mr.DetailedMergeStatus), After: time.Second}
	case mr.DetailedMergeStatus == "approvals_syncing":
		return forge.Standing{}, &forge.Transient{Err: fmt.Errorf("gitlab: %s: GitLab is about to look at its approvals anew, since it was pushed to", doing), After: 10 * time.Second}
	}
	var out forge.Standing
	unmet := func(kind queue.RequirementKind, names ...string) {
		out.Unmet = append(out.Unmet, queue.Requirement{Kind: kind, Names: names})
	}
	p, err := f.settings(ctx)
	if err != nil {
		return out, failure(ctx, doing, err)
	}
	if err := f.syncing(ctx, id, mr, a); err != nil {
		return out, failure(ctx, doing, err)
	}
	failed, working, err := f.reasons(ctx, mr)
	if err != nil {
		return out, failure(ctx, doing, err)
	}
	if i := slices.IndexFunc(working, func(s string) bool { return s == "not_approved" || !slices.Contains(others, s) }); i >= 0 {
		return out, &forge.Transient{Err: fmt.Errorf("gitlab: %s: GitLab is still working out %s", doing, working[i]), After: time.Second}
	}
	if a.Left > 0 || slices.Contains(failed, "not_approved") {
		left := max(a.Left, 1)
		unmet(queue.RequireReviews, strconv.Itoa(len(a.By)), strconv.Itoa(max(a.Required, len(a.By)+left)))
	}
	if r.Resolved || p.OnlyAllowMergeIfAllDiscussionsAreResolved || slices.Contains(failed, "discussions_not_resolved") {
		open, paths, err := f.threads(ctx, id, r.Number)
		if err != nil {
			return out, failure(ctx, doing, err)
		}
		if open > 0 {
			unmet(queue.RequireResolved, append([]string{strconv.Itoa(open)}, paths...)...)
		}
	}
	if r.Checks && p.OnlyAllowMergeIfPipelineSucceeds {
		waiting, failed, err := f.pipelineOf(ctx, id, mr, p.AllowMergeOnSkippedPipeline, r.Except)
		if err != nil {
			return out, failure(ctx, doing, err)
		}
		if len(waiting) > 0 {
			unmet(queue.RequireChecks, waiting...)
		}
		if len(failed) > 0 {
			unmet(queue.RequireChecksPassed, failed...)
		}
	}
	for _, reason := range failed {
		switch reason {
		case "requested_changes":
			unmet(queue.RequireNoChanges)
		case "merge_request_blocked", "blocked_status":
			list, err := f.blockers(ctx, id, r.Number)
			if err != nil {
				return out, failure(ctx, doing, err)
			}
			out.Unmet = append(out.Unmet, list...)
		case "status_checks_must_pass", "external_status_checks":
			waiting, failed, err := f.external(ctx, id, r.Number)
			if err != nil {
				return out, failure(ctx, doing, err)
			}
			if len(waiting) > 0 {
				unmet(queue.RequireChecks, waiting...)
			}
			if len(failed) > 0 {
				unmet(queue.RequireChecksPassed, failed...)
			}
		default:
			if !slices.Contains(others, reason) {
				unmet(queue.RequireJudged, "GitLab: "+reason, queue.UnjudgedNewer)
			}
		}
	}
	return out, nil
}

// settingsFor is how long the settings of a project, which say what a merge request
// must meet, are kept before they are read again.
const settingsFor = time.Minute

// settings returns the project, and reads it if settingsFor has passed.
func (f *Forge) settings(ctx context.Context) (*gitlab.Project, error) {
	f.mu.Lock()
	p, at := f.read, f.readAt
	f.mu.Unlock()
	if p != nil && time.Since(at) < settingsFor {
		return p, nil
	}
	return f.readProject(ctx, 0)
}

// checked reads a merge request, again while GitLab works out its merge status, for as long
// as Patience.
func (f *Forge) checked(ctx context.Context, number int) (*gitlab.MergeRequest, int, error) {
	for end := time.Now().Add(f.o.Patience); ; {
		mr, id, err := f.get(ctx, number)
		if err != nil || !slices.Contains(unfinished, mr.DetailedMergeStatus) || time.Now().After(end) {
			return mr, id, err
		}
		select {
		case <-ctx.Done():
			return nil, id, ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// threads counts the open threads of a merge request, and names the paths of some.
func (f *Forge) threads(ctx context.Context, id, number int) (open int, paths []string, err error) {
	o := &gitlab.ListMergeRequestDiscussionsOptions{}
	err = all(func(page gitlab.ListOptions) ([]*gitlab.Discussion, *gitlab.Response, error) {
		*o = gitlab.ListMergeRequestDiscussionsOptions(page)
		return f.client.Discussions.ListMergeRequestDiscussions(id, number, o, gitlab.WithContext(ctx))
	}, func(d *gitlab.Discussion) bool {
		at := slices.IndexFunc(d.Notes, func(n *gitlab.Note) bool { return n.Resolvable && !n.Resolved })
		if d.IndividualNote || at < 0 {
			return true
		}
		open++
		if pos := d.Notes[at].Position; pos != nil && pos.NewPath != "" && len(paths) < 5 && !slices.Contains(paths, pos.NewPath) {
			paths = append(paths, pos.NewPath)
		}
		return true
	})
	return open, paths, err
}

// ofHead reports whether the head pipeline of a merge request is of its present head: of that
// commit or, where the project tests merged results, of its merge with the target branch
// (matches_sha_or_source_sha? in app/models/ci/pipeline.rb; the REST interface does not tell
// source_sha). GitLab keeps such a merge; its second parent is the head.
func (f *Forge) ofHead(ctx context.Context, id int, mr *gitlab.MergeRequest) (bool, error) {
	h := mr.HeadPipeline
	switch {
	case h == nil:
		return false, nil
	case h.SHA == mr.SHA:
		return true, nil
	case h.Ref != fmt.Sprintf("refs/merge-requests/%d/merge", mr.IID):
		return false, nil // of an earlier head
	}
	c, _, err := f.client.Commits.GetCommit(id, h.SHA, nil, gitlab.WithContext(ctx))
	if errors.Is(err, gitlab.ErrNotFound) {
		return false, nil
	}
	return err == nil && len(c.ParentIDs) == 2 && c.ParentIDs[1] == mr.SHA, err
}

// pipelineOf judges the head pipeline of a merge request by its jobs, except our own:
// it returns the jobs that wait or have failed.
func (f *Forge) pipelineOf(ctx context.Context, id int, mr *gitlab.MergeRequest, skipped bool, except []string) (waiting, failed []string, err error) {
	h := mr.HeadPipeline
	ofHead, err := f.ofHead(ctx, id, mr)
	switch {
	case err != nil:
		return nil, nil, err
	case !ofHead || h.Ref == StatusRef:
		return []string{"pipeline"}, nil, nil
	case h.Status == "skipped" && skipped:
		return nil, nil, nil
	}
	at := cmp.Or(h.ProjectID, id) // the branch of a fork is tested in the fork
	jobs, err := f.jobs(ctx, at, h.ID)
	if at != id && (errors.Is(err, gitlab.ErrNotFound) || status(err) == http.StatusForbidden) {
		jobs, err = nil, nil // they are hidden from us: the state of the whole pipeline tells
	}
	if err != nil {
		return nil, nil, err
	}
	for _, j := range jobs {
		if slices.Contains(except, j.Name) {
			continue
		}
		switch state := jobState(j); {
		case !state.Ended():
			waiting = append(waiting, j.Name)
		case state == forge.CIFailed || state == forge.CITimeout, state == forge.CINone && (j.Status == "canceled" || j.Status == "failed"):
			failed = append(failed, j.Name)
		}
	}
	if len(jobs) == 0 && h.Status != "success" { // its YAML is broken, or its jobs are not made yet
		if over(h.Status) {
			return nil, []string{"pipeline"}, nil
		}
		return []string{"pipeline"}, nil, nil
	}
	return waiting, failed, nil
}
