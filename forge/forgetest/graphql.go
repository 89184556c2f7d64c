package forgetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// graphQL answers the adapter's GraphQL queries, which it knows by their names (query
// Unmet, query MergeQueue, query Uses). It does not check fields or the validity of a
// query: only GitHub's own schema can.
func (s *web) graphQL(w http.ResponseWriter, r *http.Request) {
	w, r, done := s.queried(w, r)
	defer done()
	var in struct {
		Query     string          `json:"query"`
		Variables json.RawMessage `json:"variables"`
	}
	var (
		all map[string]any
		v   struct {
			Owner   string `json:"owner"`
			Name    string `json:"name"`
			Number  int    `json:"number"`
			Branch  string `json:"branch"`
			Checks  bool   `json:"checks"`
			Threads bool   `json:"threads"`
			Whole   bool   `json:"whole"`
			After   string `json:"checksFrom"`
			From    string `json:"threadsFrom"`
		}
	)
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&in)
	if err == nil {
		err = errors.Join(json.Unmarshal(in.Variables, &v), json.Unmarshal(in.Variables, &all))
	}
	if err != nil || r.Method != http.MethodPost {
		writeProblem(w, &problem{status: 400, message: "Problems parsing JSON"})
		return
	}
	fail := func(kind, message string) {
		writeJSON(w, r, http.StatusOK, obj{"data": nil, "errors": []obj{{"type": kind, "message": message, "path": []string{"repository"}}}})
	}
	s.server.mu.Lock()
	who, ok := s.server.identify(r.Header)
	repo := s.server.repos[strings.ToLower(v.Owner+"/"+v.Name)]
	if repo == nil {
		repo = s.server.movedTo(v.Owner, v.Name) // followRenames is true unless one says otherwise
	}
	if !ok || who.user == nil {
		s.server.mu.Unlock()
		writeProblem(w, &problem{status: 401, message: "Bad credentials"})
		return
	}
	// A query costs the number of requests for its connections divided by a hundred,
	// and at least one point: our query has five connections. Beyond the limit, GitHub
	// answers 200.
	if err := s.limit(w.Header(), who, "graphql", s.server.opts.Points, false); err != nil {
		s.server.mu.Unlock()
		fail("RATE_LIMITED", err.Error())
		return
	}
	if err := s.server.App.admitted(who.installed()); err != nil {
		s.server.mu.Unlock()
		writeProblem(w, err.(*problem))
		return
	}
	if repo == nil || !s.server.may(who, repo, "metadata:read") {
		s.server.mu.Unlock()
		fail("NOT_FOUND", fmt.Sprintf("Could not resolve to a Repository with the name '%s/%s'.", v.Owner, v.Name))
		return
	}
	if strings.HasPrefix(in.Query, "query MergeQueue(") {
		var own any
		if slices.Contains(repo.guards[v.Branch].ExtraRules, "merge_queue") {
			own = obj{"id": "MQ_" + v.Branch}
		}
		s.server.mu.Unlock()
		writeJSON(w, r, http.StatusOK, obj{"data": obj{"repository": obj{"mergeQueue": own}}})
		return
	}
	uses := strings.HasPrefix(in.Query, "query Uses(")
	for need, asked := range map[string]bool{"pull_requests:read": true, "contents:read": uses, "checks:read": v.Checks, "statuses:read": v.Checks} {
		if asked && !s.server.may(who, repo, need) {
			s.server.mu.Unlock()
			fail("FORBIDDEN", "Resource not accessible by integration")
			return
		}
	}
	if uses {
		data := obj{"repository": repo.law.uses(all)}
		s.server.mu.Unlock()
		writeJSON(w, r, http.StatusOK, obj{"data": data})
		return
	}
	var owners [][]string // the base's rules ask for their approval
	p := repo.pulls[v.Number]
	if !strings.HasPrefix(in.Query, "query Unmet(") || p == nil || p.issue {
		s.server.mu.Unlock()
		fail("NOT_FOUND", "Could not resolve to a PullRequest with the number of "+strconv.Itoa(v.Number)+".")
		return
	}
	if rules, base, head := repo.issues.ruledBy(p), p.Base, p.Head; repo.guards[rules].Reviews.CodeOwners {
		s.server.mu.Unlock()
		read, err := repo.issues.owners(context.WithoutCancel(r.Context()), rules, base, head)
		if err != nil {
			s.server.log.Error("read code owners", "err", err)
		}
		s.server.mu.Lock()
		owners = read
	}
	reviews := []obj{}
	for _, x := range repo.issues.opinions(p) {
		reviews = append(reviews, obj{"state": x.state, "author": obj{"login": x.user.login}, "commit": obj{"oid": x.commit}})
	}
	maker := obj{"user": obj{"login": p.Author}}
	if repo.guards[strings.TrimPrefix(v.Branch, "refs/heads/")].Reviews.Unattributed {
		maker["user"] = nil
	}
	body := obj{"headRefOid": p.Head, "headRefName": p.Pull.Branch, "isCrossRepository": p.Fork != "",
		"made":           obj{"totalCount": 1, "nodes": []obj{{"commit": obj{"author": maker, "committer": obj{"user": obj{"login": "web-flow"}}}}}},
		"reviewDecision": orNil(repo.issues.decision(p, owners)), "latestOpinionatedReviews": obj{"nodes": reviews}}
	if v.Whole {
		kind, login := "User", p.author.login
		if name, bot := strings.CutSuffix(login, "[bot]"); bot {
			kind, login = "Bot", name // GraphQL writes no [bot]
		}
		state, labels := strings.ToUpper(p.State), []obj{}
		if p.Merged {
			state = "MERGED"
		}
		for _, l := range p.Labels {
			labels = append(labels, obj{"name": l})
		}
		for name, value := range (obj{"title": p.Title, "body": p.Body, "url": repo.shapes.page("/pull/%d", p.Number), "state": state, "merged": p.Merged,
			"isDraft": p.Draft, "baseRefName": p.Base,
			"author": obj{"__typename": kind, "login": login}, "labels": obj{"nodes": labels},
			"createdAt": stamp(p.created), "updatedAt": stamp(p.updated), "additions": p.size.Added, "deletions": p.size.Removed, "changedFiles": p.size.Files, "own": obj{"totalCount": p.size.Commits}}) {
			body[name] = value
		}
	}
	if v.Threads {
		list := []obj{}
		for _, t := range p.threads {
			list = append(list, obj{"isResolved": t.resolved, "path": t.first.path})
		}
		body["reviewThreads"] = cursor(list, v.From)
	}
	if v.Checks {
		body["commits"] = obj{"nodes": []obj{{"commit": obj{"oid": p.Head, "statusCheckRollup": repo.law.statusRollup(p.Head, v.After)}}}}
	}
	answer := obj{"data": obj{"repository": obj{"ref": repo.law.ruleOf(strings.TrimPrefix(v.Branch, "refs/heads/")), "pullRequest": body}}}
	s.server.mu.Unlock()
	writeJSON(w, r, http.StatusOK, answer)
}

// cursor cuts a page of a hundred out of a list.
func cursor(list []obj, after string) obj {
	from, _ := strconv.Atoi(after)
	from = min(from, len(list))
	to := min(from+100, len(list))
	return obj{"pageInfo": obj{"hasNextPage": to < len(list), "endCursor": strconv.Itoa(to)}, "nodes": list[from:to]}
}

// ruleOf returns the part of a branch's classic protection that everybody may read.
func (r *rules) ruleOf(branch string) any {
	if r.repo.store.readRef("refs/heads/"+branch) == "" {
		return nil
	}
	guard, ok := r.repo.guards[branch]
	if !ok || guard.Ruleset || guard.Concealed {
		return obj{"refUpdateRule": nil}
	}
	return obj{"refUpdateRule": obj{
		"requiredApprovingReviewCount": guard.Reviews.Count, "requiredStatusCheckContexts": guard.RequiredChecks,
		"requiresCodeOwnerReviews": guard.Reviews.CodeOwners, "requiresConversationResolution": guard.Reviews.Resolved,
	}}
}

// statusRollup returns the results on a commit: the newest check run of each name in each
// suite, in no order, and the statuses. A suite that another one has taken the place of, such
// as that of a run that its concurrency group has cancelled, is there beside it
// (cli/cli#12895).
func (r *rules) statusRollup(head, after string) any {
	list, seen := []obj{}, map[string]bool{}
	for _, m := range slices.Backward(r.repo.CI.runs) {
		if key := fmt.Sprint(m.app, m.App, m.suite, m.Name); m.Head == head && !seen[key] {
			seen[key] = true
			list = append(list, obj{"__typename": "CheckRun", "databaseId": m.ID, "name": m.Name, "status": strings.ToUpper(m.Status),
				"conclusion": orNil(strings.ToUpper(m.Conclusion)), "checkSuite": obj{"app": obj{"databaseId": m.app}}})
		}
	}
	for _, st := range r.repo.CI.statusesOf(head) {
		list = append(list, obj{"__typename": "StatusContext", "context": st.context, "state": strings.ToUpper(st.state)})
	}
	if len(list) == 0 {
		return nil
	}
	return obj{"contexts": cursor(list, after)}
}
