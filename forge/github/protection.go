package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
)

// Protection reads classic protection and rulesets. A rule that we may not read is
// taken as allowing us to push, and Rule then carries a note of it although
// MayPush is true. Required checks do not refuse us: the queue can meet them.
//
// Protection is kept for some minutes: Protection is called at each move of main, and if
// the rules have changed since, the push itself fails with the reason.
func (f *Forge) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	if kept, ok := recall(f, f.protected, branch); ok && time.Since(kept.at) < protectedFor {
		return kept.Protection, nil
	}
	p, err := f.protection(ctx, branch)
	if err != nil {
		forget(f, f.protected, branch)
		return p, err
	}
	remember(f, f.protected, branch, keptProtection{p, time.Now()})
	return p, nil
}

// protectedFor is how long a branch's protection is kept before it is read again.
const protectedFor = 5 * time.Minute

type keptProtection struct {
	forge.Protection
	at time.Time
}

func (f *Forge) protection(ctx context.Context, branch string) (forge.Protection, error) {
	doing := "read the protection of " + branch
	// GetBranch of go-github v60 loses what kind of failure it met.
	var b struct {
		Protected  bool `json:"protected"`
		Protection struct {
			Enabled bool `json:"enabled"` // classic protection, not rulesets
		} `json:"protection"`
	}
	if _, err := f.get(ctx, "branches/"+url.PathEscape(branch), &b); err != nil {
		return forge.Protection{}, failure(ctx, doing, err)
	}
	slug, err := f.appSlug(ctx)
	if err != nil {
		return forge.Protection{}, failure(ctx, doing, err)
	}
	out := forge.Protection{Protected: b.Protected, MayPush: true}
	var refusals, notes []string

	classic, _, err := f.client.Repositories.GetBranchProtection(ctx, f.o.Owner, f.o.Name, branch)
	switch err := failure(ctx, doing, err); {
	case err == nil:
		out.Protected = true
		refusals = append(refusals, classicRefusals(classic, slug)...)
	case errors.Is(err, github.ErrBranchNotProtected), errors.Is(err, forge.ErrNotFound):
	case errors.Is(err, forge.ErrForbidden):
		if b.Protection.Enabled {
			notes = append(notes, "branch protection could not be read (the App lacks administration: read)")
		}
	default:
		return forge.Protection{}, err
	}

	rules, err := f.rules(ctx, branch)
	if err != nil && !errors.Is(err, forge.ErrNotFound) { // servers before rulesets
		return forge.Protection{}, failure(ctx, doing, err)
	}
	out.Protected = out.Protected || len(rules) > 0
	for _, r := range rules {
		words, refuses := refusingRules[r.Type]
		if !refuses {
			continue
		}
		switch may, err := f.mayBypass(ctx, r.Ruleset); {
		case err != nil:
			return forge.Protection{}, failure(ctx, doing, err)
		case may == bypassNo:
			refusals = append(refusals, fmt.Sprintf("ruleset %s: %s", r.Ruleset, words))
		case may == bypassUnknown:
			notes = append(notes, fmt.Sprintf("ruleset %s says: %s; whether the App may bypass it could not be read", r.Ruleset, words))
		}
	}
	if len(refusals) > 0 {
		out.MayPush, notes = false, refusals
	}
	out.Rule = strings.Join(notes, "; ")
	return out, nil
}

// refusingRules are the rules that refuse every push, in GitHub's words.
var refusingRules = map[string]string{
	"update":       "Cannot update this protected ref.",
	"pull_request": "Changes must be made through a pull request.",
	"merge_queue":  "Changes must be made through the merge queue",
}

func classicRefusals(p *github.Protection, slug string) []string {
	ours := func(a *github.App) bool { return a.GetSlug() == slug }
	var list []string
	if p.LockBranch != nil && p.LockBranch.GetEnabled() {
		list = append(list, "Cannot change this locked branch")
	}
	if r := p.Restrictions; r != nil && !slices.ContainsFunc(r.Apps, ours) {
		list = append(list, "You're not authorized to push to this branch.")
	}
	if r := p.RequiredPullRequestReviews; r != nil {
		if by := r.BypassPullRequestAllowances; by == nil || !slices.ContainsFunc(by.Apps, ours) {
			list = append(list, "Changes must be made through a pull request.")
		}
	}
	return list
}

// rule has the members that we use of a ruleset's rule. go-github v60 fails on a
// list with a type that it does not know, so this is decoded here.
type rule struct {
	Type    string      `json:"type"`
	Ruleset json.Number `json:"ruleset_id"`
}

func (f *Forge) rules(ctx context.Context, branch string) ([]rule, error) {
	var all []rule
	for page := 1; page != 0; {
		var list []rule
		resp, err := f.get(ctx, fmt.Sprintf("rules/branches/%s?per_page=100&page=%d", url.PathEscape(branch), page), &list)
		if err != nil {
			return nil, failure(ctx, "read rules", err)
		}
		all, page = append(all, list...), resp.NextPage
	}
	return all, nil
}

type bypass int

const (
	bypassUnknown bypass = iota
	bypassNo
	bypassYes
)

func (f *Forge) mayBypass(ctx context.Context, ruleset json.Number) (bypass, error) {
	var in struct {
		Bypass string `json:"current_user_can_bypass"`
	}
	_, err := f.get(ctx, "rulesets/"+ruleset.String(), &in)
	err = failure(ctx, "read ruleset", err)
	switch {
	case errors.Is(err, forge.ErrNotFound), errors.Is(err, forge.ErrForbidden):
		return bypassUnknown, nil // an organization's ruleset
	case err != nil:
		return bypassUnknown, err
	case in.Bypass == "always", in.Bypass == "exempt":
		return bypassYes, nil
	case in.Bypass == "":
		return bypassUnknown, nil
	}
	return bypassNo, nil
}

// get reads an address below the repository's, for which go-github has no method.
func (f *Forge) get(ctx context.Context, path string, into any) (*github.Response, error) {
	req, err := f.client.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/%s", f.o.Owner, f.o.Name, path), nil)
	if err != nil {
		return nil, err
	}
	return f.client.Do(ctx, req, into)
}
