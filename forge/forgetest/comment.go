package forgetest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Comment is a comment on a pull request as a test sees it.
type Comment struct {
	ID        int64
	Number    int
	Author    string
	Body      string
	Edits     int        // how often it was edited
	Reactions []Reaction // in order
}

// Reaction is one user's reaction.
type Reaction struct {
	User    string
	Content string
}

type comment struct {
	Comment
	author    *user
	created   time.Time
	updated   time.Time
	reactions []int64 // ids, beside Reactions
	read      bool    // an assertion has read this very text
}

func (r *issues) commentsOf(number int) []Comment {
	var list []Comment
	for _, c := range r.repo.comments {
		if c.Number == number {
			v := c.Comment
			v.Reactions = slices.Clone(c.Reactions)
			list = append(list, v)
		}
	}
	return list
}

func (r *issues) commentByID(id int64) *comment {
	for _, c := range r.repo.comments {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func (r *issues) mustComment(id int64) *comment {
	c := r.commentByID(id)
	if c == nil {
		panic(fmt.Sprintf("forgetest: no comment %d in %s", id, r.repo.fullName()))
	}
	return c
}

// Comments returns all comments on a pull request, oldest first, and marks them
// as read.
func (r *Repository) Comments(number int) []Comment {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, c := range r.comments {
		if c.Number == number {
			c.read = true
		}
	}
	return r.issues.commentsOf(number)
}

// TakeComment returns the text of the bot's oldest unread comment on a pull request, and
// marks the comment as read.
func (r *Repository) TakeComment(number int) (body string, ok bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, c := range r.comments {
		if c.Number == number && c.author.kind == "Bot" && !c.read {
			c.read = true
			return c.Body, true
		}
	}
	return "", false
}

// Unread lists the bot's comments that were not read in their present text.
func (r *Repository) Unread() []Comment {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	var list []Comment
	for _, c := range r.comments {
		if c.author.kind == "Bot" && !c.read {
			list = append(list, c.Comment)
		}
	}
	return list
}

// TB is what Strict and AssertRead need of a *testing.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Strict fails the test at its end for each comment of the bot, in any repository, that
// was not read in its final text.
func (s *Server) Strict(t TB) {
	t.Cleanup(func() { t.Helper(); s.AssertRead(t) })
}

// AssertRead fails the test now for each unread comment of the bot.
func (s *Server) AssertRead(t TB) {
	t.Helper()
	s.mu.Lock()
	var repos []*Repository
	for _, r := range s.repos {
		repos = append(repos, r)
	}
	s.mu.Unlock()
	for _, r := range repos {
		for _, c := range r.Unread() {
			t.Errorf("%s#%d: nothing read what the bot said:\n%s", r.fullName(), c.Number, c.Body)
		}
	}
}

// Comment writes a comment on a pull request or issue and returns its id.
func (r *Repository) Comment(login string, number int, body string) (id int64) {
	r.issues.act(login, number, func(u *user, p *pull) { id = r.issues.comment(u, p, body).ID })
	return id
}

func (r *issues) comment(u *user, p *pull, body string) *comment {
	now := r.repo.s.now()
	c := &comment{
		Comment: Comment{ID: r.repo.s.nextID(), Number: p.Number, Author: u.login, Body: body},
		author:  u, created: now, updated: now,
	}
	r.repo.comments = append(r.repo.comments, c)
	p.updated = now
	r.repo.wrote(u, Write{Kind: "comment", Number: p.Number, Text: body})
	r.repo.shapes.emitComment(u, c, "created", nil)
	return c
}

// EditComment changes the text of a comment.
func (r *Repository) EditComment(login string, id int64, body string) {
	r.issues.act(login, r.issues.numberOf(id), func(u *user, _ *pull) { r.issues.editComment(u, r.issues.mustComment(id), body) })
}

func (r *issues) editComment(u *user, c *comment, body string) {
	from := c.Body
	c.Body, c.updated = body, r.repo.s.now()
	c.Edits++
	c.read = c.read && from == body
	r.repo.wrote(u, Write{Kind: "comment edit", Number: c.Number, Text: body})
	r.repo.shapes.emitComment(u, c, "edited", obj{"changes": obj{"body": obj{"from": from}}})
}

// DeleteComment deletes a comment, anybody's.
func (r *Repository) DeleteComment(login string, id int64) {
	r.issues.act(login, r.issues.numberOf(id), func(u *user, _ *pull) { r.issues.deleteComment(u, r.issues.mustComment(id)) })
}

func (r *issues) deleteComment(u *user, c *comment) {
	r.repo.comments = slices.DeleteFunc(r.repo.comments, func(o *comment) bool { return o == c })
	r.repo.shapes.emitComment(u, c, "deleted", nil)
}

func (r *issues) numberOf(id int64) int {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	return r.mustComment(id).Number
}

// react adds a reaction and says whether it is new.
func (r *issues) react(u *user, c *comment, content string) (id int64, added bool) {
	for i, have := range c.Reactions {
		if have.User == u.login && have.Content == content {
			return c.reactions[i], false
		}
	}
	c.Reactions = append(c.Reactions, Reaction{u.login, content})
	c.reactions = append(c.reactions, r.repo.s.nextID())
	r.repo.wrote(u, Write{Kind: "reaction", Number: c.Number, Text: content})
	return c.reactions[len(c.reactions)-1], true
}

// Toggle clicks the box of a comment's only task item with label in its line. It reports
// whether GitHub allows that: only a user with the right to edit the comment can click.
// Like each form of a page, it sends lines that end with CR LF.
func (r *Repository) Toggle(login string, id int64, label string) (done bool) {
	r.issues.act(login, r.issues.numberOf(id), func(u *user, _ *pull) {
		c := r.issues.mustComment(id)
		if c.author != u && level(r.law.role(u)) < level("write") {
			return
		}
		at, marks := -1, map[string]string{"- [ ] ": "- [x] ", "- [x] ": "- [ ] "}
		lines := strings.Split(strings.ReplaceAll(c.Body, "\r\n", "\n"), "\n")
		for i, line := range lines {
			if len(line) > 6 && marks[line[:6]] != "" && strings.Contains(line, label) {
				if at >= 0 {
					panic(fmt.Sprintf("forgetest: two task items with %q in %s", label, c.Body))
				}
				at = i
			}
		}
		if at < 0 {
			panic(fmt.Sprintf("forgetest: no task item with %q in %s", label, c.Body))
		}
		lines[at] = marks[lines[at][:6]] + lines[at][6:]
		r.issues.editComment(u, c, strings.Join(lines, "\r\n"))
		done = true
	})
	return done
}
