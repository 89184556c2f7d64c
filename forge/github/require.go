package github

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

var _ forge.Requirer = (*Forge)(nil)

// unmetQuery reads in one request the facts of five REST calls. GitHub itself works out
// the review decision, with code owners, stale reviews and the last pusher, where it
// tells one (see unmetReviews). refUpdateRule is the part of classic protection that
// everybody may read, and is null for some callers that may bypass it.
const unmetQuery = `query Unmet($owner: String!, $name: String!, $number: Int!, $branch: String!, $checks: Boolean!, $threads: Boolean!, $whole: Boolean!, $checksFrom: String, $threadsFrom: String) {
  repository(owner: $owner, name: $name) {
    ref(qualifiedName: $branch) {
      refUpdateRule { requiredApprovingReviewCount requiredStatusCheckContexts requiresCodeOwnerReviews requiresConversationResolution }
    }
    pullRequest(number: $number) {
      headRefOid headRefName isCrossRepository
      ... @include(if: $whole) {
        title body url state merged isDraft baseRefName
        author { __typename login }
        labels(first: 100) { nodes { name } }
        createdAt updatedAt additions deletions changedFiles
        own: commits { totalCount }
      }
      reviewDecision
      made: commits(last: 100) { totalCount nodes { commit { author { user { login } } committer { user { login } } } } }
      latestOpinionatedReviews(first: 100, writersOnly: true) { nodes { state author { login } commit { oid } } }
      reviewThreads(first: 100, after: $threadsFrom) @include(if: $threads) { pageInfo { hasNextPage endCursor } nodes { isResolved path } }
      commits(last: 1) @include(if: $checks) {
        nodes { commit { oid statusCheckRollup { contexts(first: 100, after: $checksFrom) {
          pageInfo { hasNextPage endCursor }
          nodes {
            __typename
            ... on CheckRun { databaseId name status conclusion checkSuite { app { databaseId } } }
            ... on StatusContext { context state }
          }
        } } } }
      }
    }
  }
}`

type pageInfo struct {
	More bool   `json:"hasNextPage"`
	End  string `json:"endCursor"`
}

// unmetAnswer is the answer to unmetQuery.
type unmetAnswer struct {
	Repository struct {
		Ref *struct {
			Rule *openRule `json:"refUpdateRule"`
		} `json:"ref"`
		Pull *struct {
			Head string `json:"headRefOid"`
			wholePull
			Decision string `json:"reviewDecision"`
			Made     struct {
				Total int `json:"totalCount"`
				Nodes []struct {
					Commit madeCommit `json:"commit"`
				} `json:"nodes"`
			} `json:"made"`
			Reviews struct {
				Nodes []opinion `json:"nodes"`
			} `json:"latestOpinionatedReviews"`
			Threads struct {
				Page  pageInfo `json:"pageInfo"`
				Nodes []struct {
					Resolved bool   `json:"isResolved"`
					Path     string `json:"path"`
				} `json:"nodes"`
			} `json:"reviewThreads"`
			Commits struct {
				Nodes []struct {
					Commit struct {
						OID    string `json:"oid"`
						Rollup *struct {
							Contexts struct {
								Page  pageInfo    `json:"pageInfo"`
								Nodes []ranOnHead `json:"nodes"`
							} `json:"contexts"`
						} `json:"statusCheckRollup"`
					} `json:"commit"`
				} `json:"nodes"`
			} `json:"commits"`
		} `json:"pullRequest"`
	} `json:"repository"`
}

// openRule is the part of classic protection that everybody may read.
type openRule struct {
	Approvals  int      `json:"requiredApprovingReviewCount"`
	Checks     []string `json:"requiredStatusCheckContexts"`
	CodeOwners bool     `json:"requiresCodeOwnerReviews"`
	Resolved   bool     `json:"requiresConversationResolution"`
}

// rule returns nil where the branch has no classic protection, or GitHub does not
// show it.
func (a *unmetAnswer) rule() *openRule {
	if a.Repository.Ref == nil {
		return nil
	}
	return a.Repository.Ref.Rule
}

// opinion is the last review of a user with permission to write.
type opinion struct {
	State  string  `json:"state"`
	Author account `json:"author"`
	Commit struct {
		OID string `json:"oid"`
	} `json:"commit"`
}

// madeCommit has the author and the committer of a commit of a pull request.
type madeCommit struct {
	Author    signer `json:"author"`
	Committer signer `json:"committer"`
}

// signer is the author or the committer of a commit; without an account where GitHub
// knows none by the address.
type signer struct {
	User *account `json:"user"`
}

// wholePull has the fields of a pull request that REST tells.
type wholePull struct {
	Title  string `json:"title"`
	Body   string `json:"body"`
	URL    string `json:"url"`
	State  string `json:"state"`
	Merged bool   `json:"merged"`
	Draft  bool   `json:"isDraft"`
	Fork   bool   `json:"isCrossRepository"`
	Base   string `json:"baseRefName"`
	Source string `json:"headRefName"`
	Author struct {
		Kind  string `json:"__typename"`
		Login string `json:"login"`
	} `json:"author"`
	Labels struct {
		Nodes []struct {
			Name string `json:"name"`
		} `json:"nodes"`
	} `json:"labels"`
	Created time.Time `json:"createdAt"`
	Updated time.Time `json:"updatedAt"`
	Added   *int      `json:"additions"`
	Removed *int      `json:"deletions"`
	Files   *int      `json:"changedFiles"`
	Own     struct {
		Commits *int `json:"totalCount"`
	} `json:"own"`
}

// author is the author's login as REST writes it.
func (w *wholePull) author() string {
	if w.Author.Kind == "Bot" {
		return w.Author.Login + "[bot]"
	}
	return w.Author.Login
}

// ranOnHead is a check run or a status.
type ranOnHead struct {
	Kind       string `json:"__typename"`
	ID         int64  `json:"databaseId"` // of a check run
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	Suite      struct {
		App struct {
			ID int64 `json:"databaseId"`
		} `json:"app"`
	} `json:"checkSuite"`
	Context string `json:"context"`
	State   string `json:"state"`
}

// maxPages bounds the pages of checks and conversations that are read.
const maxPages = 20

// Unmet reads the rules of the branch, and how the pull request stands. GitHub's
// own word on merging is not read. "mergeable" is about a merge onto the branch as
// it is, it comes later and without paths, and we merge onto the changes that land
// before. "blocked" is also said while only our own check is missing, or the
// permission to push, which people do not have and the App has.
func (f *Forge) Unmet(ctx context.Context, r forge.Requirements) (forge.Standing, error) {
	_, standing, err := f.stands(ctx, r, false)
	return standing, err
}

// Stands reads in one request what PullRequest and Unmet read in three.
func (f *Forge) Stands(ctx context.Context, r forge.Requirements) (forge.PullRequest, forge.Standing, error) {
	reply, standing, err := f.stands(ctx, r, true)
	if err != nil {
		return forge.PullRequest{}, forge.Standing{}, err
	}
	p := reply.Repository.Pull
	out := forge.PullRequest{
		Number: r.Number, Title: p.Title, Body: p.Body, Author: p.author(), URL: p.URL,
		Source: p.Source, Head: queue.CommitID(p.Head), HeadRef: fmt.Sprintf("refs/pull/%d/head", r.Number),
		Base: p.Base, Fork: p.Fork, Draft: p.Draft, Open: p.State == "OPEN", Merged: p.Merged, Changed: instantOf(p.Updated),
		Facets: facets(p.Title, p.Body, queue.Facets{Opened: instantOf(p.Created), Commits: p.Own.Commits, Files: p.Files, Added: p.Added, Removed: p.Removed}),
	}
	for _, l := range p.Labels.Nodes {
		out.Labels = append(out.Labels, l.Name)
	}
	for _, v := range p.Reviews.Nodes {
		if v.State == "APPROVED" && v.Commit.OID == p.Head && v.Author.Login != "" {
			out.ApprovedBy = append(out.ApprovedBy, v.Author.Login)
		}
	}
	slices.Sort(out.ApprovedBy)
	if out.Open {
		remember(f, f.inspects, r.Number, pullCondition{out.Base, out.Draft})
	} else {
		forget(f, f.inspects, r.Number)
	}
	return out, standing, nil
}

func (f *Forge) stands(ctx context.Context, r forge.Requirements, whole bool) (reply *unmetAnswer, s forge.Standing, err error) {
	doing := fmt.Sprintf("read what pull request %d lacks", r.Number)
	rules, err := f.demands(ctx, r.Branch)
	if err != nil {
		return nil, s, failure(ctx, doing, err)
	}
	var (
		contain []ranOnHead
		threads []string
	)
	owner, name, _ := strings.Cut(f.mover.place(), "/") // the mover rewrites addresses, not bodies
	read := func(checks, conversations bool) error {
		ask := map[string]any{"owner": owner, "name": name, "number": r.Number, "branch": "refs/heads/" + r.Branch,
			"checks": checks, "threads": conversations, "whole": whole}
		for page := 0; ; page++ {
			reply = &unmetAnswer{}
			if err := f.graphQL(ctx, unmetQuery, ask, reply); err != nil {
				return failure(ctx, doing, err)
			}
			p := reply.Repository.Pull
			switch {
			case p == nil:
				return failure(ctx, doing, forge.ErrNotFound)
			case whole && r.Head == "":
				r.Head, r.Base, r.Author = queue.CommitID(p.Head), p.Base, p.author()
			case p.Head != string(r.Head):
				return &forge.Transient{Err: fmt.Errorf("github: %s: its head moved meanwhile", doing)}
			}
			more := false
			for _, t := range p.Threads.Nodes {
				if !t.Resolved {
					threads = append(threads, t.Path)
				}
			}
			if p.Threads.Page.More {
				more, ask["threadsFrom"] = true, p.Threads.Page.End
			} else {
				ask["threads"] = false
			}
			ask["checks"] = false
			for _, n := range p.Commits.Nodes {
				if n.Commit.OID != string(r.Head) || n.Commit.Rollup == nil {
					continue
				}
				contain = append(contain, n.Commit.Rollup.Contexts.Nodes...)
				if pi := n.Commit.Rollup.Contexts.Page; pi.More {
					more, ask["checks"], ask["checksFrom"] = true, true, pi.End
				}
			}
			if !more || page == maxPages {
				return nil
			}
		}
	}
	if whole {
		r.Head = ""
	}
	conversations := r.Resolved || rules.resolved || rules.unknown
	if err := read(r.Checks, conversations); err != nil {
		return nil, s, err
	}
	rules = rules.with(reply)
	var classic demands
	if reply.rule() == nil || !decided(r, reply) {
		if classic, err = f.classicDemands(ctx, r.Branch, reply.rule()); err != nil {
			return nil, s, failure(ctx, doing, err)
		}
	}
	f.noteDemands(r.Branch, rules, classic.resolved)
	rules = rules.and(classic)
	if rules.resolved && !conversations { // since it was last read
		if err := read(false, true); err != nil {
			return nil, s, err
		}
	}
	out, err := f.unmetReviews(ctx, r, rules, reply)
	if err != nil {
		return nil, s, failure(ctx, doing, err)
	}
	if r.Checks {
		contain = newest(contain)
		out = append(out, unmetChecks(r, rules, contain)...)
		s.Checks = counted(r, contain)
	}
	if n := len(threads); n > 0 && (rules.resolved || r.Resolved) {
		slices.Sort(threads)
		threads = slices.Compact(threads)
		out = append(out, queue.Requirement{Kind: queue.RequireResolved, Names: append([]string{strconv.Itoa(n)}, threads[:min(len(threads), 5)]...)})
	}
	for _, d := range rules.doubts {
		out = append(out, unjudgeable(d))
	}
	s.Unmet = out
	return reply, s, nil
}

// newest leaves out the check runs that a later one of the same name and App has taken the
// place of, such as those of a run that its concurrency group has cancelled, or of one before
// the pull request was opened anew. GitHub lists them all on a head, and judges by the newest,
// which has the greatest id.
func newest(ran []ranOnHead) []ranOnHead {
	type check struct {
		name string
		app  int64
	}
	last := map[check]int64{}
	of := func(x ranOnHead) check { return check{x.Name, x.Suite.App.ID} }
	for _, x := range ran {
		if x.Kind == "CheckRun" {
			last[of(x)] = max(last[of(x)], x.ID)
		}
	}
	return slices.DeleteFunc(ran, func(x ranOnHead) bool { return x.Kind == "CheckRun" && x.ID < last[of(x)] })
}

// counted counts the check runs and statuses on the head by their standing.
func counted(r forge.Requirements, ran []ranOnHead) *queue.Checks {
	out := &queue.Checks{}
	for _, x := range ran {
		if slices.ContainsFunc(r.Except, func(n string) bool { return strings.EqualFold(n, cmp.Or(x.Name, x.Context)) }) {
			continue
		}
		switch x.standing() {
		case stillRuns:
			out.Pending++
		case hasPassed:
			out.Passed++
		default:
			out.Failed++
		}
	}
	return out
}

// The standings of a check run or status on a head.
const (
	stillRuns = iota
	hasPassed
	hasFailed
)

func (x *ranOnHead) standing() int {
	done, good := x.State != "PENDING" && x.State != "EXPECTED", x.State == "SUCCESS"
	if x.Kind == "CheckRun" {
		done, good = x.Status == "COMPLETED", slices.Contains([]string{"SUCCESS", "NEUTRAL", "SKIPPED"}, x.Conclusion)
	}
	switch {
	case !done:
		return stillRuns
	case good:
		return hasPassed
	}
	return hasFailed
}

// unmetChecks compares the checks that have run on the head with those that must
// have passed. Where several Apps have run one of a name, all must have passed.
func unmetChecks(r forge.Requirements, d demands, ran []ranOnHead) []queue.Requirement {
	var waits, failed []string
	for _, want := range d.checks {
		if slices.ContainsFunc(r.Except, func(n string) bool { return strings.EqualFold(n, want.name) }) {
			continue
		}
		seen, pending, bad := false, false, false
		for _, x := range ran {
			switch {
			case x.Kind == "CheckRun" && x.Name == want.name && (want.app <= 0 || want.app == x.Suite.App.ID):
				seen = true
				switch {
				case x.Status != "COMPLETED":
					pending = true
				case !slices.Contains([]string{"SUCCESS", "NEUTRAL", "SKIPPED"}, x.Conclusion):
					bad = true
				}
			case x.Kind == "StatusContext" && strings.EqualFold(x.Context, want.name) && want.app <= 0:
				seen = true
				pending = pending || x.State == "PENDING" || x.State == "EXPECTED"
				bad = bad || x.State == "FAILURE" || x.State == "ERROR"
			}
		}
		switch { // one name may be asked for twice, of any App and of one
		case bad && !slices.Contains(failed, want.name):
			failed = append(failed, want.name)
		case !bad && (pending || !seen) && !slices.Contains(waits, want.name):
			waits = append(waits, want.name)
		}
	}
	var out []queue.Requirement
	if len(waits) > 0 {
		out = append(out, queue.Requirement{Kind: queue.RequireChecks, Names: waits})
	}
	if len(failed) > 0 {
		out = append(out, queue.Requirement{Kind: queue.RequireChecksPassed, Names: failed})
	}
	return out
}

// graphQL makes one request. GitHub answers 200 to most failures.
func (f *Forge) graphQL(ctx context.Context, query string, variables map[string]any, into any) error {
	path := "graphql" // https://api.github.com/graphql
	if strings.HasSuffix(f.base.Path, "/api/v3/") {
		path = "../graphql" // of an Enterprise server: /api/graphql
	}
	req, err := f.client.NewRequest(http.MethodPost, path, map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	var reply struct {
		Data   any `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	reply.Data = into
	// This does not use client.Do: it would take GraphQL's limit, which the answer
	// tells, for the limit of REST, and send nothing at all once GraphQL's limit is
	// used up.
	resp, err := f.client.Client().Do(req.WithContext(ctx))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := github.CheckResponse(resp); err != nil {
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return err
	}
	if len(reply.Errors) == 0 {
		return nil
	}
	first := reply.Errors[0]
	err = fmt.Errorf("GraphQL: %s: %s", first.Type, first.Message)
	switch first.Type {
	case "RATE_LIMITED":
		return &forge.Transient{Err: err, After: max(after(resp.Header, unsaid), time.Second)}
	case "NOT_FOUND":
		return errors.Join(forge.ErrNotFound, err)
	case "FORBIDDEN", "INSUFFICIENT_SCOPES":
		return fmt.Errorf("%w: %w; give the App the permissions pull requests, checks and commit statuses: read, and accept them on the installation", forge.ErrForbidden, err)
	case "": // "Something went wrong while executing your query", and time-outs
		return &forge.Transient{Err: err}
	}
	return err
}
