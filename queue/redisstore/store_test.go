package redisstore_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/redisstore"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestConformanceOnMiniredis(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		m := miniredis.RunT(t)
		return storetest.Harness{
			Store:   mustOpen(t, "redis://"+m.Addr()),
			Other:   mustOpen(t, "redis://"+m.Addr()),
			Advance: func(d time.Duration) { m.FastForward(d) },
			Bounded: func(t *testing.T, b queue.PastBounds) queue.Store {
				return mustOpenBounded(t, "redis://"+miniredis.RunT(t).Addr(), b)
			},
		}
	})
}

func TestConformanceOnRedis(t *testing.T) {
	t.Parallel()
	url := startRedis(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		mustFlush(t, url)
		return storetest.Harness{Store: mustOpen(t, url), Other: mustOpen(t, url), Bounded: bounded(url, url)}
	})
}

// A cluster refuses scripts that touch keys of another slot or keys that they
// do not name.
func TestConformanceOnCluster(t *testing.T) {
	t.Parallel()
	url := startRedis(t, "cluster-enabled yes")
	mustClaimSlots(t, url)
	cluster := "redis+cluster" + url[len("redis"):]
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		mustFlush(t, url)
		return storetest.Harness{Store: mustOpen(t, cluster), Other: mustOpen(t, cluster), Bounded: bounded(url, cluster)}
	})
}

func mustOpen(t testing.TB, url string) *redisstore.Store {
	t.Helper()
	return mustOpenBounded(t, url, queue.PastBounds{})
}

// bounded opens a Redis that it has emptied, with bounds.
func bounded(node, url string) func(*testing.T, queue.PastBounds) queue.Store {
	return func(t *testing.T, b queue.PastBounds) queue.Store {
		mustFlush(t, node)
		return mustOpenBounded(t, url, b)
	}
}

func mustOpenBounded(t testing.TB, url string, b queue.PastBounds) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), redisstore.Options{URL: url, Past: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
