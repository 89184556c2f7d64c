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
// changed since; a note has the same event id here and in its webhook. Our note shows
// whether the queue has acted on a label or an assignment: an event that is older than the
// note's last edit was handled, or was overtaken by a later event. A known gap: where webhooks
// are lost, a label that is taken off is overlooked if our own note was edited after that.
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
	f.lookAtHooks(ctx, id)
	changed, err := f.changedSince(ctx, id, since)
	if err != nil {
		return nil, failure(ctx, doing, err)
	}
	var events []queue.Event
	known := map[int]*gitlab.MergeRequest{}
	for _, mr := range changed {
		known[mr.IID] = mr
		labels, err := f.missedLabels(ctx, id, mr.IID, since)
		if err != nil {
			return nil, failure(ctx, doing, err)
		}
		notes, assigned, said, err := f.missedNotes(ctx, id, mr.IID, me, since, len(labels) > 0)
		if err != nil {
			return nil, failure(ctx, doing, err)
		}
		events = append(events, notes...)
		for _, l := range slices.SortedFunc(slices.Values(append(labels, assigned...)), func(a, b told) int { return a.at.Compare(b.at) }) {
			if l.at.After(said) {
				events = append(events, l.Event)
			}
		}
	}
	for _, number := range open {
		mr := known[number]
		if mr == nil {
			mr, _, err = f.get(ctx, number)
			if errors.Is(err, gitlab.ErrNotFound) { // somebody has deleted it, which no webhook says
				events = append(events, closedEvent(number, false, time.Now().UnixMilli()))
				continue
			}
			if err != nil {
				return nil, failure(ctx, fmt.Sprintf("read merge request %d", number), err)
			}
		}
		events = append(events, standing(mr))
	}
	return events, nil
}

// changedSince lists the merge requests that have changed since a moment, those that changed
// last at the end. A merge request that changes meanwhile goes to the end, and all after it
// move up. So the next page begins at the time of the last one that was read, not at its place.
// One that is listed twice is as the later page has it.
func (f *Forge) changedSince(ctx context.Context, id int, since time.Time) (list []*gitlab.MergeRequest, err error) {
	since = since.UTC().Truncate(time.Second)
	o := &gitlab.ListProjectMergeRequestsOptions{Scope: gitlab.Ptr("all"), State: gitlab.Ptr("all"), OrderBy: gitlab.Ptr("updated_at"), Sort: gitlab.Ptr("asc"),
		ListOptions: gitlab.ListOptions{PerPage: hundred}}
	at := map[int]int{}
	for {
		o.UpdatedAfter = gitlab.Ptr(since)
		page, resp, err := f.client.MergeRequests.ListProjectMergeRequests(id, o, gitlab.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		last := since
		for _, mr := range page {
			if i, seen := at[mr.IID]; seen {
				list[i] = mr
			} else {
				at[mr.IID], list = len(list), append(list, mr)
			}
			if mr.UpdatedAt != nil {
				last = mr.UpdatedAt.UTC().Truncate(time.Second)
			}
		}
		switch {
		case resp.NextPage == 0:
			return list, nil
		case last.After(since):
			since, o.Page = last, 0
		default: // more than a page of one second
			o.Page = resp.NextPage
		}
	}
}

// told is an event and when it happened.
type told struct {
	queue.Event
	at time.Time
}

// missedNotes reads the notes with commands since a moment, and the events that assigned us
// since. If there are any, or said is set, it also reads when our own note was last edited.
// A note that was edited is left out: its first text is not known.
func (f *Forge) missedNotes(ctx context.Context, id, number int, me *gitlab.User, since time.Time, said bool) (notes []queue.Event, assigned []told, ours time.Time, err error) {
	err = f.eachNote(ctx, id, number, func(n *gitlab.Note) bool {
		if n.CreatedAt == nil {
			return true
		}
		if n.Author.ID == me.ID && !n.System && n.UpdatedAt != nil && n.UpdatedAt.After(ours) {
			ours = *n.UpdatedAt
		}
		if n.CreatedAt.Before(since) {
			return (said || len(assigned) > 0) && ours.IsZero()
		}
		edited := n.UpdatedAt != nil && n.UpdatedAt.Sub(*n.CreatedAt) > time.Second
		switch on, is := assigns(n.Body, me.Username); {
		case n.Author.ID == me.ID:
		case n.System && is:
			assigned = append(assigned, told{queue.Event{ID: fmt.Sprintf("gitlab/assigned/%d", n.ID),
				Body: queue.Labeled{Number: number, Actor: n.Author.Username, On: on, Assigned: true, Bot: isBot(n.Author.Username), Made: queue.At(*n.CreatedAt), Late: true}}, *n.CreatedAt})
		case !n.System && !edited && hasCommand(n.Body):
			e := noteEvent(number, n.ID, n.Author.Username, n.Body, *n.CreatedAt)
			b := e.Body.(queue.Commented)
			b.Late = true
			e.Body = b
			notes = append(notes, e)
		}
		return true
	})
	slices.Reverse(notes)
	return notes, assigned, ours, err
}

// assigns reads from a system note, such as "assigned to @ann and unassigned @bob",
// whether an account was assigned or unassigned.
func assigns(note, account string) (on, is bool) {
	to, from, _ := strings.Cut(note, "unassigned ")
	has := func(text string) bool {
		return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }), func(w string) bool { return strings.EqualFold(w, "@"+account) })
	}
	switch {
	case strings.HasPrefix(to, "assigned to ") && has(to):
		return true, true
	case (to == "" || strings.HasPrefix(to, "assigned to ")) && has(from):
		return false, true
	}
	return false, false
}

func (f *Forge) missedLabels(ctx context.Context, id, number int, since time.Time) (events []told, err error) {
	o := &gitlab.ListLabelEventsOptions{}
	err = all(func(page gitlab.ListOptions) ([]*gitlab.LabelEvent, *gitlab.Response, error) {
		o.ListOptions = page
		return f.client.ResourceLabelEvents.ListMergeRequestsLabelEvents(id, number, o, gitlab.WithContext(ctx))
	}, func(e *gitlab.LabelEvent) bool {
		if e.CreatedAt != nil && !e.CreatedAt.Before(since) && e.Label.Name != "" {
			events = append(events, told{queue.Event{ID: fmt.Sprintf("gitlab/label/%d", e.ID),
				Body: queue.Labeled{Number: number, Label: e.Label.Name, Actor: e.User.Username, On: e.Action == "add", Bot: isBot(e.User.Username), Made: queue.At(*e.CreatedAt), Late: true}}, *e.CreatedAt})
		}
		return true
	})
	if errors.Is(err, gitlab.ErrNotFound) {
		return nil, nil
	}
	return events, err
}

// lookAtHooks finds webhooks to a queue's server that GitLab has switched off, logs them,
// and has GitLab test them at once: a test that arrives switches its webhook on again. It
// does nothing if the account may not see webhooks.
func (f *Forge) lookAtHooks(ctx context.Context, id int) {
	place := HookPlace{Project: id}
	hooks, err := f.ListHooks(ctx, place)
	if err != nil {
		f.log.Debug("the webhooks cannot be looked at", "error", err)
		return
	}
	for _, h := range hooks {
		if !h.Ours() || h.Alert == "" || h.Alert == "executable" {
			continue
		}
		f.log.Warn("GitLab has switched a webhook off, since too many in a row did not arrive; the missed events are read now", "webhook", h.ID, "state", h.Alert, "until", h.Until())
		if err := f.TestHook(ctx, place, h.ID); err != nil {
			f.log.Warn("a webhook that is switched off still does not arrive; submitqueue doctor says more", "webhook", h.ID, "error", err)
			continue
		}
		f.log.Info("a webhook that was switched off is on again", "webhook", h.ID)
	}
}

// standing tells how a merge request stands. The id contains the time of its last change,
// so that going back to an earlier head is another event.
func standing(mr *gitlab.MergeRequest) queue.Event {
	at := int64(0)
	if mr.UpdatedAt != nil {
		at = mr.UpdatedAt.UnixMilli()
	}
	p := pull(mr)
	if !p.Open {
		return closedEvent(p.Number, p.Merged, at)
	}
	return queue.Event{ID: fmt.Sprintf("gitlab/head/%d/%d/%s", p.Number, at, p.Head), Body: queue.HeadMoved{Number: p.Number, Head: p.Head}}
}

// closedEvent tells that a merge request is not open any more, and since when, in milliseconds.
func closedEvent(number int, merged bool, at int64) queue.Event {
	return queue.Event{ID: fmt.Sprintf("gitlab/closed/%d/%d", number, at), Body: queue.Closed{Number: number, Merged: merged}}
}

// noteEvent returns the same event in whichever way we learn of a note.
func noteEvent(number, id int, author, body string, made time.Time) queue.Event {
	note := strconv.Itoa(id)
	return queue.Event{ID: "gitlab/note/" + note, Body: queue.Commented{Number: number, Comment: note, Author: author, Body: body, Bot: isBot(author), Made: instantOf(made)}}
}

var botName = regexp.MustCompile(`^(project|group)_\d+_bot(_|$|\d)`)

// isBot reports whether GitLab has made an account for a token of a project or a group. In
// webhooks, only the name tells.
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
