package github_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
)

func isErr(err, want error) bool { return errors.Is(err, want) }

const marker = "<!-- submitqueue:1 -->"

func TestCommentIsOneComment(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.server.Strict(t)
	n := w.pull("topic")
	w.repo.Comment("bob", n, "I quote "+marker)
	w.must(w.forge.Comment(w.ctx, n, marker, "one"))
	w.must(w.forge.Comment(w.ctx, n, marker, marker+"\ntwo"))
	w.must(w.newForge().Comment(w.ctx, n, marker, marker+"\nthree"))
	if body, ok := w.repo.TakeComment(n); !ok || body != marker+"\nthree" {
		t.Errorf("%q", body)
	}
	if list := w.repo.Comments(n); len(list) != 2 || list[1].Edits != 2 || list[1].Author != w.server.Bot() {
		t.Errorf("%+v", list)
	}
	var kinds []string
	for _, x := range w.repo.Writes() {
		kinds = append(kinds, x.Kind)
	}
	if got := strings.Join(kinds, ", "); got != "comment, comment edit, comment edit" {
		t.Error(got)
	}
}

func TestCommentThatWasDeletedIsMadeAgain(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	w.must(w.forge.Comment(w.ctx, n, marker, "one"))
	w.repo.DeleteComment("ann", w.repo.Comments(n)[0].ID)
	w.must(w.forge.Comment(w.ctx, n, marker, "two"))
	if list := w.repo.Comments(n); len(list) != 1 || list[0].Body != "two\n\n"+marker {
		t.Errorf("%+v", list)
	}
	if err := w.forge.Comment(w.ctx, 99, marker, "x"); !isErr(err, forge.ErrNotFound) {
		t.Errorf("no such pull request: %v", err)
	}
}

func TestCommentWhoseAnswerWasLostIsNotMadeTwice(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	w.server.Fail(forgetest.Fault{Method: "POST", Path: "/repos/o/r/issues/*/comments", After: true})
	var transient *forge.Transient
	if err := w.forge.Comment(w.ctx, n, marker, "one"); !errors.As(err, &transient) {
		t.Fatalf("a cut connection: %v", err)
	}
	w.must(w.forge.Comment(w.ctx, n, marker, "one"))
	if list := w.repo.Comments(n); len(list) != 1 {
		t.Errorf("%+v", list)
	}
}

func TestCommentAtOnceFromManySides(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := w.forge.Comment(w.ctx, n, marker, fmt.Sprint("text ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list := w.repo.Comments(n); len(list) != 1 {
		t.Errorf("%d comments", len(list))
	}
}

func TestCommentIsFoundBehindManyAndIsCut(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	for i := range 120 {
		w.repo.Comment("bob", n, fmt.Sprint("chat ", i))
	}
	w.must(w.forge.Comment(w.ctx, n, marker, "one"))
	w.must(w.newForge().Comment(w.ctx, n, marker, strings.Repeat("ä", 70_000)))
	list := w.repo.Comments(n)
	if len(list) != 121 || !strings.HasSuffix(list[120].Body, "… (cut)\n\n"+marker) {
		t.Errorf("%d comments, the last ends %q", len(list), list[len(list)-1].Body[len(list[len(list)-1].Body)-50:])
	}
}

func TestReact(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	id := w.repo.Comment("ann", n, "/land")
	for range 2 {
		w.must(w.forge.React(w.ctx, n, fmt.Sprint(id), forge.ReactionSeen))
	}
	if got := w.repo.Comments(n)[0].Reactions; len(got) != 1 || got[0].Content != "eyes" || got[0].User != w.server.Bot() {
		t.Errorf("%+v", got)
	}
	w.must(w.forge.React(w.ctx, n, "review-7", forge.ReactionAccepted))
	if last := w.repo.Writes()[1]; last.Text != "rocket" || last.Number != n {
		t.Errorf("%+v", last)
	}
	for _, id := range []string{"1", "x"} {
		if err := w.forge.React(w.ctx, n, id, forge.ReactionSeen); !isErr(err, forge.ErrNotFound) {
			t.Errorf("comment %s: %v", id, err)
		}
	}
}

func TestCheckIsOneRun(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	p, err := w.forge.PullRequest(w.ctx, n)
	w.must(err)
	w.repo.CI.SetCheck("ci", string(p.Head), "submitqueue", "failure") // another App's of the same name
	c := forge.Check{Name: "submitqueue", Head: p.Head, ExternalID: "1.a", State: forge.CheckQueued, Title: "Third of 5"}
	w.must(w.forge.Check(w.ctx, c))
	c.State = forge.CheckRunning
	w.must(w.newForge().Check(w.ctx, c))
	c.State, c.Summary, c.DetailsURL = forge.CheckFailed, strings.Repeat("x", 70_000), "https://q.example/1"
	w.must(w.forge.Check(w.ctx, c))
	c.State, c.Summary = forge.CheckRunning, "again"
	w.must(w.forge.Check(w.ctx, c))
	c.State, c.Title = forge.CheckPassed, "Landed"
	w.must(w.forge.Check(w.ctx, c))
	runs := w.repo.CI.Checks(string(p.Head))
	if len(runs) != 2 {
		t.Fatalf("%d runs", len(runs))
	}
	got := runs[1]
	if got.Status != "completed" || got.Conclusion != "success" || got.Title != "Landed" || got.Summary != "again" ||
		got.ExternalID != "1.a" || got.Updates != 4 || got.DetailsURL != "https://q.example/1" {
		t.Errorf("%+v", got)
	}
	c.ExternalID = "1.b"
	w.must(w.forge.Check(w.ctx, c))
	if runs := w.repo.CI.Checks(string(p.Head)); len(runs) != 3 {
		t.Errorf("another external id is another run: %d", len(runs))
	}
	c.Head = "0123456789012345678901234567890123456789"
	var transient *forge.Transient
	if err := w.forge.Check(w.ctx, c); err == nil || errors.As(err, &transient) {
		t.Errorf("a commit that is not there: %v", err)
	}
}

func TestCheckWhoseAnswerWasLostIsNotMadeTwice(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.pull("topic")
	c := forge.Check{Name: "submitqueue", Head: "", ExternalID: "1", State: forge.CheckQueued}
	p, err := w.forge.PullRequest(w.ctx, 1)
	w.must(err)
	c.Head = p.Head
	w.server.Fail(forgetest.Fault{Method: "POST", Path: "/repos/o/r/check-runs", Status: 502, After: true})
	var transient *forge.Transient
	if err := w.forge.Check(w.ctx, c); !errors.As(err, &transient) {
		t.Fatalf("502: %v", err)
	}
	w.must(w.forge.Check(w.ctx, c))
	if runs := w.repo.CI.Checks(string(c.Head)); len(runs) != 1 {
		t.Errorf("%d runs", len(runs))
	}
}

// GitHub sends mail for a new comment, and none for an edit.
func TestNewsIsANewComment(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	first := int64(0)
	says := func(f forge.Forge, id, text string, edits int) {
		t.Helper()
		body := text + "\n\n"
		if id != "" {
			body += queue.News(id) + "\n\n"
		}
		w.must(f.Comment(w.ctx, n, marker, body+marker))
		list := w.repo.Comments(n)
		if len(list) != 1 || list[0].Body != body+marker || list[0].Edits != edits || edits == 0 && list[0].ID <= first {
			t.Errorf("after %q: %+v", text, list)
		}
		first = list[0].ID
	}
	says(w.forge, "", "queued", 0)
	says(w.forge, "", "being built", 1)
	says(w.forge, "1", "rejected", 0)
	says(w.forge, "1", "rejected, and a failure more", 1)
	says(w.newForge(), "1", "rejected, after a restart", 2)
	says(w.newForge(), "", "queued again", 3)
	says(w.forge, "2", "rejected again", 0)

	// The answers are lost: there is one comment in the end, and never a second.
	body := "rejected for good\n\n" + queue.News("3") + "\n\n" + marker
	for _, method := range []string{"DELETE", "POST"} {
		w.server.Fail(forgetest.Fault{Method: method, Path: "/repos/o/r/issues/**", After: true})
		var transient *forge.Transient
		if err := w.forge.Comment(w.ctx, n, marker, body); !errors.As(err, &transient) || len(w.repo.Comments(n)) > 1 {
			t.Fatalf("a cut connection: %v, %+v", err, w.repo.Comments(n))
		}
	}
	w.must(w.forge.Comment(w.ctx, n, marker, body))
	if list := w.repo.Comments(n); len(list) != 1 || list[0].Body != body {
		t.Errorf("%+v", list)
	}
}

// A comment that GitHub does not let us delete says the news all the same.
func TestNewsOfACommentThatStays(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	w.must(w.forge.Comment(w.ctx, n, marker, "queued\n\n"+marker))
	w.server.Fail(forgetest.Fault{Method: "DELETE", Path: "/repos/o/r/issues/**", Status: 403, Message: "Resource not accessible by integration"})
	for edits, text := range []string{"rejected", "rejected, and a failure more"} {
		body := text + "\n\n" + queue.News("1") + "\n\n" + marker
		w.must(w.forge.Comment(w.ctx, n, marker, body))
		if list := w.repo.Comments(n); len(list) != 1 || list[0].Body != body || list[0].Edits != edits+1 {
			t.Errorf("%+v", list)
		}
	}
	if tried := w.server.Requests("DELETE", "/repos/o/r/issues/**"); len(tried) != 1 {
		t.Errorf("%+v", tried)
	}
}
