package forgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

const commentLimit = 65_536

func issueRoutes() []route {
	const base = "/repos/{owner}/{repo}/issues"
	const read, write = "issues:read|pull_requests:read", "issues:write|pull_requests:write"
	return []route{
		{pattern: "GET " + base + "/{number}", need: read, f: getIssue},
		{pattern: "PATCH " + base + "/{number}", need: write, f: patchIssue},
		{pattern: "GET " + base + "/{number}/comments", need: read, f: listComments},
		{pattern: "POST " + base + "/{number}/comments", need: write, f: createComment},
		{pattern: "GET " + base + "/comments", need: read, f: listComments},
		{pattern: "GET " + base + "/comments/{id}", need: read, f: getComment},
		{pattern: "PATCH " + base + "/comments/{id}", need: write, f: patchComment},
		{pattern: "DELETE " + base + "/comments/{id}", need: write, f: deleteComment},
		{pattern: "POST " + base + "/comments/{id}/reactions", need: write, f: createReaction},
		{pattern: "GET " + base + "/comments/{id}/reactions", need: read, f: listReactions},
		{pattern: "POST " + base + "/{number}/reactions", need: write, f: createIssueReaction},
		{pattern: "GET " + base + "/{number}/labels", need: read, f: listLabels},
		{pattern: "POST " + base + "/{number}/labels", need: write, f: addLabels},
		{pattern: "DELETE " + base + "/{number}/labels/{label}", need: write, f: removeLabel},
	}
}

func (c *call) thread() (*pull, error) {
	if p := c.repo.pulls[int(c.number("number"))]; p != nil {
		return p, nil
	}
	return nil, notFound()
}

func getIssue(c *call) (any, error) {
	p, err := c.thread()
	if err != nil {
		return nil, err
	}
	return c.repo.shapes.issueJSON(p), nil
}

// patchIssue closes an issue, or opens it again; it refuses other edits.
func patchIssue(c *call) (any, error) {
	p, err := c.thread()
	if err != nil {
		return nil, err
	}
	var in struct {
		State  string `json:"state"`
		Reason string `json:"state_reason"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if !p.issue || in.State != "open" && in.State != "closed" {
		return nil, invalid(obj{"resource": "Issue", "field": "state", "code": "invalid"})
	}
	c.repo.issues.setIssue(p, in.State)
	return c.repo.shapes.issueJSON(p), nil
}

// setIssue closes an issue, or opens it again.
func (r *issues) setIssue(p *pull, state string) {
	p.State, p.updated, p.closed = state, r.repo.s.now(), time.Time{}
	if state == "closed" {
		p.closed = p.updated
	}
	r.repo.s.touch()
}

func (c *call) comment() (*comment, error) {
	if m := c.repo.issues.commentByID(c.number("id")); m != nil {
		return m, nil
	}
	return nil, notFound()
}

// listComments serves both the comments of one thread and of the repository.
func listComments(c *call) (any, error) {
	q := c.r.URL.Query()
	var since time.Time
	if text := q.Get("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			return nil, invalid(obj{"field": "since", "code": "invalid"})
		}
	}
	number := -1
	if c.r.PathValue("number") != "" {
		p, err := c.thread()
		if err != nil {
			return nil, err
		}
		number = p.Number
	}
	var list []*comment
	for _, m := range c.repo.comments {
		if (number < 0 || m.Number == number) && !m.updated.Before(since) {
			list = append(list, m)
		}
	}
	if q.Get("sort") == "updated" {
		slices.SortStableFunc(list, func(a, b *comment) int { return a.updated.Compare(b.updated) })
	}
	if number < 0 && q.Get("sort") != "" && q.Get("direction") == "desc" {
		slices.Reverse(list)
	}
	out := []obj{}
	for _, m := range paged(c, list) {
		out = append(out, c.repo.shapes.commentJSON(m))
	}
	return out, nil
}

// text reads {"body": ...}.
func (c *call) text() (string, error) {
	var in struct {
		Body *string `json:"body"`
	}
	if err := c.read(&in); err != nil {
		return "", err
	}
	if in.Body == nil || *in.Body == "" {
		return "", invalid(obj{"resource": "IssueComment", "field": "body", "code": "missing_field"})
	}
	if utf8.RuneCountInString(*in.Body) > commentLimit {
		return "", invalid(obj{
			"resource": "IssueComment", "field": "data", "code": "unprocessable",
			"message": "Body is too long (maximum is 65536 characters)",
		})
	}
	return *in.Body, nil
}

func createComment(c *call) (any, error) {
	p, err := c.thread()
	if err != nil {
		return nil, err
	}
	body, err := c.text()
	if err != nil {
		return nil, err
	}
	return answer{http.StatusCreated, c.repo.shapes.commentJSON(c.repo.issues.comment(c.s.actor(c.who), p, body))}, nil
}

func getComment(c *call) (any, error) {
	m, err := c.comment()
	if err != nil {
		return nil, err
	}
	return c.repo.shapes.commentJSON(m), nil
}

// own returns an error if the client may not alter a comment.
func (c *call) own(m *comment) error {
	u := c.s.actor(c.who)
	if m.author != u && level(c.repo.law.role(u)) < level("write") {
		return refused("Resource not accessible by integration")
	}
	return nil
}

func patchComment(c *call) (any, error) {
	m, err := c.comment()
	if err != nil {
		return nil, err
	}
	if err := c.own(m); err != nil {
		return nil, err
	}
	body, err := c.text()
	if err != nil {
		return nil, err
	}
	c.repo.issues.editComment(c.s.actor(c.who), m, body)
	return c.repo.shapes.commentJSON(m), nil
}

func deleteComment(c *call) (any, error) {
	m, err := c.comment()
	if err != nil {
		return nil, err
	}
	if err := c.own(m); err != nil {
		return nil, err
	}
	c.repo.issues.deleteComment(c.s.actor(c.who), m)
	return answer{status: http.StatusNoContent}, nil
}

// content reads {"content": ...} of a reaction.
func (c *call) content() (string, error) {
	var in struct {
		Content string `json:"content"`
	}
	if err := c.read(&in); err != nil {
		return "", err
	}
	if !slices.Contains(reactionKinds, in.Content) {
		return "", invalid(obj{"resource": "Reaction", "field": "content", "code": "invalid"})
	}
	return in.Content, nil
}

func createReaction(c *call) (any, error) {
	m, err := c.comment()
	if err != nil {
		return nil, err
	}
	content, err := c.content()
	if err != nil {
		return nil, err
	}
	u := c.s.actor(c.who)
	id, added := c.repo.issues.react(u, m, content)
	status := http.StatusOK
	if added {
		status = http.StatusCreated
	}
	return answer{status, c.reactionJSON(id, u, content)}, nil
}

func (c *call) reactionJSON(id int64, u *user, content string) obj {
	return obj{"id": id, "node_id": fmt.Sprint("REA_", id), "user": u.json(), "content": content, "created_at": stamp(c.s.now())}
}

func listReactions(c *call) (any, error) {
	m, err := c.comment()
	if err != nil {
		return nil, err
	}
	out := []obj{}
	for i, x := range m.Reactions {
		out = append(out, c.reactionJSON(m.reactions[i], c.s.mustUser(x.User), x.Content))
	}
	return paged(c, out), nil
}

// createIssueReaction reacts to the pull request itself; only Writes shows it.
func createIssueReaction(c *call) (any, error) {
	p, err := c.thread()
	if err != nil {
		return nil, err
	}
	content, err := c.content()
	if err != nil {
		return nil, err
	}
	u := c.s.actor(c.who)
	c.repo.wrote(u, Write{Kind: "reaction", Number: p.Number, Text: content})
	return answer{http.StatusCreated, c.reactionJSON(c.s.nextID(), u, content)}, nil
}

func listLabels(c *call) (any, error) {
	p, err := c.thread()
	if err != nil {
		return nil, err
	}
	return paged(c, labelsJSON(p.Labels)), nil
}

type labelNames struct {
	Labels []string `json:"labels"`
}

func (l *labelNames) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, &l.Labels)
	}
	type plain labelNames
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode((*plain)(l))
}

func addLabels(c *call) (any, error) {
	p, err := c.thread()
	if err != nil {
		return nil, err
	}
	var in labelNames // GitHub takes an object or a plain array; go-github sends the array.
	if err := c.read(&in); err != nil {
		return nil, err
	}
	names := in.Labels
	u := c.s.actor(c.who)
	for _, name := range names {
		c.repo.issues.label(u, p, name)
		c.repo.wrote(u, Write{Kind: "label", Number: p.Number, Text: "+" + name})
	}
	return labelsJSON(p.Labels), nil
}

func removeLabel(c *call) (any, error) {
	p, err := c.thread()
	if err != nil {
		return nil, err
	}
	u, name := c.s.actor(c.who), c.r.PathValue("label")
	if !c.repo.issues.unlabel(u, p, name) {
		return nil, &problem{status: 404, message: "Label does not exist"}
	}
	c.repo.wrote(u, Write{Kind: "label", Number: p.Number, Text: "-" + name})
	return labelsJSON(p.Labels), nil
}
