package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// writer waits for its turn to change something.
type writer struct {
	urgency forge.Urgency
	creates bool // it creates content, which GitHub's limit counts
}

// turn waits for the next turn to change something. The more urgent writer goes
// first: a verdict goes before progress. A writer does not wait, and gets an error,
// if its turn would come after its deadline, or if it would create more than GitHub
// allows in an hour.
func (b *budget) turn(ctx context.Context, creates bool) error {
	if b.rate == 0 {
		return ctx.Err()
	}
	w := &writer{forge.UrgencyOf(ctx), creates}
	wait, full := b.join(w)
	if full > 0 {
		return &forge.Transient{After: full, Err: fmt.Errorf("%s is to make no more comments for another %v: GitHub allows %d an hour",
			b.account, full.Round(time.Second), contentPerHour)}
	}
	due := time.Now().Add(wait)
	if end, ok := ctx.Deadline(); ok && due.After(end) {
		b.giveUp(w)
		return &forge.Transient{After: wait, Err: fmt.Errorf("so much is to be written as %s that this would be sent in %v only: %w",
			b.account, wait.Round(time.Second), context.DeadlineExceeded)}
	}
	for {
		wait, moved := b.mayGo(w)
		if wait <= 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-moved:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			b.giveUp(w)
			return ctx.Err()
		}
	}
}

// join has a writer wait behind the equally urgent ones. It returns how long until its
// turn comes, if no other comes before it, or for how long there is no turn.
func (b *budget) join(w *writer) (wait, full time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if w.creates {
		b.created = slices.DeleteFunc(b.created, func(at time.Time) bool { return now.Sub(at) >= contentHour })
		soon := 0
		for _, o := range b.writers {
			if o.creates {
				soon++
			}
		}
		if len(b.created)+soon >= contentPerHour {
			first := now
			if len(b.created) > 0 {
				first = b.created[0]
			}
			// At least a minute: many may wait for the same moment.
			return 0, max(first.Add(contentHour).Sub(now), time.Minute)
		}
	}
	at, _ := slices.BinarySearchFunc(b.writers, w.urgency, func(o *writer, u forge.Urgency) int {
		if o.urgency >= u {
			return -1
		}
		return 1
	})
	b.writers = slices.Insert(b.writers, at, w)
	return b.untilTurn(at), 0
}

// untilTurn returns how long until the turn of the writer at a place comes; the
// caller holds mu.
func (b *budget) untilTurn(place int) time.Duration {
	now := time.Now()
	if !b.filled.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.filled).Seconds()*b.rate)
	}
	b.filled = now
	const rounding = 1e-6
	missing := float64(place+1) - b.tokens
	if missing <= rounding {
		return 0
	}
	return max(time.Duration(missing/b.rate*float64(time.Second)), time.Microsecond)
}

// mayGo lets a writer go if it is its turn. Otherwise it returns how long the wait
// may be, and a channel that is closed when a writer before it gives up.
func (b *budget) mayGo(w *writer) (wait time.Duration, moved <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.writers, w)
	if wait = b.untilTurn(at); wait > 0 {
		if b.moved == nil {
			b.moved = make(chan struct{})
		}
		return wait, b.moved
	}
	b.tokens--
	b.writers = slices.Delete(b.writers, at, at+1) // there are turns enough for those before it
	if w.creates {
		b.created = append(b.created, time.Now())
	}
	return 0, nil
}

// giveUp removes a writer that waits no longer, so that the writers behind it come
// sooner.
func (b *budget) giveUp(w *writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.writers, w); at >= 0 {
		b.writers = slices.Delete(b.writers, at, at+1)
	}
	if b.moved != nil {
		close(b.moved)
		b.moved = nil
	}
}

// creates says whether a request creates something that GitHub's limit on content
// counts: of our requests, these are new comments, new pull requests, and merges.
func creates(req *http.Request) bool {
	return req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/merge") ||
		req.Method == http.MethodPost && (strings.HasSuffix(req.URL.Path, "/comments") || strings.HasSuffix(req.URL.Path, "/pulls"))
}
