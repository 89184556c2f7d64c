package forgetest

import (
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"
)

// This file has the members that GitHub's description requires in an answer and the
// queue does not use: addresses of other resources, counts, empty lists.

// founded is the creation time of everything that has no other.
var founded = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC).Format(time.RFC3339)

// with adds members to an object.
func (o obj) with(more obj) obj {
	maps.Copy(o, more)
	return o
}

// without removes members from an object.
func (o obj) without(members ...string) obj {
	for _, name := range members {
		delete(o, name)
	}
	return o
}

// rollup counts the reactions to something.
func rollup(url string, reactions []Reaction) obj {
	o := obj{"url": url, "total_count": len(reactions)}
	for _, kind := range reactionKinds {
		n := 0
		for _, x := range reactions {
			if x.Content == kind {
				n++
			}
		}
		o[kind] = n
	}
	return o
}

var reactionKinds = []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}

func (u *user) urls() obj {
	api := u.site + "/api/v3/users/" + u.login
	o := obj{"url": api, "html_url": u.site + "/" + u.login}
	for member, path := range map[string]string{
		"followers": "/followers", "following": "/following{/other_user}", "gists": "/gists{/gist_id}",
		"starred": "/starred{/owner}{/repo}", "subscriptions": "/subscriptions", "organizations": "/orgs",
		"repos": "/repos", "events": "/events{/privacy}", "received_events": "/received_events",
	} {
		o[member+"_url"] = api + path
	}
	return o
}

var repositoryPaths = map[string]string{
	"archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}", "blobs": "/git/blobs{/sha}",
	"branches": "/branches{/branch}", "collaborators": "/collaborators{/collaborator}", "comments": "/comments{/number}",
	"commits": "/commits{/sha}", "compare": "/compare/{base}...{head}", "contents": "/contents/{+path}",
	"contributors": "/contributors", "deployments": "/deployments", "downloads": "/downloads", "events": "/events",
	"forks": "/forks", "git_commits": "/git/commits{/sha}", "git_refs": "/git/refs{/sha}", "git_tags": "/git/tags{/sha}",
	"hooks": "/hooks", "issue_comment": "/issues/comments{/number}", "issue_events": "/issues/events{/number}",
	"issues": "/issues{/number}", "keys": "/keys{/key_id}", "labels": "/labels{/name}", "languages": "/languages",
	"merges": "/merges", "milestones": "/milestones{/number}", "notifications": "/notifications{?since,all,participating}",
	"pulls": "/pulls{/number}", "releases": "/releases{/id}", "stargazers": "/stargazers", "statuses": "/statuses/{sha}",
	"subscribers": "/subscribers", "subscription": "/subscription", "tags": "/tags", "teams": "/teams", "trees": "/git/trees{/sha}",
}

func (r *shapes) urls() obj {
	return obj{
		"ssh_url": r.repo.CloneURL(), "svn_url": r.page(""), "mirror_url": nil, "homepage": nil, "language": nil, "license": nil,
		"forks": 0, "forks_count": 0, "open_issues": 0, "watchers": 0, "watchers_count": 0, "stargazers_count": 0, "size": 0,
		"has_projects": false, "has_wiki": false, "has_pages": false, "has_downloads": false,
		"topics": []string{}, "is_template": false, "allow_forking": true, "has_discussions": false, "web_commit_signoff_required": false,
		"pushed_at": founded, "created_at": founded, "updated_at": founded,
	}
}

// alone returns the repository as GET of the repository shows it.
func (r *shapes) alone() obj {
	return r.json().with(obj{"network_count": 0, "subscribers_count": 0})
}

// brief returns GitHub's shortest form of a repository.
func (r *shapes) brief() obj {
	o := obj{
		"id": r.repo.id, "node_id": "R_" + r.repo.fullName(), "name": r.repo.name, "full_name": r.repo.fullName(), "private": r.repo.private, "owner": r.repo.owner.json(),
		"html_url": r.page(""), "description": nil, "fork": r.repo.parent != nil, "url": r.api(""),
	}
	for member, path := range repositoryPaths {
		o[member+"_url"] = r.api("%s", path)
	}
	return o
}

// listedPull returns a pull request as a list shows it: without the members of
// onlyAlone.
func (r *shapes) listedPull(p *pull) obj { return r.pullJSON(p).without(onlyAlone...) }

func (r *shapes) pullURLs(p *pull) obj {
	n := fmt.Sprint(p.Number)
	links := obj{}
	for name, url := range map[string]string{
		"self": r.api("/pulls/%s", n), "html": r.page("/pull/%s", n), "issue": r.api("/issues/%s", n),
		"comments": r.api("/issues/%s/comments", n), "review_comments": r.api("/pulls/%s/comments", n),
		"review_comment": r.api("/pulls/comments{/number}"), "commits": r.api("/pulls/%s/commits", n),
		"statuses": r.api("/statuses/%s", p.Head),
	} {
		links[name] = obj{"href": url}
	}
	return obj{
		"_links": links, "diff_url": r.page("/pull/%s.diff", n), "patch_url": r.page("/pull/%s.patch", n),
		"commits_url": r.api("/pulls/%s/commits", n), "review_comments_url": r.api("/pulls/%s/comments", n),
		"review_comment_url": r.api("/pulls/comments{/number}"), "statuses_url": r.api("/statuses/%s", p.Head),
		"assignee": nil, "milestone": nil, "auto_merge": nil, "active_lock_reason": nil, "requested_teams": []obj{},
	}
}

func (r *shapes) issueURLs(p *pull) obj {
	n := fmt.Sprint(p.Number)
	return obj{
		"labels_url": r.api("/issues/%s/labels{/name}", n), "comments_url": r.api("/issues/%s/comments", n),
		"events_url": r.api("/issues/%s/events", n), "assignee": nil, "assignees": []obj{}, "milestone": nil, "comments": 0,
		"author_association": "CONTRIBUTOR", "active_lock_reason": nil, "reactions": rollup(r.api("/issues/%s/reactions", n), nil),
	}
}

// onlyAlone are the members that pull requests do not have in a list.
var onlyAlone = []string{
	"merged", "mergeable", "mergeable_state", "merged_by", "comments", "review_comments", "commits", "additions",
	"deletions", "changed_files", "maintainer_can_modify", "rebaseable",
}

// pullCounts returns the counts of a pull request, which lists do not have.
func (r *shapes) pullCounts(p *pull) obj {
	return obj{
		"comments": 0, "review_comments": 0, "commits": p.size.Commits, "additions": p.size.Added, "deletions": p.size.Removed, "changed_files": p.size.Files,
		"maintainer_can_modify": false,
	}
}

// commitJSON returns a commit as GET /repos/{owner}/{repo}/commits/{ref} shows it,
// without its message and parents.
func (r *shapes) commitJSON(head string) obj {
	who := obj{"name": "", "email": "", "date": founded}
	return obj{
		"sha": head, "node_id": "C_" + head, "url": r.api("/commits/%s", head), "html_url": r.page("/commit/%s", head),
		"comments_url": r.api("/commits/%s/comments", head), "author": nil, "committer": nil, "parents": []obj{},
		"commit": obj{
			"url": r.api("/git/commits/%s", head), "message": "", "comment_count": 0, "author": who, "committer": who,
			"tree":         obj{"sha": head, "url": r.api("/git/trees/%s", head)},
			"verification": obj{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil},
		},
	}
}

func (r *shapes) contentURLs(path, ref, sha string) obj {
	self, git, page := r.api("/contents/%s?ref=%s", path, ref), r.api("/git/blobs/%s", sha), r.page("/blob/%s/%s", ref, path)
	return obj{
		"url": self, "git_url": git, "html_url": page, "download_url": r.page("/raw/%s/%s", ref, path),
		"_links": obj{"self": self, "git": git, "html": page},
	}
}

func labelID(name string) int64 {
	h := int64(7)
	for _, c := range []byte(strings.ToLower(name)) {
		h = (h*31 + int64(c)) % 1_000_000_007
	}
	return h
}

func nodeID(kind, name string) string { return kind + "_" + hex.EncodeToString([]byte(name)) }
