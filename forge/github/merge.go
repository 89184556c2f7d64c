package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
)

// baseModified is GitHub's answer, with 405, while it has not seen yet where the base is
// by now; the next try may succeed. GitHub answers the same code for a conflict and for
// every rule (github.com/cli/cli/issues/8092; quipper/monorepo-deploy-actions, pull
// request 499; NixOS/nixpkgs-merge-bot, issue 179).
const baseModified = "Base branch was modified"

// SquashPull implements forge.Merger by "Merge a pull request". GitHub looks at the head
// that it is given, not at the base.
func (f *Forge) SquashPull(ctx context.Context, m forge.PullMerge) error {
	defer f.lock(fmt.Sprintf("pull/%d", m.Number))()
	doing := fmt.Sprintf("merge pull request %d", m.Number)
	p, _, err := f.client.PullRequests.Get(ctx, f.o.Owner, f.o.Name, m.Number)
	if err != nil {
		return failure(ctx, doing, err)
	}
	switch {
	case p.GetState() != "open":
		return &forge.Declined{Reason: "the pull request is not open"}
	case p.GetBase().GetRef() != m.Base:
		return &forge.Declined{Reason: "the pull request asks for another branch"}
	case p.GetHead().GetSHA() != string(m.Head):
		return &forge.Declined{Reason: "the pull request has another head"}
	}
	title, rest, _ := strings.Cut(m.Message, "\n")
	done, _, err := f.merges.PullRequests.Merge(ctx, f.o.Owner, f.o.Name, m.Number, strings.Trim(rest, "\n"), &github.PullRequestOptions{
		CommitTitle: title, SHA: string(m.Head), MergeMethod: "squash", DontDefaultIfBlank: true})
	var answer *github.ErrorResponse
	switch {
	case err == nil && !done.GetMerged():
		return &forge.Declined{Reason: done.GetMessage()}
	case !errors.As(err, &answer) || answer.Response == nil:
		return failure(ctx, doing, err)
	}
	switch answer.Response.StatusCode {
	case http.StatusMethodNotAllowed:
		if strings.Contains(answer.Message, baseModified) {
			return &forge.Transient{Err: fmt.Errorf("github: %s: %w", doing, err), After: time.Second}
		}
		return &forge.Declined{Reason: answer.Message}
	case http.StatusConflict, http.StatusUnprocessableEntity:
		return &forge.Declined{Reason: answer.Message}
	}
	return failure(ctx, doing, err)
}
