package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
)

const (
	shop     = "acme/shop@main"
	secret   = "0123456789abcdef0123456789abcdef"
	patience = 20 * time.Second
)

// rig is a queue's history with people who want to hear of it.
type rig struct {
	*testing.T
	key     string
	store   *memstore.Store
	token   int64
	version int64
	log     lines

	mu      sync.Mutex
	changed chan struct{}
	view    queue.QueueView
	names   []string // that mean the queue, beside its key and its repository
	results map[Result]int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOf(t, shop)
}

// newRigOf is newRig of a queue with another key.
func newRigOf(t *testing.T, key string) *rig {
	t.Helper()
	r := &rig{T: t, key: key, store: memstore.New(time.Now), changed: make(chan struct{}), results: map[Result]int{}}
	var err error
	if r.token, err = r.store.Acquire(t.Context(), key, "test", time.Hour); err != nil {
		t.Fatal(err)
	}
	return r
}

// Changed implements Source.
func (r *rig) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// View implements Source.
func (r *rig) View() queue.QueueView {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view
}

// Means implements Source.
func (r *rig) Means(name string) bool {
	repository, _, _ := strings.Cut(r.key, "@")
	return name == r.key || name == repository || slices.Contains(r.names, name)
}

// note has a turn note things.
func (r *rig) note(notes ...queue.Note) {
	r.Helper()
	if err := r.store.Commit(context.Background(), queue.Turn{Queue: r.key, Token: r.token, Version: r.version, Notes: notes}); err != nil {
		r.Fatal(err)
	}
	r.version++
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

// count returns how many tries came to a result.
func (r *rig) count(what Result) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.results[what]
}

// notifier returns a notifier that does not wait long for anything.
func (r *rig) notifier(feed queue.Feed, targets ...string) *Notifier {
	r.Helper()
	list, err := Parse(targets)
	if err != nil {
		r.Fatal(err)
	}
	n := New(Options{Targets: list, Feed: feed, BaseURL: "https://queue.example.com/", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(&r.log, nil)), Record: func(_, _ string, what Result) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.results[what]++
		}})
	n.pace, n.late, n.rest = time.Millisecond, 0, func(int) time.Duration { return time.Millisecond }
	return n
}

// run runs a notifier as the owner of the queue does, and returns once it follows the
// history. stop ends it.
func (r *rig) run(n *Notifier) (stop func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.Run(ctx, r.key, r)
	}()
	stop = func() {
		cancel()
		<-done
	}
	r.Cleanup(stop)
	for _, t := range n.Targets { // a place that is made now is where the target's would be
		if _, err := r.store.Follow(context.Background(), r.key, t.Name()); err != nil {
			r.Fatal(err)
		}
	}
	return stop
}

// until waits for something that the notifier does.
func (r *rig) until(what string, holds func() bool) {
	r.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			r.Fatalf("not so: %s\n%s", what, r.log.String())
		}
		<-time.After(time.Millisecond)
	}
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// request is what a receiver got.
type request struct {
	header http.Header
	body   []byte
	Message
}

// receiver is a real HTTP server that keeps what it gets.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	got    []request
	answer http.HandlerFunc // before it is kept; nil: 200. It keeps nothing that it answers otherwise
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{t: t, answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the sender has died
	}
	got := request{header: q.Header, body: body}
	if err := json.Unmarshal(body, &got.Message); err != nil {
		r.t.Errorf("the body is no JSON: %s", body)
	}
	r.mu.Lock()
	r.got = append(r.got, got)
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		answer(w, q)
	}
}

// hook is the receiver as a webhook of all kinds.
func (r *receiver) hook() string { return "webhook=" + r.URL + "/hook#kinds=all&secret=" + secret }

// all returns what came so far.
func (r *receiver) all() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// texts returns the texts of what came so far.
func (r *receiver) texts() (out []string) {
	for _, g := range r.all() {
		out = append(out, g.Text)
	}
	return out
}

// wants waits until these texts have come, and no others.
func (r *rig) wants(from *receiver, want ...string) {
	r.Helper()
	r.until("came "+strings.Join(want, " | "), func() bool { return len(from.all()) >= len(want) })
	if got := from.texts(); !slices.Equal(got, want) {
		r.Fatalf("came\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func landed(number int) queue.Note {
	return queue.Note{At: queue.At(time.Unix(1764010800, 0)), Change: queue.NewChangeID(number, "head", "land"), Number: number, What: "landed", Commit: "abc"}
}
