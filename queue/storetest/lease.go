package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func leaseExclusive(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	if token <= 0 {
		t.Errorf("token %d", token)
	}
	if _, err := h.Other.Acquire(t.Context(), main, "b", long); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("b acquires what a owns: %v", err)
	}
	if again := h.mustAcquire(t, main, "a", long); again != token {
		t.Errorf("the owner's token changed from %d to %d", token, again)
	}
	h.mustAcquire(t, "other/queue@main", "b", long)
}

func leaseExtension(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", short)
	if again := h.mustAcquire(t, main, "a", long); again != token {
		// A slow machine may have let it expire in between.
		t.Skipf("the lease of %v expired before it was extended", short)
	}
	h.elapse(t, short)
	if _, err := h.Other.Acquire(t.Context(), main, "b", long); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("b acquires what a has extended: %v", err)
	}
}

func leaseExpiry(t *testing.T, h Harness) {
	first := h.mustAcquire(t, main, "a", short)
	h.elapse(t, short)
	second := h.mustAcquire(t, main, "b", short)
	if second <= first {
		t.Errorf("token %d after %d", second, first)
	}
	h.elapse(t, short)
	third := h.mustAcquire(t, main, "a", short)
	if third <= second {
		t.Errorf("token %d after %d", third, second)
	}
	h.elapse(t, short)
	if again := h.mustAcquire(t, main, "a", long); again < third {
		t.Errorf("token %d after %d", again, third)
	}
}

func leaseRelease(t *testing.T, h Harness) {
	first := h.mustAcquire(t, main, "a", long)
	h.must(t, h.Other.Release(t.Context(), main, first))
	if err := h.Store.Commit(t.Context(), queue.Turn{Queue: main, Token: first}); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("a commit after the release: %v", err)
	}
	second := h.mustAcquire(t, main, "b", long)
	if second <= first {
		t.Errorf("token %d after %d", second, first)
	}
	// A late release by the one before changes nothing.
	h.must(t, h.Store.Release(t.Context(), main, first))
	if _, err := h.Other.Acquire(t.Context(), main, "c", long); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("c acquires what b owns: %v", err)
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: second})
	h.must(t, h.Store.Release(t.Context(), "nobody/ever@main", 5))
	h.must(t, h.Store.Release(t.Context(), main, second))
	h.must(t, h.Store.Release(t.Context(), main, second))
	if third := h.mustAcquire(t, main, "a", long); third <= second {
		t.Errorf("token %d after %d", third, second)
	}
}

func leaseRace(t *testing.T, h Harness) {
	var owners atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			s := []queue.Store{h.Store, h.Other}[i%2]
			_, err := s.Acquire(t.Context(), main, fmt.Sprint("owner", i), long)
			switch {
			case err == nil:
				owners.Add(1)
			case !errors.Is(err, queue.ErrNotOwner):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := owners.Load(); n != 1 {
		t.Errorf("%d owners at once", n)
	}
}
