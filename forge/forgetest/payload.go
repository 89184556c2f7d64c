package forgetest

import (
	"fmt"
	"strings"
	"time"
)

// obj is a JSON object in GitHub's shape.
type obj map[string]any

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Format(time.RFC3339)
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (r *shapes) api(format string, args ...any) string {
	return r.repo.s.url + "/api/v3/repos/" + r.repo.fullName() + fmt.Sprintf(format, args...)
}

func (r *shapes) page(format string, args ...any) string {
	return r.repo.s.url + "/" + r.repo.fullName() + fmt.Sprintf(format, args...)
}

func labelJSON(name string) obj {
	return obj{
		"id": labelID(name), "node_id": nodeID("LA", name), "name": name, "color": "ededed", "default": false,
		"description": "", "url": "",
	}
}

func labelsJSON(names []string) []obj {
	list := []obj{}
	for _, name := range names {
		list = append(list, labelJSON(name))
	}
	return list
}

func (r *shapes) pullID(p *pull) int64 { return int64(p.Number) + r.repo.id*100_000 }

func (r *shapes) pullJSON(p *pull) obj {
	from := r.repo
	if p.Fork != "" {
		from = r.repo.s.repos[strings.ToLower(p.Fork+"/"+r.repo.name)]
	}
	side := func(r *Repository, branch, sha string) obj {
		if r == nil { // the fork was deleted
			return obj{"label": "unknown repository", "ref": branch, "sha": sha, "user": nil, "repo": nil}
		}
		return obj{
			"label": r.owner.login + ":" + branch, "ref": branch, "sha": sha,
			"user": r.owner.json(), "repo": r.shapes.json(),
		}
	}
	body := obj{
		"id": r.pullID(p), "node_id": fmt.Sprintf("PR_%d", p.Number), "number": p.Number,
		"url": r.api("/pulls/%d", p.Number), "html_url": r.page("/pull/%d", p.Number),
		"issue_url": r.api("/issues/%d", p.Number), "comments_url": r.api("/issues/%d/comments", p.Number),
		"state": p.State, "locked": false, "title": p.Title, "user": p.author.json(), "body": orNil(p.Body),
		"labels": labelsJSON(p.Labels), "draft": p.Draft, "assignees": []obj{}, "requested_reviewers": []obj{},
		"head":       side(from, p.Branch, p.Head),
		"base":       side(r.repo, p.Base, orZero(r.repo.store.readRef("refs/heads/"+p.Base))),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closed),
		"merged_at": nil, "merge_commit_sha": orNil(p.mergeCommit), "merged": p.Merged, "mergeable": nil,
		"mergeable_state": "unknown", "merged_by": nil, "auto_merge": nil, "author_association": "CONTRIBUTOR",
	}
	if k := r.stackOf(p); k != nil {
		body["stack"] = k
	}
	if p.auto != nil {
		body["auto_merge"] = obj{"enabled_by": p.auto.json(), "merge_method": "merge", "commit_title": p.Title, "commit_message": ""}
	}
	if p.Merged {
		body["merged_at"], body["merged_by"] = stamp(p.closed), p.mergedBy.json()
	}
	return body.with(r.pullURLs(p)).with(r.pullCounts(p))
}

func (r *shapes) issueJSON(p *pull) obj {
	kind := "issues"
	if !p.issue {
		kind = "pull"
	}
	body := obj{
		"id": r.pullID(p), "node_id": fmt.Sprintf("I_%d", p.Number), "number": p.Number,
		"url": r.api("/issues/%d", p.Number), "html_url": r.page("/%s/%d", kind, p.Number),
		"repository_url": r.api(""), "state": p.State, "locked": false, "title": p.Title,
		"user": p.author.json(), "labels": labelsJSON(p.Labels), "body": orNil(p.Body),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closed),
	}
	if !p.issue {
		body["pull_request"] = obj{
			"url": r.api("/pulls/%d", p.Number), "html_url": r.page("/pull/%d", p.Number), "merged_at": nil,
			"diff_url": r.page("/pull/%d.diff", p.Number), "patch_url": r.page("/pull/%d.patch", p.Number),
		}
	}
	return body.with(r.issueURLs(p))
}

func (r *shapes) commentJSON(c *comment) obj {
	kind := "issues"
	if p := r.repo.pulls[c.Number]; !p.issue {
		kind = "pull"
	}
	var app any
	if c.author.kind == "Bot" {
		app = r.repo.s.App.appJSON()
	}
	return obj{
		"id": c.ID, "node_id": fmt.Sprintf("IC_%d", c.ID), "url": r.api("/issues/comments/%d", c.ID),
		"html_url":  r.page("/%s/%d#issuecomment-%d", kind, c.Number, c.ID),
		"issue_url": r.api("/issues/%d", c.Number), "user": c.author.json(), "body": c.Body,
		"created_at": stamp(c.created), "updated_at": stamp(c.updated), "author_association": "MEMBER",
		"performed_via_github_app": app, "reactions": rollup(r.api("/issues/comments/%d/reactions", c.ID), c.Reactions),
	}
}

func (r *shapes) reviewJSON(p *pull, v *review) obj {
	return obj{
		"id": v.id, "node_id": fmt.Sprintf("PRR_%d", v.id), "user": v.user.json(), "body": v.body,
		"state": v.state, "commit_id": v.commit, "submitted_at": stamp(v.at),
		"html_url":         r.page("/pull/%d#pullrequestreview-%d", p.Number, v.id),
		"pull_request_url": r.api("/pulls/%d", p.Number), "author_association": "MEMBER",
		"_links": obj{"html": obj{"href": r.page("/pull/%d#pullrequestreview-%d", p.Number, v.id)},
			"pull_request": obj{"href": r.api("/pulls/%d", p.Number)}},
	}
}

// appJSON is our App.
func (s *App) appJSON() obj {
	return s.someApp(appID, s.server.opts.Slug, s.appOwnerJSON(), s.server.opts.Permissions, s.subscribed())
}

func (s *App) someApp(id int64, slug string, owner obj, permissions map[string]string, events []string) obj {
	page := s.server.url + "/apps/" + slug
	return obj{
		"id": id, "slug": slug, "node_id": "A_" + slug, "name": slug, "owner": owner, "permissions": permissions, "events": events,
		"description": "", "external_url": page, "html_url": page, "created_at": founded, "updated_at": founded,
	}
}

func (r *shapes) emitPull(u *user, p *pull, action string, more obj) {
	r.emit(u, "pull_request", obj{"action": action, "number": p.Number, "pull_request": r.pullJSON(p)}.with(more))
}

func (r *shapes) emitComment(u *user, c *comment, action string, more obj) {
	r.emit(u, "issue_comment", obj{"action": action, "issue": r.issueJSON(r.repo.pulls[c.Number]), "comment": r.commentJSON(c)}.with(more))
}

// emitReview sends a webhook about a review: there its state is in small letters,
// and the pull request as in a list.
func (r *shapes) emitReview(u *user, p *pull, v *review, action string, more obj) {
	on := r.listedPull(p)
	if action == "edited" { // GitHub's description of this event lacks some members of a repository
		for _, side := range []string{"base", "head"} {
			if repo, ok := on[side].(obj)["repo"].(obj); ok {
				repo.without("has_discussions", "web_commit_signoff_required")
			}
		}
		on.without("stack")
	}
	review := r.reviewJSON(p, v).with(obj{"state": strings.ToLower(v.state)})
	r.emit(u, "pull_request_review", obj{"action": action, "review": review, "pull_request": on}.with(more))
}

func (r *shapes) emitPush(u *user, m refMove, forced bool, commits []commitInfo, tip *commitInfo) {
	list := []obj{}
	for i := len(commits) - 1; i >= 0; i-- { // oldest first, at most 20
		if len(list) < 20 {
			list = append(list, commits[i].json().with(obj{"url": r.page("/commit/%s", commits[i].id)}))
		}
	}
	var head any
	if tip != nil {
		head = tip.json().with(obj{"url": r.page("/commit/%s", tip.id)})
	}
	r.emit(u, "push", obj{
		"ref": m.ref, "before": orZero(m.old), "after": m.new, "created": m.old == "",
		"deleted": m.new == zeroID, "forced": forced, "base_ref": nil, "commits": list, "head_commit": head,
		"compare": r.page("/compare/%.12s...%.12s", orZero(m.old), m.new),
		"pusher":  obj{"name": u.login, "email": u.login + "@users.example"},
	})
}
