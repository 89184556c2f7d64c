package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/workers"
)

// A command is acknowledged before anything is asked of GitHub, and a change that
// lands costs few calls: the reaction, the pull request with its reviews and who
// asks, the comment (looked for, made, edited), the check (made, edited).
func TestCallsOfOneLanding(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4), progress: time.Hour})
	h.proven()
	before := h.land("first", map[string]string{"a": "a\n"})
	h.landed(before)
	h.seen()
	h.quiet()
	from := len(h.github.Requests("", "/**"))
	n := h.pull("topic", map[string]string{"b": "b\n"})
	h.Comment("ann", n, "/land")
	h.landed(n)
	h.seen()
	h.quiet()
	var calls []string
	written := "" // first of all
	for _, r := range h.github.Requests("", "/**")[from:] {
		if strings.HasPrefix(r.Path, "/repos/") {
			calls = append(calls, fmt.Sprint(r.Method, " ", r.Path, " ", r.Status))
			if written == "" && r.Method != http.MethodGet {
				written = calls[len(calls)-1]
			}
		}
	}
	if want := fmt.Sprintf("POST /repos/acme/shop/issues/comments/%d/reactions 201", h.Comments(n)[0].ID); written != want {
		t.Errorf("what is written first is %q, want %s; the calls: %v", written, want, calls)
	}
	if len(calls) > 10 {
		t.Errorf("%d calls: %v", len(calls), calls)
	}
	if c := h.Comments(n)[0]; fmt.Sprint(c.Reactions) == "[]" {
		t.Errorf("no reaction: %+v", c)
	}
}
