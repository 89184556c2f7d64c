// Package redisstore keeps queues in Redis (6.2 or later, or another server
// that speaks its protocol). It passes the same suite as queue/memstore.
//
// Under the prefix sq:{<queue>}: each queue has a stream "inbox" with a key "seen:<id>" per
// event id; a hash per kind of record and a "version"; a "lease" and a "fence" (the newest
// fencing token); a stream "history" and a hash "places" with the places of its readers; a
// stream "past" with the rows of the event archive, and "past:bytes", their total length; a
// key "known:<key id>" per archived pass; and a hash "unread" with the events that this
// version could not read.
//
// A turn is committed by one script, so it is written whole or not at all, even
// if Redis crashes. An acknowledged turn survives such a crash only if Redis
// syncs its append-only file before it answers: see Durability.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/submitqueue/submitqueue/queue"
)

var _ queue.Store = (*Store)(nil)

// Options say where the Redis is.
type Options struct {
	// URL is redis://, rediss:// or unix://, or redis+cluster:// and
	// rediss+cluster:// with further nodes as ?addr=host:port.
	URL string
	// Logger hears of events that cannot be read. Nil: slog.Default.
	Logger *slog.Logger
	// Past bounds the event archive of each queue. Zero: the defaults.
	Past queue.PastBounds
}

// Store is a queue.Store on Redis. It is safe for concurrent use.
type Store struct {
	client  redis.UniversalClient
	waiters *waiters // connections that block
	log     *slog.Logger
	version string // of Redis; "" when it does not tell
	url     string
	past    queue.PastBounds
}

// Open connects to a Redis and checks that it answers and is not too old. It
// does not ask how durable the Redis is: see Durability.
func Open(ctx context.Context, opts Options) (*Store, error) {
	quiet()
	dial, err := dialerOf(opts.URL)
	if err != nil {
		return nil, err
	}
	log := opts.Logger
	if log == nil {
		log = slog.Default()
	}
	s := &Store{client: dial(nil), waiters: newWaiters(dial), log: log, url: opts.URL, past: opts.Past.OrDefault()}
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// quiet keeps go-redis from writing to standard error, for the whole process: its messages come
// back as errors, too, and it would write them once for each retry.
var quiet = sync.OnceFunc(func() { redis.SetLogger(&logging.VoidLogger{}) })

// dialer makes a client. track, if not nil, sees each of its connections.
type dialer func(track *tracker) redis.UniversalClient

func dialerOf(url string) (dialer, error) {
	if scheme, rest, ok := strings.Cut(url, "+cluster://"); ok {
		opts, err := redis.ParseClusterURL(scheme + "://" + rest)
		if err != nil {
			return nil, errURL
		}
		return func(track *tracker) redis.UniversalClient {
			o := *opts
			o.DisableIdentity, o.DialerRetries = true, 1
			o.MaintNotificationsConfig = noNotifications()
			o.ContextTimeoutEnabled = track == nil
			if track != nil {
				o.MaxRedirects, o.MaxRetries = 3, -1
				o.Dialer = track.dialer(redis.NewDialer(&redis.Options{TLSConfig: o.TLSConfig, DialTimeout: dialTimeout}))
			}
			return redis.NewClusterClient(&o)
		}, nil
	}
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errURL
	}
	return func(track *tracker) redis.UniversalClient {
		o := *opts
		o.DisableIdentity, o.DialerRetries = true, 1
		o.MaintNotificationsConfig = noNotifications()
		o.ContextTimeoutEnabled = track == nil
		if track != nil {
			o.MaxRetries, o.PoolSize = -1, 1
			o.Dialer = track.dialer(redis.NewDialer(&redis.Options{TLSConfig: o.TLSConfig, DialTimeout: dialTimeout}))
		}
		return redis.NewClient(&o)
	}, nil
}

const dialTimeout = 5 * time.Second

// noNotifications keeps the client from asking each connection for a feature
// of Redis Enterprise.
func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// errURL says nothing of the URL, which may hold a password.
var errURL = errors.New("redisstore: the Redis URL is not a valid redis://, rediss:// or unix:// one")

// Close closes all connections; calls that wait end with an error.
func (s *Store) Close() error {
	return errors.Join(s.waiters.close(), s.client.Close())
}

// Ping reports whether Redis answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return nil
}

// said turns the number that a script returned into an error of queue.Store.
func said(n int64) error {
	switch n {
	case saidDone:
		return nil
	case saidNotOwner:
		return queue.ErrNotOwner
	case saidStale:
		return queue.ErrStale
	}
	return fmt.Errorf("redisstore: a script returned %d", n)
}
