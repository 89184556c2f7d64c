package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// pullCondition has the fields that void a pull request's inspection when changed.
type pullCondition struct {
	base  string
	draft bool
}

// PullRequest reads a pull request and the reviews of its head.
func (f *Forge) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	doing := fmt.Sprintf("read pull request %d", number)
	p, err := f.stackedPull(ctx, number)
	if err != nil {
		return forge.PullRequest{}, failure(ctx, doing, err)
	}
	out := forge.PullRequest{
		Number:  number,
		Title:   p.GetTitle(),
		Body:    p.GetBody(),
		Author:  p.GetUser().GetLogin(),
		Source:  p.GetHead().GetRef(),
		Head:    queue.CommitID(p.GetHead().GetSHA()),
		HeadRef: fmt.Sprintf("refs/pull/%d/head", number),
		Base:    p.GetBase().GetRef(),
		// The repository of a head is missing when the fork was deleted.
		Fork:   p.GetHead().GetRepo().GetID() != p.GetBase().GetRepo().GetID(),
		Draft:  p.GetDraft(),
		Open:   p.GetState() == "open",
		Merged: p.GetMerged(),
		URL:    p.GetHTMLURL(),
		Stack:  p.stack(),

		Changed: instantOf(p.GetUpdatedAt().Time),
		Facets: facets(p.GetTitle(), p.GetBody(), queue.Facets{
			Opened: instantOf(p.GetCreatedAt().Time), Commits: p.Commits, Files: p.ChangedFiles, Added: p.Additions, Removed: p.Deletions,
		}),
	}
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	if out.ApprovedBy, err = f.approvals(ctx, number, out.Head); err != nil {
		if err = failure(ctx, doing, err); errors.Is(err, forge.ErrNotFound) {
			err = &forge.Transient{Err: fmt.Errorf("%s: it is there, its reviews are not", doing)}
		}
		return forge.PullRequest{}, err
	}
	if out.Open {
		remember(f, f.inspects, number, pullCondition{out.Base, out.Draft})
	} else {
		forget(f, f.inspects, number)
	}
	return out, nil
}

// facets completes the facets from the title and body of a pull request.
func facets(title, body string, f queue.Facets) queue.Facets {
	revert, plan := queue.IsRevert(title, body), queue.HasPlan(body)
	f.Revert, f.Plan = &revert, &plan
	return f
}

func instantOf(at time.Time) queue.Instant {
	if at.IsZero() {
		return 0
	}
	return queue.At(at)
}

// approvals lists the users with an approval of this head as their last verdict.
func (f *Forge) approvals(ctx context.Context, number int, head queue.CommitID) ([]string, error) {
	approved := map[string]bool{}
	opts := &github.ListOptions{PerPage: 100}
	for {
		reviews, resp, err := f.client.PullRequests.ListReviews(ctx, f.o.Owner, f.o.Name, number, opts)
		if err != nil {
			return nil, err
		}
		for _, r := range reviews { // oldest first
			switch r.GetState() {
			case "APPROVED":
				approved[r.GetUser().GetLogin()] = r.GetCommitID() == string(head)
			case "CHANGES_REQUESTED", "DISMISSED":
				approved[r.GetUser().GetLogin()] = false
			}
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			break
		}
	}
	maps.DeleteFunc(approved, func(login string, yes bool) bool { return !yes || login == "" })
	return slices.Sorted(maps.Keys(approved)), nil
}

// login matches the names that GitHub gives to users, Apps and organizations; no other
// name is put into an address.
var login = regexp.MustCompile(`^[A-Za-z0-9_-]+(\[bot\])?$`)

// Permission reads what a user may do with the repository.
func (f *Forge) Permission(ctx context.Context, user string) (forge.Permission, error) {
	if !login.MatchString(user) {
		return forge.PermissionNone, nil
	}
	level, _, err := f.client.Repositories.GetPermissionLevel(ctx, f.o.Owner, f.o.Name, user)
	if err != nil {
		err = failure(ctx, "read the permission of "+user, err)
		if errors.Is(err, forge.ErrNotFound) {
			return forge.PermissionNone, nil
		}
		return forge.PermissionNone, err
	}
	// The older field knows no triage and no maintain. A custom role of the
	// organization has a name that we do not know; then the older field tells the level
	// that it has at least.
	for _, name := range []string{level.GetUser().GetRoleName(), level.GetPermission()} {
		for p := forge.PermissionNone; p <= forge.PermissionAdmin; p++ {
			if p.String() == name {
				return p, nil
			}
		}
	}
	return forge.PermissionNone, nil
}
