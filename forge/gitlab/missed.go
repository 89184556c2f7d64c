package gitlab

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/queue"
)

// Missed implements forge.Forge: GitLab sends no webhook a second time, and none at all
// while it has switched a hook off. Notes are listed for each merge request that has
// changed since; a note has the same event id here and in its webhook.
func (f *Forge) Missed(ctx context.Context, since time.Time, open []int) ([]queue.Event, error) {
	const doing = "list what webhooks may have lost"
	id, err := f.project(ctx)
	if err != nil {
		return nil, failure(ctx, doing, err)
	}
	me, err := f.me(ctx)
	if err != nil {
		return nil, failure(ctx, doing, err)
	}
	changed, err := f.changedSince(ctx, id, since)
	if err != nil {
		return nil, failure(ctx, doing, err)
	}
	var events []queue.Event
	known := map[int]*gitlab.MergeRequest{}
	for _, mr := range changed {
		known[mr.IID] = mr
		notes, err := f.missedNotes(ctx, id, mr.IID, me.ID, since)
		if err != nil {
			return nil, failure(ctx, doing, err)
		}
		labels, err := f.missedLabels(ctx, id, mr.IID, since)
		if err != nil {
			return nil, failure(ctx, doing, err)
		}
		events = append(append(events, notes...), labels...)
	}
	for _, number := range open {
		mr := known[number]
		if mr == nil {
			if mr, _, err = f.get(ctx, number); err != nil {
				return nil, failure(ctx, fmt.Sprintf("read merge request %d", number), err)
			}
		}
		events = append(events, standing(mr))
	}
	return events, nil
}

func (f *Forge) changedSince(ctx context.Context, id int, since time.Time) (list []*gitlab.MergeRequest, err error) {
	since = since.UTC().Truncate(time.Second)
	o := &gitlab.ListProjectMergeRequestsOptions{Scope: gitlab.Ptr("all"), State: gitlab.Ptr("all"), UpdatedAfter: &since, OrderBy: gitlab.Ptr("updated_at"), Sort: gitlab.Ptr("asc")}
	seen := map[int]bool{} // one that changes meanwhile is on a later page again
	err = all(func(page gitlab.ListOptions) ([]*gitlab.MergeRequest, *gitlab.Response, error) {
		o.ListOptions = page
		return f.client.MergeRequests.ListProjectMergeRequests(id, o, gitlab.WithContext(ctx))
	}, func(mr *gitlab.MergeRequest) bool {
		if !seen[mr.IID] {
			list = append(list, mr)
		}
		seen[mr.IID] = true
		return true
	})
	return list, err
}

// missedNotes reads the notes with commands since a moment. One that was edited is left
// out: what it said at first is not known.
func (f *Forge) missedNotes(ctx context.Context, id, number, me int, since time.Time) (events []queue.Event, err error) {
	err = f.eachNote(ctx, id, number, func(n *gitlab.Note) bool {
		if n.CreatedAt == nil || n.CreatedAt.Before(since) {
			return false
		}
		edited := n.UpdatedAt != nil && n.UpdatedAt.Sub(*n.CreatedAt) > time.Second
		if !n.System && !edited && n.Author.ID != me && hasCommand(n.Body) {
			events = append(events, noteEvent(number, n.ID, n.Author.Username, n.Body))
		}
		return true
	})
	slices.Reverse(events)
	return events, err
}

func (f *Forge) missedLabels(ctx context.Context, id, number int, since time.Time) (events []queue.Event, err error) {
	o := &gitlab.ListLabelEventsOptions{}
	err = all(func(page gitlab.ListOptions) ([]*gitlab.LabelEvent, *gitlab.Response, error) {
		o.ListOptions = page
		return f.client.ResourceLabelEvents.ListMergeRequestsLabelEvents(id, number, o, gitlab.WithContext(ctx))
	}, func(e *gitlab.LabelEvent) bool {
		if e.CreatedAt != nil && !e.CreatedAt.Before(since) && e.Label.Name != "" {
			events = append(events, queue.Event{ID: fmt.Sprintf("gitlab/label/%d", e.ID),
				Body: queue.Labeled{Number: number, Label: e.Label.Name, Actor: e.User.Username, On: e.Action == "add", Bot: isBot(e.User.Username)}})
		}
		return true
	})
	if errors.Is(err, gitlab.ErrNotFound) {
		return nil, nil
	}
	return events, err
}

// standing tells how a merge request stands. The id contains when it was last changed, so
// that going back to an earlier head is another event.
func standing(mr *gitlab.MergeRequest) queue.Event {
	at := int64(0)
	if mr.UpdatedAt != nil {
		at = mr.UpdatedAt.UnixMilli()
	}
	p := pull(mr)
	if !p.Open {
		return queue.Event{ID: fmt.Sprintf("gitlab/closed/%d/%d", p.Number, at), Body: queue.Closed{Number: p.Number, Merged: p.Merged}}
	}
	return queue.Event{ID: fmt.Sprintf("gitlab/head/%d/%d/%s", p.Number, at, p.Head), Body: queue.HeadMoved{Number: p.Number, Head: p.Head}}
}

// noteEvent is the same event however a note comes to be known.
func noteEvent(number, id int, author, body string) queue.Event {
	note := strconv.Itoa(id)
	return queue.Event{ID: "gitlab/note/" + note, Body: queue.Commented{Number: number, Comment: note, Author: author, Body: body, Bot: isBot(author)}}
}

var botName = regexp.MustCompile(`^(project|group)_\d+_bot(_|$|\d)`)

// isBot reports whether an account is one that GitLab has made for a token of a project or
// a group. Nothing else tells in webhooks.
func isBot(name string) bool { return botName.MatchString(name) }

// hasCommand says whether a text may contain commands: whether a line of it starts with a
// slash.
func hasCommand(body string) bool {
	for line := range strings.Lines(body) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "/") {
			return true
		}
	}
	return false
}
