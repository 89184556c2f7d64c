package forgetest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func pullRoutes() []route {
	const base = "/repos/{owner}/{repo}/pulls"
	return []route{
		{pattern: "GET " + base, need: "pull_requests:read", f: listPulls},
		{pattern: "POST " + base, need: "pull_requests:write", f: createPull, slow: true},
		{pattern: "GET " + base + "/{number}", need: "pull_requests:read", f: getPull},
		{pattern: "PATCH " + base + "/{number}", need: "pull_requests:write", f: patchPull},
		{pattern: "PUT " + base + "/{number}/merge", need: "contents:write", f: mergePull, slow: true},
		{pattern: "GET " + base + "/{number}/reviews", need: "pull_requests:read", f: listReviews},
		{pattern: "GET " + base + "/{number}/files", need: "pull_requests:read", f: listFiles, slow: true},
	}
}

// pull finds the pull request that the path names.
func (c *call) pull() (*pull, error) {
	p := c.repo.pulls[int(c.number("number"))]
	if p == nil || p.issue {
		return nil, notFound()
	}
	return p, nil
}

func listPulls(c *call) (any, error) {
	q := c.r.URL.Query()
	state := cmp.Or(q.Get("state"), "open")
	if !slices.Contains([]string{"open", "closed", "all"}, state) {
		return nil, invalid(obj{"resource": "PullRequest", "field": "state", "code": "invalid"})
	}
	head := q.Get("head")
	list := slices.DeleteFunc(c.repo.issues.sorted(), func(p *pull) bool {
		owner := cmp.Or(p.Fork, c.repo.owner.login)
		return state != "all" && p.State != state || q.Get("base") != "" && p.Base != q.Get("base") ||
			head != "" && head != owner+":"+p.Branch
	})
	by := func(a, b *pull) int { return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.Number, b.Number)) }
	if q.Get("sort") == "updated" {
		by = func(a, b *pull) int { return cmp.Or(a.updated.Compare(b.updated), cmp.Compare(a.Number, b.Number)) }
	}
	slices.SortFunc(list, by)
	if dir := q.Get("direction"); dir == "desc" || dir == "" && cmp.Or(q.Get("sort"), "created") == "created" {
		slices.Reverse(list)
	}
	out := []obj{}
	for _, p := range paged(c, list) {
		out = append(out, c.repo.shapes.listedPull(p))
	}
	return out, nil
}

// createPull opens a pull request of a branch of the repository itself.
func createPull(c *call) (any, error) {
	var in struct {
		Title    string `json:"title"`
		Head     string `json:"head"`
		Base     string `json:"base"`
		Body     string `json:"body"`
		Draft    bool   `json:"draft"`
		CanAlter *bool  `json:"maintainer_can_modify"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	branch := strings.TrimPrefix(in.Head, c.repo.owner.login+":")
	c.s.mu.Lock()
	u, taken := c.s.actor(c.who), false
	for _, p := range c.repo.issues.openFrom(branch) {
		taken = taken || p.Fork == "" && p.Base == in.Base
	}
	c.s.mu.Unlock()
	head, base := c.repo.store.readRef("refs/heads/"+branch), c.repo.store.readRef("refs/heads/"+in.Base)
	switch {
	case in.Title == "":
		return nil, invalid(obj{"resource": "Issue", "field": "title", "code": "missing_field"})
	case head == "" || base == "":
		field := "head"
		if head != "" {
			field = "base"
		}
		return nil, invalid(obj{"resource": "PullRequest", "field": field, "code": "invalid"})
	case taken:
		return nil, invalid(obj{"resource": "PullRequest", "code": "custom",
			"message": fmt.Sprintf("A pull request already exists for %s:%s.", c.repo.owner.login, branch)})
	case head == base:
		return nil, invalid(obj{"resource": "PullRequest", "code": "custom", "message": fmt.Sprintf("No commits between %s and %s", in.Base, branch)})
	}
	n, err := c.repo.Open(Pull{Author: u.login, Branch: branch, Base: in.Base, Title: in.Title, Body: in.Body, Draft: in.Draft})
	if err != nil {
		return nil, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.repo.wrote(u, Write{Kind: "pull request", Number: n, Text: in.Title})
	return answer{http.StatusCreated, c.repo.shapes.pullJSON(c.repo.pulls[n])}, nil
}

func getPull(c *call) (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	return c.repo.shapes.pullJSON(p), nil
}

func patchPull(c *call) (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	var in struct {
		Title    *string `json:"title"`
		Body     *string `json:"body"`
		State    *string `json:"state"`
		Base     *string `json:"base"`
		CanAlter *bool   `json:"maintainer_can_modify"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	u := c.s.actor(c.who)
	title, body, base := p.Title, p.Body, p.Base
	if in.Title != nil {
		title = *in.Title
	}
	if in.Base != nil {
		if base = *in.Base; c.repo.store.readRef("refs/heads/"+base) == "" {
			return nil, invalid(obj{"resource": "PullRequest", "field": "base", "code": "invalid"})
		}
		if base != p.Base && c.repo.issues.stackOf(p.Number) != nil {
			return nil, invalid(obj{"resource": "PullRequest", "code": "custom", "field": "base", "message": cannotRebase})
		}
	}
	if in.Body != nil {
		body = *in.Body
	}
	p.updated = c.s.now()
	c.repo.issues.edit(u, p, title, body, base)
	c.repo.wrote(u, Write{Kind: "pull request", Number: p.Number, Text: title})
	if in.State != nil {
		switch {
		case *in.State == "closed":
			c.repo.issues.closePull(u, p)
		case *in.State == "open" && !p.Merged:
			c.repo.issues.reopen(u, p)
		default:
			return nil, invalid(obj{"resource": "PullRequest", "field": "state", "code": "invalid"})
		}
	}
	return c.repo.shapes.pullJSON(p), nil
}

func listReviews(c *call) (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	out := []obj{}
	for _, v := range paged(c, p.reviews) {
		out = append(out, c.repo.shapes.reviewJSON(p, v))
	}
	return out, nil
}

func listFiles(c *call) (any, error) {
	c.s.mu.Lock()
	p, err := c.pull()
	var base, head string
	if err == nil {
		base, head = p.Base, p.Head
	}
	c.s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(c.r.Context())
	out, err := c.repo.store.git(ctx, nil, "diff", "--raw", "--numstat", "-z", "--no-renames", "--abbrev=40", "refs/heads/"+base+"..."+head)
	if err != nil {
		return nil, fmt.Errorf("files of #%d: %w", p.Number, err)
	}
	status := map[string]string{"A": "added", "D": "removed", "M": "modified", "T": "changed"}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	files := []obj{}
	byName := map[string]obj{}
	for i := 0; i < len(fields); i++ {
		if meta, ok := strings.CutPrefix(fields[i], ":"); ok && i+1 < len(fields) {
			f := strings.Fields(meta)
			o := obj{"filename": fields[i+1], "sha": f[3], "status": status[f[4][:1]], "additions": 0, "deletions": 0, "changes": 0,
				"blob_url": c.repo.shapes.page("/blob/%s/%s", head, fields[i+1]), "raw_url": c.repo.shapes.page("/raw/%s/%s", head, fields[i+1]),
				"contents_url": c.repo.shapes.api("/contents/%s?ref=%s", fields[i+1], head)}
			files, byName[fields[i+1]] = append(files, o), o
			i++
		} else if f := strings.SplitN(fields[i], "\t", 3); len(f) == 3 {
			var add, del int
			fmt.Sscan(f[0], &add) // "-" for a binary file leaves 0
			fmt.Sscan(f[1], &del)
			o := byName[f[2]]
			o["additions"], o["deletions"], o["changes"] = add, del, add+del
		}
	}
	return paged(c, files), nil
}
