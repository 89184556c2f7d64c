package memstore

import (
	"context"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// lease has the owner of a queue, and the newest token.
type lease struct {
	owner string // "" when nobody owns it
	until time.Time
	token int64
}

func (l *lease) held(now time.Time) bool { return l.owner != "" && now.Before(l.until) }

// Acquire implements queue.Store.
func (s *Store) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, now := &s.shelf(name).lease, s.now()
	if l.held(now) && l.owner != owner {
		return 0, queue.ErrNotOwner
	}
	if !l.held(now) {
		l.token++
	}
	l.owner, l.until = owner, now.Add(ttl)
	return l.token, nil
}

// Release implements queue.Store. The token is invalid afterwards.
func (s *Store) Release(ctx context.Context, name string, token int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := &s.shelf(name).lease; l.token == token && l.owner != "" {
		l.owner = ""
		l.token++
	}
	return nil
}
