package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/queue"
)

// Missed reads comments with commands that were written since then, and how the open
// pull requests stand now. A comment has the same event id here and in its webhook.
// Commands in the texts of reviews and labels are not found here: GitHub lists neither
// by time; Redeliver brings them back.
func (f *Forge) Missed(ctx context.Context, since time.Time, open []int) ([]queue.Event, error) {
	ctx = background(ctx)
	events, err := f.missedComments(ctx, since)
	if err != nil {
		return nil, failure(ctx, "list comments", err)
	}
	inline, err := f.missedInline(ctx, since)
	if err != nil {
		return nil, failure(ctx, "list comments of reviews", err)
	}
	events = append(events, inline...)
	known, err := f.listed(ctx, open)
	if err != nil {
		return nil, failure(ctx, "list the open pull requests", err)
	}
	for _, number := range open {
		if p := known[number]; p != nil {
			events = append(events, f.standing(p)...)
			continue
		}
		more, err := f.missedPull(ctx, number)
		if err != nil {
			return nil, failure(ctx, fmt.Sprintf("read pull request %d", number), err)
		}
		events = append(events, more...)
	}
	return events, nil
}

func (f *Forge) missedComments(ctx context.Context, since time.Time) ([]queue.Event, error) {
	since = since.UTC().Truncate(time.Second) // GitHub's times have no fractions
	bot, err := f.bot(ctx)
	if err != nil {
		return nil, err
	}
	opts := &github.IssueListCommentsOptions{
		Sort: github.String("created"), Direction: github.String("asc"), Since: &since,
		ListOptions: github.ListOptions{PerPage: 100},
	}
	var events []queue.Event
	for {
		list, resp, err := f.client.Issues.ListComments(ctx, f.o.Owner, f.o.Name, 0, opts)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			// since filters by the last edit; an edit makes no command.
			edited := c.GetUpdatedAt().After(c.GetCreatedAt().Time) // its first text is not known
			if edited || c.GetCreatedAt().Before(since) || strings.EqualFold(c.GetUser().GetLogin(), bot) ||
				!strings.Contains(c.GetHTMLURL(), "/pull/") || !hasCommand(c.GetBody()) {
				continue
			}
			number, err := strconv.Atoi(path.Base(c.GetIssueURL()))
			if err != nil {
				continue
			}
			events = append(events, late(commentEvent(number, "", c.GetID(), accountOf(c.GetUser()), c.GetBody(), c.GetCreatedAt().Time)))
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			return events, nil
		}
	}
}

// missedInline is missedComments for the comments of reviews.
func (f *Forge) missedInline(ctx context.Context, since time.Time) ([]queue.Event, error) {
	since = since.UTC().Truncate(time.Second)
	opts := &github.PullRequestListCommentsOptions{Sort: "created", Direction: "asc", Since: since, ListOptions: github.ListOptions{PerPage: 100}}
	var events []queue.Event
	for {
		list, resp, err := f.client.PullRequests.ListComments(ctx, f.o.Owner, f.o.Name, 0, opts)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if c.GetUpdatedAt().After(c.GetCreatedAt().Time) || c.GetCreatedAt().Before(since) || !hasCommand(c.GetBody()) {
				continue
			}
			if number, err := strconv.Atoi(path.Base(c.GetPullRequestURL())); err == nil {
				events = append(events, late(commentEvent(number, inlinePrefix, c.GetID(), accountOf(c.GetUser()), c.GetBody(), c.GetCreatedAt().Time)))
			}
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			return events, nil
		}
	}
}

func accountOf(u *github.User) account { return account{Login: u.GetLogin(), Type: u.GetType()} }

// listed reads the pull requests from the list of the open ones, most recently
// changed first: a hundred with one request. It ends where reading the rest one by
// one costs no more.
func (f *Forge) listed(ctx context.Context, numbers []int) (map[int]*github.PullRequest, error) {
	found := map[int]*github.PullRequest{}
	opts := &github.PullRequestListOptions{State: "open", Sort: "updated", Direction: "desc", ListOptions: github.ListOptions{PerPage: 100}}
	for pages := 1; len(numbers)-len(found) > pages; pages++ {
		list, resp, err := f.client.PullRequests.List(ctx, f.o.Owner, f.o.Name, opts)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if slices.Contains(numbers, p.GetNumber()) {
				found[p.GetNumber()] = p
			}
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			break
		}
	}
	return found, nil
}

// missedPull tells how one pull request stands.
func (f *Forge) missedPull(ctx context.Context, number int) ([]queue.Event, error) {
	p, _, err := f.client.PullRequests.Get(ctx, f.o.Owner, f.o.Name, number)
	if isNotFound(err) { // GitHub hides those of accounts that it has flagged
		return []queue.Event{f.closed(number, false, time.Now())}, nil
	}
	if err != nil {
		return nil, err
	}
	return f.standing(p), nil
}

// standing tells how a pull request stands. The ids contain the time of its last
// change, so that going back to an earlier head is another event.
func (f *Forge) standing(p *github.PullRequest) []queue.Event {
	number := p.GetNumber()
	id := func(kind string) string {
		return fmt.Sprintf("github/%s/%d/%d", kind, number, p.GetUpdatedAt().Unix())
	}
	if p.GetState() != "open" {
		return []queue.Event{f.closed(number, p.GetMerged(), p.GetUpdatedAt().Time)}
	}
	head := p.GetHead().GetSHA()
	events := []queue.Event{{ID: id("head") + "/" + head, Body: queue.HeadMoved{Number: number, Head: queue.CommitID(head)}}}
	was, known := recall(f, f.inspects, number)
	if now := (pullCondition{p.GetBase().GetRef(), p.GetDraft()}); !known || was != now {
		events = append(events, queue.Event{ID: id("retargeted"), Body: queue.Retargeted{Number: number}})
	}
	return events
}

// closed tells that a pull request is not open any more, and since when.
func (f *Forge) closed(number int, merged bool, at time.Time) queue.Event {
	forget(f, f.inspects, number)
	return queue.Event{ID: fmt.Sprintf("github/closed/%d/%d", number, at.Unix()), Body: queue.Closed{Number: number, Merged: merged}}
}

// Redeliver asks GitHub to send again the webhooks of the App that failed since a
// moment, of all its installations, and returns how many. GitHub keeps them for
// about three days; each comes with the id it had. One that has arrived since is
// not asked for.
func (f *Forge) Redeliver(ctx context.Context, since time.Time) (int, error) {
	if f.o.App != nil {
		return f.o.App.redeliver(ctx, since)
	}
	const doing = "ask for lost webhooks"
	ctx = background(ctx)
	arrived := map[string]bool{}
	failed := map[string]int64{} // the newest attempt of each
	var order []string
	opts := &github.ListCursorOptions{PerPage: 100}
	for {
		list, resp, err := f.app.Apps.ListHookDeliveries(ctx, opts)
		if err != nil {
			return 0, failure(ctx, doing, asApp(err))
		}
		recent := true
		for _, d := range list { // newest first
			guid := d.GetGUID()
			if recent = !d.GetDeliveredAt().Before(since.Truncate(time.Second)); !recent {
				break
			}
			if d.GetStatusCode()/100 == 2 {
				arrived[guid] = true
			} else if failed[guid] == 0 {
				failed[guid] = d.GetID()
				order = append(order, guid)
			}
		}
		if opts.Cursor = resp.Cursor; opts.Cursor == "" || !recent {
			break
		}
	}
	asked := 0
	for i := len(order) - 1; i >= 0; i-- { // oldest first
		if arrived[order[i]] {
			continue
		}
		_, _, err := f.app.Apps.RedeliverHookDelivery(ctx, failed[order[i]])
		// 202 is success, which go-github v60 returns as an error.
		if accepted := (*github.AcceptedError)(nil); err == nil || errors.As(err, &accepted) {
			asked++
			continue
		}
		if !isNotFound(err) && !hasStatus(err, http.StatusUnprocessableEntity) {
			return asked, failure(ctx, doing, asApp(err))
		}
		f.log.Warn("GitHub does not send a lost webhook again; the others are asked for", "delivery", order[i], "error", err)
	}
	return asked, nil
}
