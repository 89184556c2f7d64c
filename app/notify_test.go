package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/notify"
	"github.com/submitqueue/submitqueue/queue"
)

// follows counts who begins to follow a history.
type follows struct {
	queue.Feed
	begun atomic.Int32
}

func (f *follows) Follow(ctx context.Context, name, reader string) (string, error) {
	f.begun.Add(1)
	return f.Feed.Follow(ctx, name, reader)
}

// Whoever owns a queue tells what it decides, and nobody else does: what another server
// notes waits until this one owns the queue.
func TestOwnerNotifies(t *testing.T) {
	t.Parallel()
	told := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		var m notify.Message
		if err := json.NewDecoder(q.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		told <- m.Kind + " " + m.Text
	}))
	t.Cleanup(receiver.Close)
	r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "test ! -e bad\n"})
	targets := must(notify.Parse([]string{"webhook=" + receiver.URL + "#kinds=all&secret=0123456789abcdef"}))
	r.stop()
	feed := &follows{Feed: r.store.(queue.Feed)}
	r.notify = notify.New(notify.Options{Targets: targets, Feed: feed, BaseURL: "http://x", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	r.start()
	r.branch("bad", "main", map[string]string{"bad": "bad\n"})
	r.verdict(r.land("bad"))
	hears := func(want string) { // and all else: the rig asks to land again when it starts again
		t.Helper()
		for over := time.After(patience); ; {
			select {
			case got := <-told:
				if strings.HasPrefix(got, want) {
					return
				}
			case <-over:
				t.Fatalf("it is not told: %q", want)
			}
		}
	}
	hears("rejected #1 bad, by ann. Rejected: failed in test")
	r.stop()

	ctx := context.Background()
	other := must(r.store.Acquire(ctx, rigQueue, "other", time.Hour))
	_, version, err := r.store.Load(ctx, rigQueue)
	mustNot(t, err)
	r.start()
	mustNot(t, r.store.Commit(ctx, queue.Turn{Queue: rigQueue, Token: other, Version: version, Notes: []queue.Note{{What: "main-red"}}}))
	for i := 0; r.owner.Ready() == nil || !strings.Contains(r.owner.Ready().Error(), "waiting for the lease"); i++ {
		if i > 1000 {
			t.Fatalf("it does not stand by: %v", r.owner.Ready())
		}
		<-time.After(10 * time.Millisecond)
	}
	if n := feed.begun.Load(); n != 1 {
		t.Errorf("the history was followed %d times, by a server that has owned the queue once", n)
	}
	mustNot(t, r.store.Release(ctx, rigQueue, other))
	hears("red The target branch is red")
}
