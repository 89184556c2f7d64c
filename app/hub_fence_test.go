package app_test

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// An owner stands still right before its push, which begins with the pull request's
// branch, and another one takes the queue over: when the first goes on, it pushes nothing.
func TestPushOfAnOwnerThatLostItsLease(t *testing.T) {
	refused := make(chan struct{})
	h := newHub(t, hubOptions{files: methods("method: squash"), talkative: true, wrap: func(s queue.Store) queue.Store { return &refusing{Store: s, refused: refused} }})
	h.proven()
	before := map[string]string{"main": h.Head("main")}
	still := make(chan struct{})
	h.github.Fail(forgetest.Fault{Method: "GET", Path: "/repos/acme/shop/branches/topic", Until: still, Times: 1})
	h.land("topic", map[string]string{"a": "a\n"})
	h.until("its push is under way", func(c *speculation.Core) bool { return c.State().Push != nil })
	before["topic"] = h.Head("topic")
	token := must(h.store.Acquire(t.Context(), hubQueue, "hub", time.Minute)) // as it is: the token is its own
	mustNot(t, h.store.Release(t.Context(), hubQueue, token))
	other := must(h.store.Acquire(t.Context(), hubQueue, "another", time.Minute))
	close(still)
	<-refused // and so the push has asked
	h.stop()
	for branch, was := range before {
		if now := h.Head(branch); now != was {
			t.Errorf("%s has moved from %s to %s: %s", branch, was, now, strings.TrimSpace(git(t, h.Dir(), "log", "-1", "--format=%s", branch)))
		}
	}
	mustNot(t, h.store.Release(t.Context(), hubQueue, other))
}

// refusing tells when a lease is refused to a push. The owner asks for it as well, and
// commits: it is not told that the queue is another's before the push is.
type refusing struct {
	queue.Store
	refused chan struct{}
	once    sync.Once
}

func (s *refusing) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (int64, error) {
	token, err := s.Store.Acquire(ctx, name, owner, ttl)
	if errors.Is(err, queue.ErrNotOwner) && bytes.Contains(debug.Stack(), []byte("(*pusher).owning")) {
		s.once.Do(func() { close(s.refused) })
	}
	return token, s.later(ctx, err)
}

func (s *refusing) Commit(ctx context.Context, t queue.Turn) error {
	return s.later(ctx, s.Store.Commit(ctx, t))
}

func (s *refusing) later(ctx context.Context, err error) error {
	if errors.Is(err, queue.ErrNotOwner) {
		select {
		case <-s.refused:
		case <-ctx.Done():
		}
	}
	return err
}
