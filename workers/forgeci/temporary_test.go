package forgeci

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
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
	deadline := time.Now().Add(10 * time.Second)
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
