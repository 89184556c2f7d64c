package github

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

type commentKey struct {
	number int
	marker string
}

const (
	commentLimit = 65_536 // characters of a comment
	summaryLimit = 65_535 // characters of a check run's summary
	titleLimit   = 255    // of an annotation's title
	detailLimit  = 16_000 // of an annotation's texts; 64 KB are allowed, in any script
)

// These mark the id of a review, and of a comment in a review, where a comment's
// id is expected.
const (
	reviewPrefix = "review-"
	inlinePrefix = "inline-"
)

// Comment makes our comment that carries marker say body; a body that does not
// contain the marker gets it at its end. A body too long for GitHub is cut. GitHub sends
// mail for a new comment, and none for an edit, so news (queue.NewsIn) is a new comment in
// place of ours.
func (f *Forge) Comment(ctx context.Context, number int, marker, body string) error {
	if cut := truncate(body, commentLimit-utf8.RuneCountInString(marker)-2); cut != body || !strings.Contains(body, marker) {
		body = cut + "\n\n" + marker
	}
	defer f.lock(fmt.Sprint("comment ", number, marker))()
	err := f.comment(ctx, commentKey{number, marker}, body)
	return failure(ctx, fmt.Sprintf("comment on pull request %d", number), err)
}

func (f *Forge) comment(ctx context.Context, key commentKey, body string) error {
	if err := f.makeRoom(ctx, key, queue.NewsIn(body)); err != nil {
		return err
	}
	id, known := recall(f, f.comments, key)
	for {
		if !known {
			found, err := f.findComment(ctx, key)
			if err != nil {
				return err
			}
			id = found.GetID()
		}
		if id == 0 {
			break
		}
		_, _, err := f.client.Issues.EditComment(ctx, f.o.Owner, f.o.Name, id, &github.IssueComment{Body: &body})
		if !isNotFound(err) {
			if err == nil {
				remember(f, f.comments, key, id)
			}
			return err
		}
		forget(f, f.comments, key)
		if !known {
			break // deleted since we found it
		}
		known = false
	}
	made, _, err := f.client.Issues.CreateComment(ctx, f.o.Owner, f.o.Name, key.number, &github.IssueComment{Body: &body})
	if err != nil {
		return err
	}
	remember(f, f.comments, key, made.GetID())
	return nil
}

// makeRoom deletes our comment before one that is news, unless it is that news already. A comment
// that GitHub does not let us delete stays, and is edited: to be told without mail is better than
// not to be told.
func (f *Forge) makeRoom(ctx context.Context, key commentKey, news string) error {
	if told, _ := recall(f, f.told, key); news == "" || told == news {
		return nil
	}
	old, err := f.findComment(ctx, key)
	if err != nil {
		return err
	}
	if old != nil && queue.NewsIn(old.GetBody()) != news {
		_, err := f.client.Issues.DeleteComment(ctx, f.o.Owner, f.o.Name, old.GetID())
		if refused := failure(ctx, "delete a comment", err); errors.Is(refused, forge.ErrForbidden) {
			f.log.Warn("news is told by an edit, of which GitHub sends no mail", "pull", key.number, "error", refused)
			return nil
		}
		if err != nil && !isNotFound(err) {
			return err
		}
		forget(f, f.comments, key)
	}
	remember(f, f.told, key, news)
	return nil
}

// findComment searches for our comment with the marker; nil if there is none. A
// comment of somebody else that quotes the marker is not ours.
func (f *Forge) findComment(ctx context.Context, key commentKey) (*github.IssueComment, error) {
	bot, err := f.bot(ctx)
	if err != nil {
		return nil, err
	}
	opts := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: 100}}
	for {
		list, resp, err := f.client.Issues.ListComments(ctx, f.o.Owner, f.o.Name, key.number, opts)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if strings.EqualFold(c.GetUser().GetLogin(), bot) && strings.Contains(c.GetBody(), key.marker) {
				return c, nil
			}
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			return nil, nil
		}
	}
}

// React acknowledges a comment. GitHub has no reactions to reviews, so a command
// in a review is acknowledged on the pull request itself.
func (f *Forge) React(ctx context.Context, number int, comment string, r forge.Reaction) error {
	doing := "react to comment " + comment
	if strings.HasPrefix(comment, reviewPrefix) {
		_, _, err := f.client.Reactions.CreateIssueReaction(ctx, f.o.Owner, f.o.Name, number, string(r))
		return failure(ctx, doing, err)
	}
	inline, isInline := strings.CutPrefix(comment, inlinePrefix)
	id, err := strconv.ParseInt(inline, 10, 64)
	if err != nil {
		return fmt.Errorf("github: %s: %w: the id is not a number", doing, forge.ErrNotFound)
	}
	if isInline {
		_, _, err = f.client.Reactions.CreatePullRequestCommentReaction(ctx, f.o.Owner, f.o.Name, id, string(r))
		return failure(ctx, doing, err)
	}
	_, _, err = f.client.Reactions.CreateIssueCommentReaction(ctx, f.o.Owner, f.o.Name, id, string(r))
	return failure(ctx, doing, err)
}

func isNotFound(err error) bool {
	e := (*github.ErrorResponse)(nil)
	return errors.As(err, &e) && e.Response != nil && (e.Response.StatusCode == 404 || e.Response.StatusCode == 410)
}

// truncate cuts a text to a number of characters and says so.
func truncate(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	const note = "\n\n… (cut)"
	runes := []rune(s)
	return string(runes[:limit-utf8.RuneCountInString(note)]) + note
}
