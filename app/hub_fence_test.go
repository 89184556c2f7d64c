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

	"github.com/submitqueue/submitqueue/queue"
)

// An owner stands still right before its push, which begins with the pull request's
// branch, and another one takes the queue over: when the first goes on, it pushes nothing.
func TestPushOfAnOwnerThatLostItsLease(t *testing.T) {
	over := make(chan struct{})
	h := newHub(t, hubOptions{files: methods("method: squash"), talkative: true, wrap: func(s queue.Store) queue.Store { return &overtaking{Store: s, over: over} }})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	before := map[string]string{"main": h.Head("main"), "topic": h.Head("topic")}
	h.Comment("ann", n, "/land")
	<-over
	h.stop()
	for branch, was := range before {
		if now := h.Head(branch); now != was {
			t.Errorf("%s has moved from %s to %s: %s", branch, was, now, strings.TrimSpace(git(t, h.Dir(), "log", "-1", "--format=%s", branch)))
		}
	}
}

// overtaking gives the queue to another owner right before a push asks if it is still its
// own. Nothing else of the owner can have heard of that by then.
type overtaking struct {
	queue.Store
	once sync.Once
	over chan struct{} // closed when another one has it
}

func (s *overtaking) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (int64, error) {
	var err error
	if bytes.Contains(debug.Stack(), []byte("(*pusher).owning")) {
		s.once.Do(func() { err = s.overtake(ctx, name, owner) })
	}
	if err != nil {
		return 0, err
	}
	return s.Store.Acquire(ctx, name, owner, ttl)
}

func (s *overtaking) overtake(ctx context.Context, name, owner string) error {
	defer close(s.over)
	for {
		token, err := s.Store.Acquire(ctx, name, owner, time.Minute) // as it is: the token is its own
		if err == nil {
			err = s.Release(ctx, name, token)
		}
		if err == nil {
			_, err = s.Store.Acquire(ctx, name, "another", time.Minute)
		}
		if !errors.Is(err, queue.ErrNotOwner) { // else the owner was quicker
			return err
		}
	}
}
