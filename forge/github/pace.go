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

// turn waits for the next turn to change something. One that does not wait for it
// takes none: those behind would wait for nobody, and give up in their turn. There
// is none to create more than may be in an hour.
func (b *budget) turn(ctx context.Context, creates bool) error {
	if b.rate == 0 {
		return ctx.Err()
	}
	wait, full := b.take(creates)
	if full > 0 {
		return &forge.Transient{After: full, Err: fmt.Errorf("%s is to make no more comments for another %v: GitHub allows %d an hour",
			b.account, full.Round(time.Second), contentPerHour)}
	}
	due := time.Now().Add(wait)
	if end, ok := ctx.Deadline(); ok && due.After(end) {
		b.giveBack(creates)
		return &forge.Transient{After: wait, Err: fmt.Errorf("so much is to be written as %s that this would be sent in %v only: %w",
			b.account, wait.Round(time.Second), context.DeadlineExceeded)}
	}
	err := sleep(ctx, wait)
	if err != nil {
		b.giveBack(creates)
	}
	return err
}

// take takes the next turn and says when it comes, or for how long there is none.
func (b *budget) take(creates bool) (wait, full time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if creates {
		b.created = slices.DeleteFunc(b.created, func(at time.Time) bool { return now.Sub(at) >= contentHour })
		if len(b.created) >= contentPerHour {
			// At least a minute: many may wait for the same moment.
			return 0, max(b.created[0].Add(contentHour).Sub(now), time.Minute)
		}
	}
	if !b.filled.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.filled).Seconds()*b.rate)
	}
	b.filled = now
	b.tokens--
	wait = time.Duration(max(0, -b.tokens/b.rate) * float64(time.Second))
	if creates {
		b.created = append(b.created, now.Add(wait))
	}
	return wait, 0
}

// giveBack gives a turn back: those behind come the sooner, and so the last of the
// turns that were promised is not needed.
func (b *budget) giveBack(creates bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.burst, b.tokens+1)
	if creates && len(b.created) > 0 {
		b.created = b.created[:len(b.created)-1]
	}
}

// creates says whether a request makes what GitHub's limit on content counts: of
// what we ask for, new comments and pull requests.
func creates(req *http.Request) bool {
	return req.Method == http.MethodPost && (strings.HasSuffix(req.URL.Path, "/comments") || strings.HasSuffix(req.URL.Path, "/pulls"))
}
