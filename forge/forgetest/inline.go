package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// inline is a comment in a review: on a line of the diff. It is numbered
// separately, and has other endpoints than a comment on the thread.
type inline struct {
	id        int64
	number    int
	author    *user
	path      string
	body      string
	created   time.Time
	updated   time.Time
	reactions []Reaction
}

// ReviewComment writes a comment on a line of a pull request's diff and returns
// its id.
func (r *Repository) ReviewComment(login string, number int, body string) (id int64) {
	r.issues.act(login, number, func(u *user, p *pull) { id = r.issues.inline(u, p, "README.md", body).id })
	return id
}

func (r *issues) inline(u *user, p *pull, path, body string) *inline {
	now := r.repo.s.now()
	c := &inline{id: r.repo.s.nextID(), number: p.Number, author: u, path: path, body: body, created: now, updated: now}
	r.repo.inlines = append(r.repo.inlines, c)
	r.repo.shapes.emitInline(u, c, "created", nil)
	return c
}

// EditReviewComment changes the text of a comment on a line.
func (r *Repository) EditReviewComment(login string, id int64, body string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	c, u := r.issues.inlineByID(id), r.s.mustUser(login)
	if c == nil {
		panic(fmt.Sprintf("forgetest: no review comment %d in %s", id, r.fullName()))
	}
	from := c.body
	c.body, c.updated = body, r.s.now()
	r.shapes.emitInline(u, c, "edited", obj{"changes": obj{"body": obj{"from": from}}})
	r.s.touch()
}

// EditReview changes the text of a review.
func (r *Repository) EditReview(login string, number int, id int64, body string) {
	r.issues.act(login, number, func(u *user, p *pull) {
		i := slices.IndexFunc(p.reviews, func(v *review) bool { return v.id == id })
		if i < 0 {
			panic(fmt.Sprintf("forgetest: no review %d of pull request %d", id, number))
		}
		v := p.reviews[i]
		from := v.body
		v.body = body
		r.shapes.emitReview(u, p, v, "edited", obj{"changes": obj{"body": obj{"from": from}}})
	})
}

// ReviewCommentReactions returns the reactions to a comment in a review.
func (r *Repository) ReviewCommentReactions(id int64) (out []Reaction) {
	r.Look(func(v View) { out = v.ReviewCommentReactions(id) })
	return out
}

// ReviewCommentReactions is Repository.ReviewCommentReactions.
func (v View) ReviewCommentReactions(id int64) []Reaction {
	if c := v.r.issues.inlineByID(id); c != nil {
		return slices.Clone(c.reactions)
	}
	return nil
}

func (r *issues) inlineByID(id int64) *inline {
	for _, c := range r.repo.inlines {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (r *shapes) inlineJSON(c *inline) obj {
	p := r.repo.pulls[c.number]
	return obj{
		"id": c.id, "node_id": fmt.Sprintf("PRRC_%d", c.id), "url": r.api("/pulls/comments/%d", c.id),
		"pull_request_review_id": c.id + 1, "diff_hunk": "@@ -1 +1 @@", "path": c.path,
		"line": 1, "original_line": 1, "position": 1, "original_position": 1, "side": "RIGHT", "subject_type": "line",
		"start_line": nil, "original_start_line": nil, "start_side": nil, "reactions": rollup(r.api("/pulls/comments/%d/reactions", c.id), c.reactions),
		"commit_id": p.Head, "original_commit_id": p.Head, "user": c.author.json(), "body": c.body,
		"created_at": stamp(c.created), "updated_at": stamp(c.updated), "author_association": "MEMBER",
		"html_url": r.page("/pull/%d#discussion_r%d", c.number, c.id), "pull_request_url": r.api("/pulls/%d", c.number),
		"_links": obj{
			"self": obj{"href": r.api("/pulls/comments/%d", c.id)}, "html": obj{"href": r.page("/pull/%d#discussion_r%d", c.number, c.id)},
			"pull_request": obj{"href": r.api("/pulls/%d", c.number)},
		},
	}
}

func (r *shapes) emitInline(u *user, c *inline, action string, more obj) {
	r.emit(u, "pull_request_review_comment", obj{"action": action, "comment": r.inlineJSON(c), "pull_request": r.listedPull(r.repo.pulls[c.number])}.with(more))
}

// EnableAutoMerge makes GitHub merge a pull request as soon as it may; the fake
// only shows that it is enabled.
func (r *Repository) EnableAutoMerge(login string, number int) {
	r.issues.act(login, number, func(u *user, p *pull) {
		p.auto = u
		r.shapes.emitPull(u, p, "auto_merge_enabled", nil)
	})
}

// AutoMerge reports whether auto-merge is switched on.
func (r *Repository) AutoMerge(number int) bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.issues.mustPull(number).auto != nil
}

func inlineRoutes() []route {
	const base = "/repos/{owner}/{repo}/pulls/comments"
	return []route{
		{pattern: "GET " + base, need: "pull_requests:read", f: listInlines},
		{pattern: "POST " + base + "/{id}/reactions", need: "pull_requests:write", f: reactInline},
	}
}

func listInlines(c *call) (any, error) {
	q := c.r.URL.Query()
	var since time.Time
	if text := q.Get("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			return nil, invalid(obj{"field": "since", "code": "invalid"})
		}
	}
	list := slices.DeleteFunc(slices.Clone(c.repo.inlines), func(m *inline) bool { return m.updated.Before(since) })
	if q.Get("direction") == "desc" {
		slices.Reverse(list)
	}
	out := []obj{}
	for _, m := range paged(c, list) {
		out = append(out, c.repo.shapes.inlineJSON(m))
	}
	return out, nil
}

func reactInline(c *call) (any, error) {
	m := c.repo.issues.inlineByID(c.number("id"))
	if m == nil {
		return nil, notFound()
	}
	content, err := c.content()
	if err != nil {
		return nil, err
	}
	u, status := c.s.actor(c.who), http.StatusOK
	if !slices.Contains(m.reactions, Reaction{u.login, content}) {
		m.reactions = append(m.reactions, Reaction{u.login, content})
		c.repo.wrote(u, Write{Kind: "reaction", Number: m.number, Text: content})
		status = http.StatusCreated
	}
	return answer{status, obj{"id": m.id + 1, "node_id": "REA_1", "user": u.json(), "content": content, "created_at": stamp(c.s.now())}}, nil
}
