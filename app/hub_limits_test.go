package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// TestWaitingForGitHubIsShown: while GitHub takes no requests, none are sent,
// whoever looks reads why, and the change lands when it is over.
func TestWaitingForGitHubIsShown(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.github.Fail(forgetest.Fault{Method: "GET", Path: "/repos/acme/shop/pulls/*", Status: 429, Header: http.Header{"Retry-After": {"8"}}})
	h.Comment("ann", n, "/land")
	h.until("the request has failed", func(c *speculation.Core) bool {
		for _, a := range c.State().Actions {
			if _, ok := a.Task.(queue.Inspect); ok && strings.Contains(a.Error, "429") {
				return true
			}
		}
		return false
	})
	const why = "the forge takes no requests of installation 2002 until"
	for path, want := range map[string]string{"/api/queue": `"waits":"` + why, "/": why} {
		if status, text := h.page(path); status != 200 || !strings.Contains(text, want) || !strings.Contains(text, "too many requests") {
			t.Errorf("%s: %d without %q:\n%.2000s", path, status, want, text)
		}
	}
	h.counted(`submitqueue_forge_refused_total{account="installation 2002"} 1`)
	asked := len(h.github.Requests("", "/repos/**"))
	h.landed(n)
	if since := len(h.github.Requests("", "/repos/**")) - asked; since < 4 {
		t.Errorf("%d requests since", since)
	}
	h.shows("/api/queue", `"phase":"landed"`)
	if _, text := h.page("/api/queue"); strings.Contains(text, `"waits"`) {
		t.Error(text)
	}
}
