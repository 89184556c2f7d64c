package forgetest

import (
	"context"
	"encoding/base64"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

func repoRoutes() []route {
	const base = "/repos/{owner}/{repo}"
	return []route{
		{pattern: "GET " + base, need: "metadata:read", f: func(c *call) (any, error) { return c.repo.shapes.alone(), nil }},
		{pattern: "GET " + base + "/collaborators/{user}/permission", need: "metadata:read", f: getPermission},
		{pattern: "GET " + base + "/branches", need: "contents:read", f: listBranches},
		{pattern: "GET " + base + "/branches/{branch}", need: "contents:read", f: getBranch},
		{pattern: "GET " + base + "/branches/{branch}/protection", need: "administration:read", f: getProtection},
		{pattern: "GET " + base + "/rules/branches/{branch}", need: "metadata:read", f: getRules},
		{pattern: "GET " + base + "/rulesets/{id}", need: "metadata:read", f: getRuleset},
		{pattern: "GET " + base + "/activity", need: "contents:read", f: getActivity},
		{pattern: "GET " + base + "/git/ref/{ref...}", need: "contents:read", f: getRef},
		{pattern: "GET " + base + "/contents/{path...}", need: "contents:read", f: getContents, slow: true},
	}
}

func getPermission(c *call) (any, error) {
	u := c.s.users[strings.ToLower(c.r.PathValue("user"))]
	if u == nil {
		return nil, notFound()
	}
	role := c.repo.law.role(u)
	body := u.json()
	body["role_name"] = role
	body["permissions"] = obj{
		"admin": role == "admin", "maintain": level(role) >= 4, "push": level(role) >= 3,
		"triage": level(role) >= 2, "pull": level(role) >= 1,
	}
	legacy := map[string]string{"maintain": "write", "triage": "read"}[role]
	if legacy == "" {
		legacy = role
	}
	return obj{"permission": legacy, "role_name": role, "user": body}, nil
}

// listBranches lists the branches that are protected by branch protection or rulesets.
// Without ?protected=true the fake has no list.
func listBranches(c *call) (any, error) {
	if c.r.URL.Query().Get("protected") != "true" {
		return nil, notFound()
	}
	out := []obj{}
	for _, name := range paged(c, slices.Sorted(maps.Keys(c.repo.guards))) {
		if head := c.repo.store.readRef("refs/heads/" + name); head != "" {
			out = append(out, obj{"name": name, "protected": true,
				"commit": obj{"sha": head, "url": c.repo.shapes.api("/commits/%s", head)}})
		}
	}
	return out, nil
}

func getBranch(c *call) (any, error) {
	name := c.r.PathValue("branch")
	head := c.repo.store.readRef("refs/heads/" + name)
	if now := c.repo.branchNow(name); head == "" && now != "" { // as documented: 301
		to := c.repo.shapes.api("/branches/%s", url.PathEscape(now))
		c.next.Set("Location", to)
		return nil, &problem{status: 301, message: "Moved Permanently", url: to}
	}
	if !validRef("refs/heads/"+name) || head == "" {
		return nil, &problem{status: 404, message: "Branch not found"}
	}
	guard, guarded := c.repo.guards[name]
	checks := []string{}
	if !guard.Ruleset {
		checks = append(checks, guard.RequiredChecks...)
	}
	return obj{
		"name": name, "commit": c.repo.shapes.commitJSON(head), "protected": guarded,
		"protection": obj{
			"enabled":                guarded && !guard.Ruleset,
			"required_status_checks": obj{"enforcement_level": "everyone", "contexts": checks, "checks": statusChecks(checks)},
		},
		"protection_url": c.repo.shapes.api("/branches/%s/protection", name),
		"_links":         obj{"self": c.repo.shapes.api("/branches/%s", name), "html": c.repo.shapes.page("/tree/%s", name)},
	}, nil
}

// actors sorts names into users and Apps the way protection lists them.
func (c *call) actors(names []string) obj {
	users, apps := []obj{}, []obj{}
	for _, name := range names {
		if u := c.s.users[strings.ToLower(name)]; u != nil {
			users = append(users, u.json())
		} else {
			apps = append(apps, c.s.App.someApp(appID, name, c.s.App.appOwnerJSON(), map[string]string{}, []string{}))
		}
	}
	return obj{"users": users, "teams": []obj{}, "apps": apps}
}

func getProtection(c *call) (any, error) {
	name := c.r.PathValue("branch")
	p, ok := c.repo.guards[name]
	if !ok || p.Ruleset {
		return nil, &problem{status: 404, message: "Branch not protected"}
	}
	body := obj{
		"url":                     c.repo.shapes.api("/branches/%s/protection", name),
		"enforce_admins":          obj{"enabled": true, "url": c.repo.shapes.api("/branches/%s/protection/enforce_admins", name)},
		"allow_force_pushes":      obj{"enabled": p.AllowForce},
		"allow_deletions":         obj{"enabled": false},
		"required_linear_history": obj{"enabled": false},
	}
	if len(p.RequiredChecks) > 0 {
		body["required_status_checks"] = obj{
			"strict": false, "contexts": p.RequiredChecks, "checks": statusChecks(p.RequiredChecks),
			"url": "", "contexts_url": "",
		}
	}
	if p.RequirePull || p.Reviews.any() {
		body["required_conversation_resolution"] = obj{"enabled": p.Reviews.Resolved}
		body["required_pull_request_reviews"] = obj{
			"dismiss_stale_reviews": p.Reviews.Stale, "require_code_owner_reviews": p.Reviews.CodeOwners,
			"required_approving_review_count": p.Reviews.Count, "require_last_push_approval": p.Reviews.LastPush,
			"bypass_pull_request_allowances": c.actors(p.Bypass),
		}
	}
	if len(p.AllowPushers) > 0 {
		body["restrictions"] = c.actors(p.AllowPushers).with(obj{"url": "", "users_url": "", "teams_url": "", "apps_url": ""})
	}
	return body, nil
}

func statusChecks(names []string) []obj {
	list := []obj{}
	for _, name := range names {
		list = append(list, obj{"context": name, "app_id": nil})
	}
	return list
}

// parameters are fixed parameters of rules for which Protection has none.
var parameters = map[string]obj{
	"merge_queue": {
		"check_response_timeout_minutes": 60, "grouping_strategy": "ALLGREEN", "max_entries_to_build": 5,
		"max_entries_to_merge": 5, "merge_method": "MERGE", "min_entries_to_merge": 1, "min_entries_to_merge_wait_minutes": 5,
	},
}

func (r *rules) rules(branch string) []obj {
	list := []obj{}
	p, ok := r.repo.guards[branch]
	if !ok {
		return list
	}
	add := func(kind string, parameters obj) {
		rule := obj{
			"type": kind, "ruleset_id": r.repo.rulesetID, "ruleset_source_type": "Repository",
			"ruleset_source": r.repo.fullName(),
		}
		if parameters != nil {
			rule["parameters"] = parameters
		}
		list = append(list, rule)
	}
	if p.Ruleset {
		add("deletion", nil)
		if !p.AllowForce {
			add("non_fast_forward", nil)
		}
		if len(p.AllowPushers) > 0 {
			add("update", obj{"update_allows_fetch_and_merge": false})
		}
		if p.RequirePull || p.Reviews.any() {
			asks := obj{
				"required_approving_review_count": p.Reviews.Count, "dismiss_stale_reviews_on_push": p.Reviews.Stale,
				"require_code_owner_review": p.Reviews.CodeOwners, "require_last_push_approval": p.Reviews.LastPush,
				"required_review_thread_resolution": p.Reviews.Resolved,
			}
			required := []obj{}
			for _, x := range p.Reviews.Required {
				required = append(required, obj{"file_patterns": x.Patterns, "minimum_approvals": x.Minimum,
					"reviewer": obj{"id": r.repo.s.teamIDs[strings.ToLower(x.Team)], "type": "Team"}})
			}
			if len(required) > 0 {
				asks["required_reviewers"] = required
			}
			if p.Reviews.Unattributed {
				asks["require_extra_approval_for_unattributed_changes"] = true
			}
			add("pull_request", asks)
		}
		if len(p.RequiredChecks) > 0 {
			checks := []obj{}
			for _, name := range p.RequiredChecks {
				checks = append(checks, obj{"context": name})
			}
			add("required_status_checks", obj{"required_status_checks": checks, "strict_required_status_checks_policy": false})
		}
		for _, kind := range p.ExtraRules {
			add(kind, parameters[kind])
		}
	}
	return list
}

func getRules(c *call) (any, error) { return c.repo.law.rules(c.r.PathValue("branch")), nil }

// getRuleset answers for the ruleset of the branch that was protected last.
func getRuleset(c *call) (any, error) {
	if c.number("id") != c.repo.rulesetID {
		return nil, notFound()
	}
	bypass := "never"
	name := c.s.pusherName(c.who)
	for _, p := range c.repo.guards {
		if slices.Contains(p.Bypass, name) || slices.Contains(p.AllowPushers, name) && !p.RequirePull && !p.Reviews.any() {
			bypass = "always"
		}
	}
	return obj{
		"id": c.repo.rulesetID, "name": "protect", "target": "branch", "source_type": "Repository",
		"source": c.repo.fullName(), "enforcement": "active", "current_user_can_bypass": bypass,
	}, nil
}

// getActivity lists the last pushes to the branches of open pull requests, which tell
// the pusher of a head.
func getActivity(c *call) (any, error) {
	list := []obj{}
	for _, p := range c.repo.pulls {
		ref := "refs/heads/" + p.Pull.Branch
		if u := c.s.users[strings.ToLower(p.pusher)]; u != nil && p.Fork == "" && p.State == "open" && ref == c.r.URL.Query().Get("ref") {
			list = append(list, obj{"id": p.Number, "node_id": "PA_" + p.Head, "before": zeroID, "after": p.Head, "ref": ref,
				"timestamp": stamp(p.updated), "activity_type": "push", "actor": u.json()})
		}
	}
	return list, nil
}

func getRef(c *call) (any, error) {
	ref := "refs/" + c.r.PathValue("ref")
	id := ""
	if validRef(ref) {
		id = c.repo.store.readRef(ref)
	}
	if id == "" {
		return nil, notFound()
	}
	return obj{
		"ref": ref, "node_id": "REF_" + ref, "url": c.repo.shapes.api("/git/%s", ref),
		"object": obj{"type": "commit", "sha": id, "url": c.repo.shapes.api("/git/commits/%s", id)},
	}, nil
}

func getContents(c *call) (any, error) {
	ref := c.r.URL.Query().Get("ref")
	if ref == "" {
		ref = c.repo.main
	}
	id := c.repo.store.readRef("refs/heads/" + ref)
	if id == "" {
		id = ref
	}
	name := path.Clean("/" + c.r.PathValue("path"))[1:]
	if strings.HasPrefix(id, "-") {
		return nil, notFound()
	}
	ctx := context.WithoutCancel(c.r.Context())
	blob, err := c.repo.store.git(ctx, nil, "rev-parse", "--verify", "--quiet", id+":"+name)
	if err != nil {
		return nil, notFound()
	}
	sha := strings.TrimSpace(string(blob))
	data, err := c.repo.store.git(ctx, nil, "cat-file", "blob", sha)
	if err != nil {
		return c.folder(ctx, name, ref, sha)
	}
	return obj{
		"type": "file", "encoding": "base64", "size": len(data), "name": path.Base(name), "path": name,
		"content": base64.StdEncoding.EncodeToString(data), "sha": sha,
	}.with(c.repo.shapes.contentURLs(name, ref, sha)), nil
}

// folder lists a tree the way GitHub lists a folder: names without contents.
func (c *call) folder(ctx context.Context, name, ref, sha string) (any, error) {
	out, err := c.repo.store.git(ctx, nil, "ls-tree", "-z", sha)
	if err != nil {
		return nil, notFound()
	}
	list := []obj{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		meta, base, ok := strings.Cut(entry, "\t")
		if f := strings.Fields(meta); ok && len(f) == 3 {
			kind := map[string]string{"tree": "dir", "blob": "file", "commit": "submodule"}[f[1]]
			p := path.Join(name, base)
			list = append(list, obj{"type": kind, "name": base, "path": p, "sha": f[2], "size": 0}.with(c.repo.shapes.contentURLs(p, ref, f[2])))
		}
	}
	return list, nil
}
