package github_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func bodies(events []queue.Event) []queue.Body {
	var list []queue.Body
	for _, e := range events {
		switch b := e.Body.(type) {
		case queue.Commented:
			b.Made = 0 // when it was given
			list = append(list, b)
		case queue.Labeled:
			b.Made = 0
			list = append(list, b)
		case queue.HeadMoved:
			b.Made = 0
			list = append(list, b)
		case queue.Edited:
			b.Made = 0
			list = append(list, b)
		default:
			list = append(list, b)
		}
	}
	return list
}

func TestMissedComments(t *testing.T) {
	c := &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	w := newWorld(t, forgetest.Options{Now: c.now})
	n := w.pull("topic")
	issue := w.repo.OpenIssue("bob", "broken")
	early := w.repo.Comment("ann", n, "/land too early")
	c.at = c.at.Add(time.Hour)
	since := c.at
	w.repo.EditComment("ann", early, "/land still too early")
	w.repo.Comment("ann", issue, "/land an issue")
	w.repo.Comment("ann", n, "no / command")
	w.must(w.forge.Comment(w.ctx, n, marker, "/land said by the bot"))
	id := w.repo.Comment("ann", n, "please\r\n  /land priority=high")
	got, err := w.forge.Missed(w.ctx, since.Add(300*time.Millisecond), nil)
	w.must(err)
	want := []queue.Event{{
		ID: fmt.Sprint("github/comment/", id),
		Body: queue.Commented{
			Number: n, Comment: fmt.Sprint(id), Author: "ann", Body: "please\r\n  /land priority=high",
			Made: queue.At(c.at), Late: true,
		},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMissedCommentsOfManyPages(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	for i := range 250 {
		w.repo.Comment("ann", n, fmt.Sprint("/land ", i))
	}
	got, err := w.forge.Missed(w.ctx, time.Time{}, nil)
	w.must(err)
	if len(got) != 250 || got[249].Body.(queue.Commented).Body != "/land 249" {
		t.Errorf("%d events", len(got))
	}
}

func TestMissedPullRequests(t *testing.T) {
	c := &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	w := newWorld(t, forgetest.Options{Now: c.now})
	w.commit("release", "main")
	var open []int
	for _, branch := range []string{"same", "moved", "closed", "drafted", "based"} {
		n := w.pull(branch)
		open = append(open, n)
		_, err := w.forge.PullRequest(w.ctx, n)
		w.must(err)
	}
	head := func(branch string) queue.CommitID { return queue.CommitID(w.repo.Head(branch)) }
	w.commit("moved", "")
	w.repo.ClosePull("ann", open[2])
	w.repo.SetDraft("ann", open[3], true)
	w.repo.Retarget("ann", open[4], "release")
	got, err := w.forge.Missed(w.ctx, c.at, open)
	w.must(err)
	want := []queue.Body{
		queue.HeadMoved{Number: 1, Head: head("same")},
		queue.HeadMoved{Number: 2, Head: head("moved")},
		queue.Closed{Number: 3},
		queue.HeadMoved{Number: 4, Head: head("drafted")}, queue.Retargeted{Number: 4},
		queue.HeadMoved{Number: 5, Head: head("based")}, queue.Retargeted{Number: 5},
	}
	if d := cmp.Diff(want, bodies(got)); d != "" {
		t.Error(d)
	}
	again, err := w.forge.Missed(w.ctx, c.at, open)
	w.must(err)
	if d := cmp.Diff(got, again); d != "" {
		t.Errorf("asked twice: %s", d)
	}

	// Back to an earlier head is another event.
	c.at = c.at.Add(time.Minute)
	was := head("moved")
	w.commit("moved", "")
	c.at = c.at.Add(time.Minute)
	_, err = w.repo.Commit("o", forgetest.Commit{Branch: "moved", From: string(was)})
	w.must(err)
	later, err := w.forge.Missed(w.ctx, c.at, open[1:2])
	w.must(err)
	if slices.ContainsFunc(got, func(e queue.Event) bool { return e.ID == later[0].ID }) {
		t.Errorf("the id %s is used twice", later[0].ID)
	}
	// One that is hidden, as those of an account that GitHub has flagged, keeps nobody else's news back.
	got, err = w.forge.Missed(w.ctx, c.at, []int{99, 1})
	w.must(err)
	if d := cmp.Diff([]queue.Body{queue.Closed{Number: 99}, queue.HeadMoved{Number: 1, Head: head("same")}}, bodies(got)); d != "" {
		t.Error(d)
	}
}

// The open pull requests are read from one list; what is not on it, by itself.
func TestMissedOfManyPullRequests(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	var open []int
	var want []queue.Body
	for i := range 30 {
		n := w.pull(fmt.Sprint("topic-", i))
		open = append(open, n)
		if i == 7 {
			w.repo.ClosePull("ann", n)
			want = append(want, queue.Closed{Number: n})
			continue
		}
		want = append(want, queue.HeadMoved{Number: n, Head: queue.CommitID(w.repo.Head(fmt.Sprint("topic-", i)))}, queue.Retargeted{Number: n})
	}
	w.pull("nobody's")
	got, err := w.forge.Missed(w.ctx, time.Now(), open)
	w.must(err)
	if d := cmp.Diff(want, bodies(got)); d != "" {
		t.Error(d)
	}
	if n := len(w.server.Requests("GET", "/repos/**")); n > 5 {
		t.Errorf("%d requests", n)
	}
}
