package forgeci

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
)

// For a while the forge takes no push of the queue at all, as its App was suspended or the
// repository archived. That is no rule about deleting: once pushes go through again, refs of
// builds are deleted again, those of then and those of later builds.
func TestRefsAreDeletedAfterAWhileWithoutRights(t *testing.T) {
	h := newHub()
	c := h.start(t)
	mustRun(t, c, order("a"), "run/a")
	h.until(t, "it is pushed", func() bool { return h.refs[ref("a")] != "" })
	h.mu.Lock()
	why := fmt.Errorf("pushing branches of our own: %w: Permission to team/app.git denied to queue[bot].", forge.ErrForbidden)
	h.refuse = slices.Repeat([]error{why}, 3)
	h.mu.Unlock()
	if err := c.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(3 * time.Minute)
	for refused := 3; refused > 0; { // the queue may also push less often
		c.mu.Lock()
		if len(c.gone) > 0 {
			c.goneAt = time.Time{}
			poke(c.toPush)
		}
		left := len(c.gone)
		c.mu.Unlock()
		h.mu.Lock()
		refused = len(h.refuse)
		h.mu.Unlock()
		if left == 0 && refused < 3 && time.Now().After(deadline.Add(-9*time.Second)) || time.Now().After(deadline) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	h.mu.Lock()
	h.refuse = nil
	h.mu.Unlock()
	mustRun(t, c, order("b"), "run/b")
	h.until(t, "the next one is pushed", func() bool { return h.refs[ref("b")] != "" })
	if err := c.Stop(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		c.mu.Lock()
		c.goneAt = time.Time{}
		poke(c.toPush)
		c.mu.Unlock()
		h.mu.Lock()
		left := len(h.refs)
		h.mu.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t.Errorf("these stay for ever: %v", h.refs)
}

// busyHub is a hub that is pushed to so often that some build always waits.
type busyHub struct {
	*hub
	more func(n int)
	n    int
}

func (b *busyHub) Push(ctx context.Context, moves []mirror.RefMove) (fresh []bool, each []error, err error) {
	if b.n++; b.n < 200 {
		b.more(b.n)
	}
	return b.hub.Push(ctx, moves)
}

// Once a rule may have forbidden to delete refs, they are deleted apart from builds. They do not
// wait for a moment without builds, which a busy queue never has; and when it has shown that no
// rule forbids it, they go with builds again.
func TestRefsAreDeletedWhileBuildsCome(t *testing.T) {
	var ahead atomic.Int64
	b := &busyHub{hub: newHub()}
	c := b.start(t, func(o *Options) {
		o.Refs = b
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	gone := []string{ref("old"), "submitqueue-targets/main/old"}
	for _, branch := range gone {
		b.refs[branch] = "commit-old"
	}
	b.more = func(n int) {
		ahead.Add(int64(10 * time.Second))
		_ = c.Run(t.Context(), order(fmt.Sprint("new", n)), "run") // the test may have ended
	}
	c.mu.Lock()
	for _, branch := range gone {
		c.apart[c.kindOf(branch)] = true
	}
	c.gone, c.goneAt = gone, c.o.Now()
	c.mu.Unlock()
	b.more(0)
	b.until(t, "many builds are pushed", func() bool { return len(b.pushes) >= 150 })
	b.mu.Lock()
	for _, branch := range gone {
		if b.refs[branch] != "" {
			t.Errorf("%s is there still, after %d pushes in %v", branch, len(b.pushes), time.Duration(ahead.Load()))
		}
	}
	b.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.apart) > 0 {
		t.Error("they still go apart from builds")
	}
}
