package app_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
)

// stuckStore is a store that stops answering whoever reads and writes queues.
type stuckStore struct {
	*memstore.Store
	stuck     chan struct{} // closed when it does
	committed sync.Once
	commits   chan struct{} // closed when a turn waits for it
	loaded    sync.Once
	loads     chan struct{} // closed when a start waits for it
}

func newStuckStore(of *memstore.Store) *stuckStore {
	return &stuckStore{Store: of, stuck: make(chan struct{}), commits: make(chan struct{}), loads: make(chan struct{})}
}

func (s *stuckStore) answers(ctx context.Context, met func()) error {
	select {
	case <-s.stuck:
		met()
		<-ctx.Done()
		return ctx.Err()
	default:
		return nil
	}
}

func (s *stuckStore) Commit(ctx context.Context, w queue.Turn) error {
	if err := s.answers(ctx, func() { s.committed.Do(func() { close(s.commits) }) }); err != nil {
		return err
	}
	return s.Store.Commit(ctx, w)
}

func (s *stuckStore) Load(ctx context.Context, q string) ([]queue.Record, int64, error) {
	if err := s.answers(ctx, func() { s.loaded.Do(func() { close(s.loads) }) }); err != nil {
		return nil, 0, err
	}
	return s.Store.Load(ctx, q)
}

func (s *stuckStore) History(ctx context.Context, q string, most int) ([]queue.Note, error) {
	if err := s.answers(ctx, func() {}); err != nil {
		return nil, err
	}
	return s.Store.History(ctx, q, most)
}

func (s *stuckStore) Known(ctx context.Context, q string, keys []queue.Key) ([]queue.Entry, error) {
	if err := s.answers(ctx, func() {}); err != nil {
		return nil, err
	}
	return s.Store.Known(ctx, q, keys)
}

// reader asks the server of a rig, and fails what is not answered in a moment.
func (r *rig) reader() func(path string) (int, string) {
	server := app.NewServer(app.ServerOptions{Source: r.queues, Ready: r.queues.Ready, Public: true})
	return func(path string) (int, string) {
		r.t.Helper()
		began := time.Now()
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		if took := time.Since(began); took > 20*time.Second { // of a page: a moment; of what the store knows: it is given up after two seconds; the rest is the machine's
			r.t.Errorf("GET %s has taken %v", path, took)
		}
		return w.Code, w.Body.String()
	}
}

// With a store that does not answer, a turn waits, and so does a start. Nobody who reads
// does: pages and the API show the queue as it was, say that the store is away, and answer
// in words where only the store knows.
func TestNobodyWhoReadsWaitsForTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "test ! -e bad\n"})
	r.branch("good", "main", map[string]string{"a": "a\n"})
	landed := r.land("good")
	r.verdict(landed)
	r.stop()
	store := newStuckStore(r.store.(*memstore.Store))
	r.store = store
	r.start()
	get := r.reader()
	for end := time.Now().Add(patience); ; {
		status, body := get("/readyz")
		if status == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not ready: %s", body)
		}
	}

	close(store.stuck)
	r.say(landed, "/land")
	<-store.commits
	want := map[string]string{"/": "good", "/queue?queue=" + rigQueue: "good", "/change?id=1": "good", "/api/queues": rigQueue, "/api/queue": `"title":"good"`,
		"/api/queue?full=1": `"title":"good"`, "/api/changes": `"title":"good"`, "/api/change?id=1": `"title":"good"`, "/api/blame": rigQueue,
		"/metrics": "submitqueue_", "/readyz": "ready", "/healthz": "alive"}
	for path, has := range want {
		if status, body := get(path); status != http.StatusOK || !strings.Contains(body, has) {
			t.Errorf("GET %s: %d %s", path, status, body)
		}
	}
	for _, path := range []string{"/api/history", "/api/ledger?what=x", "/api/forget?what=x"} {
		if status, body := get(path); status != http.StatusServiceUnavailable || !strings.Contains(body, "cannot be read now") {
			t.Errorf("GET %s: %d %s", path, status, body)
		}
	}
	for end := time.Now().Add(patience); ; {
		_, body := get("/api/queue")
		if strings.Contains(body, "the store has not answered since") && strings.Contains(body, `"title":"good"`) {
			break
		}
		select { // the page would not be another one before that
		case <-r.owner.Changed():
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("nobody is told that the store is away: %s", body)
		}
	}
	if status, body := get("/api/change?id=99"); status != http.StatusServiceUnavailable || !strings.Contains(body, "has not answered since") {
		t.Errorf("a change that may be new: %d %s", status, body)
	}

	r.stop()
	r.start()
	<-store.loads
	get = r.reader()
	for _, path := range []string{"/", "/api/queue", "/api/queues", "/metrics"} {
		if status, body := get(path); status != http.StatusOK {
			t.Errorf("while it starts, GET %s: %d %s", path, status, body)
		}
	}
	if status, _ := get("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("while it starts, /readyz: %d", status)
	}
}
