package forgeci

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// While the forge has been pushed to often enough, builds wait and then go in one push,
// and the log of each says why it waited; refs that nobody waits for go with them.
func TestPushesAreHeld(t *testing.T) {
	h := newHub()
	h.held = time.Now().Add(time.Hour)
	c := h.start(t)
	ids := []string{"a", "b", "c"}
	for _, id := range ids {
		mustRun(t, c, order(id), "run/"+id)
	}
	c.mu.Lock()
	c.gone, c.goneAt = append(c.gone, "submitqueue/main/old"), time.Now()
	c.mu.Unlock()
	said := func(id string) string {
		c.mu.Lock()
		defer c.mu.Unlock()
		chunk, err := c.builds[queue.BuildID(id)].log.Read(0)
		if err != nil {
			t.Fatal(err)
		}
		return chunk.Text
	}
	for _, id := range ids {
		for !strings.Contains(said(id), "waits 1h0m0s, so that the forge is pushed to no more often than it recommends") {
			runtime.Gosched()
		}
	}
	h.mu.Lock()
	if len(h.pushes) != 0 {
		t.Errorf("pushes %v", h.pushes)
	}
	h.mu.Unlock()
	h.pace.Lock()
	h.held = time.Time{}
	h.pace.Unlock()
	poke(c.toPush)
	h.until(t, "all are pushed", func() bool { return len(h.refs) == 2*len(ids) })
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pushes) != 1 || len(h.pushes[0]) != 2*len(ids)+1 {
		t.Errorf("pushes %v", h.pushes)
	}
}
