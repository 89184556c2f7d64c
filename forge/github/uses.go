package github

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
)

// usesPart is the part of the query for each branch. The pull requests of a branch are
// found through the branch itself: by its name, those of forks would come as well. Rules
// and the list of protected branches tell its protection: refUpdateRule and
// branchProtectionRule are null for some callers that may bypass them.
const usesPart = `
    at%[1]d: ref(qualifiedName: $ref%[1]d) { rules(first: 1) { totalCount } associatedPullRequests(first: 100, states: [OPEN]) { nodes { number } } }
    into%[1]d: pullRequests(first: 100, states: [OPEN], baseRefName: $branch%[1]d) { nodes { number } }`

// usesAtOnce is how many branches are asked for in one request.
const usesAtOnce = 25

type numbered struct {
	Nodes []struct {
		Number int `json:"number"`
	} `json:"nodes"`
}

func (l numbered) numbers() (out []int) {
	for _, n := range l.Nodes {
		out = append(out, n.Number)
	}
	return out
}

// Uses reads branches in two requests for up to 25 of them.
func (f *Forge) Uses(ctx context.Context, branches []string) ([]forge.BranchUse, error) {
	if len(branches) == 0 {
		return nil, nil
	}
	out := make([]forge.BranchUse, 0, len(branches))
	for from := 0; from < len(branches); from += usesAtOnce {
		some, err := f.someUses(ctx, branches[from:min(from+usesAtOnce, len(branches))])
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	protected, whole, err := f.protectedBranches(ctx)
	if err != nil {
		return nil, failure(ctx, "list the protected branches", err)
	}
	for i := range out {
		switch {
		case out[i].Gone:
		case whole:
			out[i].Protected = out[i].Protected || protected[branches[i]]
		default: // where nearly everything is protected, the list is no help
			p, err := f.Protection(ctx, branches[i])
			if err != nil {
				return nil, err
			}
			out[i].Protected = out[i].Protected || p.Protected
		}
	}
	return out, nil
}

func (f *Forge) someUses(ctx context.Context, branches []string) ([]forge.BranchUse, error) {
	owner, name, _ := strings.Cut(f.mover.place(), "/")
	variables := map[string]any{"owner": owner, "name": name}
	var declared, parts strings.Builder
	for i, b := range branches {
		fmt.Fprintf(&declared, ", $ref%[1]d: String!, $branch%[1]d: String!", i)
		fmt.Fprintf(&parts, usesPart, i)
		variables[fmt.Sprintf("ref%d", i)], variables[fmt.Sprintf("branch%d", i)] = "refs/heads/"+b, b
	}
	query := "query Uses($owner: String!, $name: String!" + declared.String() + ") {\n  repository(owner: $owner, name: $name) {" + parts.String() + "\n  }\n}"
	var reply struct {
		Repository map[string]*struct {
			numbered
			Rules *struct {
				Total int `json:"totalCount"`
			} `json:"rules"`
			Pulls numbered `json:"associatedPullRequests"`
		} `json:"repository"`
	}
	if err := f.graphQL(ctx, query, variables, &reply); err != nil {
		return nil, failure(ctx, "read what branches are used for", err)
	}
	out := make([]forge.BranchUse, len(branches))
	for i := range branches {
		at, into := reply.Repository[fmt.Sprintf("at%d", i)], reply.Repository[fmt.Sprintf("into%d", i)]
		if into == nil {
			return nil, fmt.Errorf("github: read what branches are used for: the answer leaves some out")
		}
		out[i] = forge.BranchUse{Gone: at == nil, Into: into.numbers()}
		if at != nil {
			out[i].From, out[i].Protected = at.Pulls.numbers(), at.Rules != nil && at.Rules.Total > 0
		}
	}
	return out, nil
}

// protectedBranches lists the branches that branch protection or rulesets protect; whole
// is false if there is more than a page of them.
func (f *Forge) protectedBranches(ctx context.Context) (names map[string]bool, whole bool, err error) {
	query := url.Values{"protected": {"true"}, "per_page": {"100"}}
	var list []struct {
		Name string `json:"name"`
	}
	resp, err := f.get(ctx, "branches?"+query.Encode(), &list)
	if err != nil {
		return nil, false, err
	}
	names = map[string]bool{}
	for _, b := range list {
		names[b.Name] = true
	}
	return names, resp.NextPage == 0, nil
}
