package app_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/workers"
)

// page returns what the server answers at a path.
func (h *hub) page(path string) (status int, text string) {
	h.Helper()
	res := must(http.Get("http://" + h.server.Addr() + path))
	defer res.Body.Close()
	return res.StatusCode, string(must(io.ReadAll(res.Body)))
}

// shows waits until the page at a path holds want.
func (h *hub) shows(path, want string) {
	h.Helper()
	for end := time.After(patience); ; {
		changed := h.owner.Changed()
		_, page := h.page(path)
		if strings.Contains(page, want) {
			return
		}
		select {
		case <-changed:
		case <-end:
			h.Fatalf("the page at %s does not say %q:\n%s", path, want, page)
		}
	}
}

// away waits until the queue is not up to date for a reason that holds want.
func (h *hub) away(want string) {
	h.Helper()
	for end := time.After(patience); ; {
		changed := h.owner.Changed()
		if strings.Contains(h.owner.Away(), want) {
			return
		}
		select {
		case <-changed:
		case <-end:
			h.Fatalf("away: %q, want %q", h.owner.Away(), want)
		}
	}
}

// A server that waits for a lease says so, and nothing of a branch it has not
// read: not that it is proven, nor that nothing waits.
func TestStartingIsNotReady(t *testing.T) {
	store := memstore.New(time.Now)
	token := must(store.Acquire(t.Context(), hubQueue, "a server that was killed", time.Hour))
	h := newHub(t, hubOptions{store: store, workers: workers.NewInstant(1)})
	h.away("waiting for the lease of the previous owner")
	for path, want := range map[string]struct {
		status int
		holds  []string
	}{
		"/readyz":          {503, []string{"starting: waiting for the lease"}},
		"/healthz":         {200, []string{"alive"}},
		"/api/queue":       {200, []string{`"away":"starting: waiting for the lease`, `"proven":false`}},
		"/":                {200, []string{"starting: waiting for the lease", "not read yet"}},
		"/api/change?id=":  {400, []string{"Say which change"}},
		"/api/change?id=1": {503, []string{"starting: waiting for the lease", "Try again"}},
	} {
		status, text := h.page(path)
		for _, holds := range want.holds {
			if status != want.status || !strings.Contains(text, holds) {
				t.Errorf("%s: %d without %q: %.300s", path, status, holds, text)
			}
		}
	}
	mustNot(t, store.Release(t.Context(), hubQueue, token))
	h.proven()
	if status, text := h.page("/readyz"); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	h.shows("/api/queue", `"proven":true`)
	if _, text := h.page("/api/queue"); strings.Contains(text, `"away"`) || !strings.Contains(text, `"proven":true`) {
		t.Error(text)
	}
}

// A server that is started again under its name does not wait for its own
// lease, and what its life before may still write is refused.
func TestRestartTakesItsOwnLeaseOver(t *testing.T) {
	store := memstore.New(time.Now)
	old := must(store.Acquire(t.Context(), hubQueue, "hub", time.Hour))
	h := newHub(t, hubOptions{store: store, workers: workers.NewInstant(1)})
	h.proven()
	_, version, err := store.Load(t.Context(), hubQueue)
	mustNot(t, err)
	if err := store.Commit(t.Context(), queue.Turn{Queue: hubQueue, Token: old, Version: version}); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("a turn under the token of the life before: %v", err)
	}
}

// unreachable is a store that no lease can be had of.
type unreachable struct{ queue.Store }

func (unreachable) Acquire(context.Context, string, string, time.Duration) (int64, error) {
	return 0, errors.New("dial tcp 10.0.0.7:6379: connection refused")
}

// What the store says is for the operator; people read what it means for them.
func TestStoreThatDoesNotAnswer(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(1), wrap: func(s queue.Store) queue.Store { return unreachable{s} }})
	h.away("the store does not answer; the queue goes on by itself")
	for _, path := range []string{"/api/queue", "/"} {
		if _, text := h.page(path); !strings.Contains(text, "the store does not answer") || strings.Contains(text, "10.0.0.7") {
			t.Errorf("%s: %.500s", path, text)
		}
	}
	if status, text := h.page("/readyz"); status != 503 || !strings.Contains(text, "10.0.0.7") {
		t.Errorf("%d %s", status, text)
	}
}

// unreadable is a forge whose repository cannot be reached.
type unreadable struct{ forge.Forge }

func (unreadable) Remote(context.Context) (forge.Remote, error) {
	return forge.Remote{}, errors.New("the cable is cut")
}

func TestUnreadableMainIsNotReady(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(1), forge: func(f forge.Forge) forge.Forge { return unreadable{f} }})
	h.away("main cannot be read: the cable is cut")
	if status, text := h.page("/readyz"); status != 503 || !strings.Contains(text, "the cable is cut") {
		t.Errorf("%d %s", status, text)
	}
}

// Nobody says when a plain repository is pushed to. A request to land has main
// read first: it is judged on the main that whoever asks sees.
func TestLandReadsMainFirst(t *testing.T) {
	w := newWindow(t, withToken)
	w.source.came = make(chan queue.Event, 2)
	ask := func() (int, string) {
		return w.command(t, "/api/land", "Bearer secret", "", `{"branch":"feature","user":"lena"}`)
	}
	v := smallQueue()
	v.Main.Config, v.Main.Broken = nil, "there is no .submitqueue.yml on main"
	w.source.set(v)
	if status, body := ask(); status != 409 || !strings.Contains(body, "there is no .submitqueue.yml on main") || !strings.Contains(body, "submitqueue validate") {
		t.Errorf("without a configuration: %d %s", status, body)
	}
	v.Main.Tip = "a commit before" // that has none either; the one that is there now has
	w.source.set(v)
	done := make(chan int)
	go func() {
		status, _ := ask()
		done <- status
	}()
	if e := <-w.source.came; e.Body != (queue.MainMoved{Branch: "main"}) {
		t.Errorf("submitted first: %+v", e)
	}
	w.source.set(smallQueue())
	if status := <-done; status != 202 {
		t.Errorf("with a configuration that has just been pushed: %d", status)
	}
}
