package app_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
)

// panicStore panics in the middle of one turn.
type panicStore struct {
	*memstore.Store
	panics atomic.Int64 // that are still to come
}

func (s *panicStore) Commit(ctx context.Context, w queue.Turn) error {
	if s.panics.Add(-1) >= 0 {
		panic("the shelf has fallen")
	}
	return s.Store.Commit(ctx, w)
}

// A turn that panics keeps no lock: the queue says that it has stopped, begins again
// from what is stored, and loses nothing of what it was told.
func TestAPanickingTurnBeginsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "test ! -e bad\n"})
	r.branch("first", "main", map[string]string{"a": "a\n"})
	r.branch("second", "main", map[string]string{"b": "b\n"})
	r.verdict(r.land("first"))
	r.stop()
	store := &panicStore{Store: r.store.(*memstore.Store)}
	r.store = store
	r.start()
	store.panics.Store(2)
	if id := r.land("second"); r.verdict(id).Phase != queue.Landed {
		t.Error("what was asked for around a panic has not landed")
	}
	if left := store.panics.Load(); left > 0 {
		t.Errorf("%d turns less have panicked than should have", left)
	}
}
