package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Acquire implements queue.Store. Expiry follows the clock of Redis. An owner
// with an expired lease gets another token, even if nobody took the lease;
// until somebody does, its old token still commits.
func (s *Store) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (int64, error) {
	k := keysOf(name)
	text, err := acquireScript.Run(ctx, s.client, []string{k.lease(), k.fence()}, owner, milliseconds(ttl)).Text()
	if err != nil {
		return 0, fmt.Errorf("redisstore: acquiring %s: %w", name, err)
	}
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("redisstore: acquiring %s: token: %w", name, err)
	}
	if token == saidNotOwner {
		return 0, queue.ErrNotOwner
	}
	return token, nil
}

// Release implements queue.Store. The token is invalid afterwards.
func (s *Store) Release(ctx context.Context, name string, token int64) error {
	k := keysOf(name)
	if err := releaseScript.Run(ctx, s.client, []string{k.lease(), k.fence()}, token).Err(); err != nil {
		return fmt.Errorf("redisstore: releasing %s: %w", name, err)
	}
	return nil
}

// milliseconds rounds up, because Redis takes zero as an error or as "for ever".
func milliseconds(d time.Duration) int64 {
	return max(1, int64((d+time.Millisecond-1)/time.Millisecond))
}
