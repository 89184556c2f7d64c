package gitlab_test

import (
	"net/http"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue"
)

// GitLab sends mail for a new note, and none for an edit.
func TestNewsIsANewNote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	n := w.opened("topic")
	const marker = "<!-- submitqueue:1 -->"
	says := func(f forge.Forge, id, text string, notes int) {
		t.Helper()
		body := text + "\n\n"
		if id != "" {
			body += queue.News(id) + "\n\n"
		}
		if err := f.Comment(t.Context(), n, marker, body+marker); err != nil {
			t.Fatal(err)
		}
		list := w.project.Notes(w.server.Bot(), n)
		if len(list) != 1 || list[0].Body != body+marker || w.count("POST", "/notes") != notes {
			t.Errorf("after %q: %+v, and %d were made", text, list, w.count("POST", "/notes"))
		}
	}
	says(w.forge, "", "queued", 1)
	says(w.forge, "", "being built", 1)
	says(w.forge, "1", "rejected", 2)
	says(w.forge, "1", "rejected, and a failure more", 2)
	says(w.newForge(), "1", "rejected, after a restart", 2)
	says(w.newForge(), "", "queued again", 2)
	says(w.forge, "2", "rejected again", 3)

	// The answers are lost: there is one note in the end, and never a second.
	body := "rejected for good\n\n" + queue.News("3") + "\n\n" + marker
	for _, method := range []string{"DELETE", "POST"} {
		w.server.Fail(fake.Fault{Method: method, Path: "/notes", Status: 502, Done: true})
		if err := w.forge.Comment(t.Context(), n, marker, body); transient(err) == nil || len(w.project.Notes(w.server.Bot(), n)) > 1 {
			t.Errorf("a lost answer: %v", err)
		}
	}
	if err := w.forge.Comment(t.Context(), n, marker, body); err != nil {
		t.Error(err)
	}
	if list := w.project.Notes(w.server.Bot(), n); len(list) != 1 || list[0].Body != body {
		t.Errorf("%+v", list)
	}
}

// A note that GitLab does not let us delete says the news all the same.
func TestNewsOfANoteThatStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	n := w.opened("topic")
	const marker = "<!-- submitqueue:1 -->"
	if err := w.forge.Comment(t.Context(), n, marker, "queued\n\n"+marker); err != nil {
		t.Fatal(err)
	}
	w.server.Fail(fake.Fault{Method: "DELETE", Path: "/notes", Status: http.StatusForbidden})
	for _, text := range []string{"rejected", "rejected, and a failure more"} {
		body := text + "\n\n" + queue.News("1") + "\n\n" + marker
		if err := w.forge.Comment(t.Context(), n, marker, body); err != nil {
			t.Fatal(err)
		}
		if list := w.project.Notes(w.server.Bot(), n); len(list) != 1 || list[0].Body != body || w.count("POST", "/notes") != 1 {
			t.Errorf("%+v", list)
		}
	}
	if got := w.count("DELETE", ""); got != 1 {
		t.Errorf("it was deleted %d times", got)
	}
}

// While GitLab takes no new notes, the old one stays where it is.
func TestNewsWaitsForNotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	n, other := w.opened("topic"), w.opened("other")
	const marker = "<!-- submitqueue:1 -->"
	if err := w.forge.Comment(t.Context(), n, marker, "queued\n\n"+marker); err != nil {
		t.Fatal(err)
	}
	w.server.Fail(fake.Fault{Method: "POST", Path: "/notes", Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"60"}}})
	if err := w.forge.Comment(t.Context(), other, marker, "queued\n\n"+marker); transient(err) == nil {
		t.Fatalf("too many notes: %v", err)
	}
	if err := w.forge.Comment(t.Context(), n, marker, "rejected\n\n"+queue.News("1")+"\n\n"+marker); transient(err) == nil {
		t.Errorf("no note is written: %v", err)
	}
	if list := w.project.Notes(w.server.Bot(), n); len(list) != 1 {
		t.Errorf("%+v", list)
	}
}
