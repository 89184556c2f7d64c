package memstore_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		var mu sync.Mutex
		now := time.Unix(1_700_000_000, 0)
		s := memstore.New(func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		})
		return storetest.Harness{Store: s, Advance: func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(d)
		}, Bounded: func(_ *testing.T, b queue.PastBounds) queue.Store { return memstore.NewBounded(time.Now, b) }}
	})
}

// In a synctest bubble leases expire and waits end by the bubble's clock, in no
// real time.
func TestSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(time.Now)
		if _, err := s.Acquire(t.Context(), "q", "a", time.Hour); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if got, err := s.Inbox(t.Context(), "q", "", 1, 61*time.Minute); err != nil || len(got) != 0 {
			t.Fatalf("an empty inbox gave %v, %v", got, err)
		}
		if took := time.Since(begin); took != 61*time.Minute {
			t.Errorf("the wait took %v", took)
		}
		if _, err := s.Acquire(t.Context(), "q", "b", time.Hour); err != nil {
			t.Errorf("the lease has not expired: %v", err)
		}
		woken := make(chan []queue.Arrived)
		go func() {
			got, _ := s.Inbox(t.Context(), "q", "", 1, 24*time.Hour)
			woken <- got
		}()
		synctest.Wait()
		if err := s.Append(t.Context(), "q", queue.Event{ID: "e", Body: queue.Tick{}}); err != nil {
			t.Fatal(err)
		}
		if got := <-woken; len(got) != 1 {
			t.Errorf("woken with %v", got)
		}
	})
}
