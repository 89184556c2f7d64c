package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// sharing has a commit judged once where several callers ask at the same time. For a
// while it also remembers judgements that may come out differently later.
type sharing struct {
	mu     sync.Mutex
	under  map[sharedKey]*shared
	forNow map[sharedKey]forNow
}

type sharedKey struct {
	commit, tip queue.CommitID
	by          string
}

// shared is a judgement that is being made.
type shared struct {
	done chan struct{}
	out  judged
	err  error
}

// forNow is a judgement that rests on more than the commit. It counts as the present
// one until its time is over: a program that hangs is not run again for every caller.
type forNow struct {
	out   judged
	until time.Time
}

const keptForNow = 5 * time.Minute

func newSharing() sharing {
	return sharing{under: map[sharedKey]*shared{}, forNow: map[sharedKey]forNow{}}
}

// shared is commit, made once for all callers that ask at the same time.
func (j *judge) shared(ctx context.Context, id queue.CommitID, now inForce, near queue.CommitID) (judged, error) {
	key, s := sharedKey{id, now.tip, now.by}, &j.sharing
	for {
		s.mu.Lock()
		if kept, ok := s.forNow[key]; ok && time.Now().Before(kept.until) {
			s.mu.Unlock()
			return kept.out, nil
		}
		w := s.under[key]
		if w == nil {
			w = &shared{done: make(chan struct{}), err: errors.New("app: the goroutine that judged it has panicked")}
			s.under[key] = w
			s.mu.Unlock()
			defer s.end(key, w)
			w.out, w.err = j.commit(ctx, id, now, near)
			return w.out, w.err
		}
		s.mu.Unlock()
		select {
		case <-w.done:
			if !errors.Is(w.err, context.Canceled) && !errors.Is(w.err, context.DeadlineExceeded) {
				return w.out, w.err
			}
			// Another action gave it up; this one may go on with it.
		case <-ctx.Done():
			return judged{}, ctx.Err()
		}
	}
}

func (s *sharing) end(key sharedKey, w *shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(w.done)
	delete(s.under, key)
	if w.err != nil || !w.out.snapshot.Provisional {
		return
	}
	if len(s.forNow) >= keptTrees {
		clear(s.forNow)
	}
	s.forNow[key] = forNow{w.out, time.Now().Add(keptForNow)}
}
