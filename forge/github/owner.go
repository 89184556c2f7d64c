package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-github/v60/github"
	"github.com/hmarr/codeowners"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// mostFiles is how many files of a pull request GitHub lists.
const mostFiles = 3000

// changed lists the paths that a pull request changes, with both names of a renamed
// file; more says that there are more than GitHub lists.
func (f *Forge) changed(ctx context.Context, number int) (paths []string, more bool, err error) {
	n := 0
	for page := 1; page != 0; {
		var list []struct {
			Name   string `json:"filename"`
			Former string `json:"previous_filename"`
		}
		resp, err := f.get(ctx, fmt.Sprintf("pulls/%d/files?per_page=100&page=%d", number, page), &list)
		if err != nil {
			return nil, false, failure(ctx, fmt.Sprintf("read the files of pull request %d", number), err)
		}
		for _, x := range list {
			if paths = append(paths, x.Name); x.Former != "" {
				paths = append(paths, x.Former)
			}
		}
		n, page = n+len(list), resp.NextPage
	}
	return paths, n >= mostFiles, nil
}

// matchesAny says whether one of the patterns matches a path. GitHub calls them fnmatch
// patterns, and reads them in part as .gitignore does. So a path that matches in either
// way is a match, and a pattern that excepts paths ("!") is left out.
func matchesAny(patterns []string, path string) bool {
	any := false
	for _, p := range patterns {
		if strings.HasPrefix(p, "!") {
			continue
		}
		any = true
		if fnmatch(strings.TrimPrefix(p, "/"), path) || ownedBy(p, path) {
			return true
		}
	}
	return !any
}

// fnmatch matches like fnmatch of C without flags: a star matches slashes too.
func fnmatch(pattern, path string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := doublestar.Match(flat(strings.ReplaceAll(pattern, "**", "*")), flat(path))
	return ok || err != nil
}

// ownedBy reads a pattern as CODEOWNERS does.
func ownedBy(pattern, path string) bool {
	rules, all := ownersOf(pattern + " @x")
	if len(rules) == 0 || !all {
		return true // the pattern has an unknown form
	}
	rule, err := rules.Match(path)
	return err != nil || rule != nil
}

// ownersOf reads CODEOWNERS, except lines with patterns that GitHub does not support,
// by its documentation. all is false if a line has another unknown form: it may still
// be a rule to GitHub.
func ownersOf(file string) (rules codeowners.Ruleset, all bool) {
	all = true
	for line := range strings.Lines(file) {
		pattern, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(pattern, "!") || strings.HasPrefix(pattern, "\\#") || !strings.HasPrefix(pattern, "#") && strings.ContainsAny(pattern, "[]") {
			continue
		}
		list, err := codeowners.ParseFile(strings.NewReader(line), codeowners.WithOwnerMatchers(ownerForms))
		rules, all = append(rules, list...), all && err == nil
	}
	return rules, all
}

// ownerForms are the forms of the library, except that an e-mail address may end in
// any name.
var ownerForms = []codeowners.OwnerMatcher{
	codeowners.OwnerMatchFunc(codeowners.MatchTeamOwner), codeowners.OwnerMatchFunc(codeowners.MatchUsernameOwner),
	codeowners.OwnerMatchFunc(func(s string) (codeowners.Owner, error) {
		if strings.Index(s, "@") < 1 {
			return codeowners.Owner{}, codeowners.ErrNoMatch
		}
		return codeowners.Owner{Value: s, Type: codeowners.EmailOwner}, nil
	}),
}

// ownerPlaces are the paths where CODEOWNERS may be; the first that exists counts.
var ownerPlaces = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}

// unmetOwners returns the requirement of missing approvals of code owners, by
// CODEOWNERS of the branch that the pull request lands on. One of the owners of each
// path must have approved.
func (f *Forge) unmetOwners(ctx context.Context, r forge.Requirements, v reviewed) ([]queue.Requirement, error) {
	var rules codeowners.Ruleset
	for _, name := range ownerPlaces {
		data, err := surveyor{f}.file(ctx, name, r.Branch)
		if errors.Is(err, forge.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all := false
		if rules, all = ownersOf(string(data)); !all {
			return []queue.Requirement{unjudgeable(doubt{"code owners", becauseLine})}, nil
		}
		break
	}
	if len(rules) == 0 {
		return nil, nil
	}
	files, more, err := f.changed(ctx, r.Number)
	if err != nil {
		return nil, err
	}
	if more {
		return []queue.Requirement{unjudgeable(doubt{"code owners", becauseFiles})}, nil
	}
	var missing []string
	known := map[*codeowners.Rule]bool{} // has one of its owners approved
	for _, path := range files {
		rule, err := rules.Match(path)
		if err != nil {
			return nil, err
		}
		if rule == nil || len(rule.Owners) == 0 {
			continue
		}
		met, asked := known[rule]
		if !asked {
			if !slices.ContainsFunc(rule.Owners, func(o codeowners.Owner) bool { return o.Type != codeowners.EmailOwner }) {
				return []queue.Requirement{unjudgeable(doubt{"code owners", becauseOwners})}, nil
			}
			met, err = f.owned(ctx, rule.Owners, v.by)
			if isForbidden(err) {
				return []queue.Requirement{unjudgeable(doubt{"code owners", becauseMembers})}, nil
			}
			if err != nil {
				return nil, err
			}
			known[rule] = met
		}
		if !met {
			missing = append(missing, path)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	return []queue.Requirement{{Kind: queue.RequireCodeOwners, Names: missing[:min(len(missing), 5)]}}, nil
}

// owned says whether one of the owners is among the approvers.
func (f *Forge) owned(ctx context.Context, owners []codeowners.Owner, by []string) (bool, error) {
	var teams []string
	for _, o := range owners {
		switch {
		case o.Type == codeowners.TeamOwner:
			teams = append(teams, o.Value)
		case slices.ContainsFunc(by, func(who string) bool { return strings.EqualFold(who, o.Value) }):
			return true, nil
		}
	}
	for _, team := range teams {
		for _, who := range by {
			if in, err := f.InTeam(ctx, team, who); in || err != nil {
				return in, err
			}
		}
	}
	return false, nil
}

// inTeam reports whether the membership at an address is active.
func (f *Forge) inTeam(ctx context.Context, path string) (bool, error) {
	req, err := f.client.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return false, err
	}
	var m github.Membership
	_, err = f.client.Do(ctx, req, &m)
	if isNotFound(err) {
		return false, nil
	}
	return m.GetState() == "active", failure(ctx, "read who is in a team", err)
}

// pusher returns the login of the account that pushed a head to a branch of this
// repository; "" where GitHub does not tell.
func (f *Forge) pusher(ctx context.Context, branch, head string) (string, error) {
	var list []struct {
		After string  `json:"after"`
		Actor account `json:"actor"`
	}
	_, err := f.get(ctx, "activity?per_page=100&ref="+url.QueryEscape("refs/heads/"+branch), &list)
	if err = failure(ctx, "read who pushed to "+branch, err); errors.Is(err, forge.ErrNotFound) || isForbidden(err) {
		return "", nil
	}
	for _, x := range list {
		if x.After == head {
			return x.Actor.Login, nil
		}
	}
	return "", err
}

func isForbidden(err error) bool { return errors.Is(err, forge.ErrForbidden) }
