package forgetest_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// hook records the deliveries that reach it.
type hook struct {
	*httptest.Server
	mu    sync.Mutex
	kinds []string
	guids []string
}

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		want := forgetest.WebhookHeader("", "", "key", body).Get("X-Hub-Signature-256")
		if r.Header.Get("X-Hub-Signature-256") != want {
			t.Error("the signature is wrong")
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kinds = append(h.kinds, r.Header.Get("X-GitHub-Event"))
		h.guids = append(h.guids, r.Header.Get("X-GitHub-Delivery"))
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) take(t *testing.T, s *forgetest.Server) (kinds, guids []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.WaitDelivered(ctx); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	kinds, guids = h.kinds, h.guids
	h.kinds, h.guids = nil, nil
	return kinds, guids
}

func TestWebhooksComeInOrder(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	h := newHook(t)
	r := mustRepository(t, s)
	s.AddUser("ann")
	r.SetPermission("ann", "write")
	s.SetWebhook(h.URL, "key")
	mustCommit(t, r, "ann", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "1"}})
	n := mustPull(t, r, "ann", "topic")
	r.Comment("ann", n, "/land")
	mustCommit(t, r, "ann", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "2"}})
	r.Review("o", n, "APPROVED", "", "")
	if err := r.DeleteBranch("ann", "topic"); err != nil {
		t.Fatal(err)
	}
	kinds, _ := h.take(t, s)
	want := "push pull_request issue_comment push pull_request pull_request_review push pull_request"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var actions []string
	for _, d := range s.Deliveries() {
		if d.Event == "pull_request" {
			actions = append(actions, d.Action)
		}
		if d.StatusCode != 200 || d.Status != "OK" {
			t.Errorf("%+v", d)
		}
	}
	if got := strings.Join(actions, " "); got != "opened synchronize closed" {
		t.Error(got)
	}
}

func TestWebhooksHeldShuffledDoubledLost(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	h := newHook(t)
	r := mustRepository(t, s)
	n := r.OpenIssue("o", "talk")
	s.SetWebhook(h.URL, "key")
	s.HoldWebhooks()
	for range 20 {
		r.Comment("o", n, "x")
	}
	if kinds, _ := h.take(t, s); kinds != nil {
		t.Fatalf("%v while held", kinds)
	}
	s.ShuffleWebhooks(rand.New(rand.NewPCG(1, 2)))
	s.ReleaseWebhooks()
	if _, guids := h.take(t, s); len(guids) != 20 || slices.IsSorted(guids) {
		t.Errorf("%d, in order: %v", len(guids), slices.IsSorted(guids))
	}

	s.DuplicateWebhooks(1)
	r.Comment("o", n, "x")
	r.Comment("o", n, "x")
	if _, guids := h.take(t, s); len(guids) != 3 || guids[0] != guids[1] || guids[1] == guids[2] {
		t.Errorf("doubled: %v", guids)
	}

	s.DropWebhooks(1)
	r.Comment("o", n, "x")
	r.Comment("o", n, "x")
	if _, guids := h.take(t, s); len(guids) != 1 {
		t.Errorf("lost: %v", guids)
	}
	lost := 0
	for _, d := range s.Deliveries() {
		if d.Status == "lost" {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d lost in the log", lost)
	}
}

func TestStrictFailsForWhatNobodyRead(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	n := r.OpenIssue("o", "talk")
	fake := &recordingTB{}
	s.Strict(fake)
	id := r.Comment(s.Bot(), n, "hello")
	r.Comment("o", n, "a person's words need no reader")
	if body, ok := r.TakeComment(n); !ok || body != "hello" {
		t.Errorf("%q %v", body, ok)
	}
	if _, ok := r.TakeComment(n); ok {
		t.Error("taken twice")
	}
	if s.AssertRead(fake); fake.failures != 0 {
		t.Error("failed although all was read")
	}
	r.EditComment(s.Bot(), id, "hello")
	if s.AssertRead(fake); fake.failures != 0 {
		t.Error("the same text again is not news")
	}
	r.EditComment(s.Bot(), id, "news")
	r.Look(func(v forgetest.View) {
		if v.Comments(n)[0].Edits != 2 {
			t.Error("edits")
		}
	})
	for _, f := range fake.cleanups {
		f()
	}
	if fake.failures != 1 {
		t.Errorf("%d failures for one unread text", fake.failures)
	}
	r.Comments(n)
	if len(r.Unread()) != 0 {
		t.Error("Comments marks as read")
	}
}

type recordingTB struct {
	failures int
	cleanups []func()
}

func (*recordingTB) Helper()                 {}
func (r *recordingTB) Errorf(string, ...any) { r.failures++ }
func (r *recordingTB) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }

func TestWaitFor(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	n := r.OpenIssue("o", "talk")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	done := make(chan error)
	go func() {
		done <- r.WaitFor(ctx, func(v forgetest.View) bool { return len(v.Comments(n)) == 2 })
	}()
	r.Comment("o", n, "1")
	r.Comment("o", n, "2")
	if err := <-done; err != nil {
		t.Error(err)
	}
	cancel()
	if err := r.WaitFor(ctx, func(forgetest.View) bool { return false }); err != context.Canceled {
		t.Error(err)
	}
}
