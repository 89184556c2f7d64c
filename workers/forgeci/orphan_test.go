package forgeci

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
)

// A store that has lost its last second asks for a build anew whose refs the former process has
// pushed already. If the sweep has taken them for refs of nobody's build, the build is made all
// the same: it is not forgotten, and its push is not one that deletes its own ref.
func TestABuildThatTheSweepHasTakenUp(t *testing.T) {
	const id = "00000000000000bb"
	t.Run("while its runs are read", func(t *testing.T) {
		h := newHub()
		slow := &slowRuns{hub: h, asked: make(chan struct{}), goes: make(chan struct{})}
		h.refs[ref(id)] = "commit-" + id
		h.runs = []forge.CIRun{{ID: 5, Branch: ref(id), Attempt: 1, Done: true}}
		c := h.start(t, func(o *Options) { o.CI = slow })
		c.Sweep(nil)
		<-slow.asked
		mustRun(t, c, order(id), "run/b")
		h.until(t, "it is pushed", func() bool {
			return slices.ContainsFunc(h.pushes, func(m []mirror.RefMove) bool { return m[0].Commit != "" })
		})
		close(slow.goes)
		time.Sleep(100 * time.Millisecond)
		c.News(forge.CINews{Results: []forge.CIResult{{ID: 1, Name: "test", Commit: "commit-" + id, Suite: 1, Branch: ref(id), Bound: true, State: forge.CIFailed, At: time.Now()}}})
		got := make(chan []string, 1)
		go func() { got <- c.ofEvent(t) }()
		select {
		case out := <-got:
			if !slices.Equal(out, []string{"started", "failed", "done failed run/b"}) {
				t.Errorf("%v", out)
			}
		case <-time.After(3 * time.Minute):
			t.Fatal("nobody hears of the build any more")
		}
	})
	t.Run("while its refs wait to be deleted", func(t *testing.T) {
		h := newHub()
		h.refs[ref(id)] = "commit-" + id
		c := h.start(t, func(o *Options) { o.Linger = 500 * time.Millisecond })
		c.Sweep(nil)
		h.until(t, "its refs are to be deleted", func() bool {
			h.mu.Unlock()
			defer h.mu.Lock()
			time.Sleep(time.Millisecond)
			h.changed <- struct{}{}
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.gone) > 0
		})
		mustRun(t, c, order(id), "run/b")
		h.until(t, "it is pushed", func() bool { return len(h.pushes) > 0 })
		time.Sleep(time.Second)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.refs[ref(id)] == "" {
			t.Errorf("its ref is deleted: %v", h.pushes)
		}
	})
}

// slowRuns is a hub that takes its time to list the runs of a branch.
type slowRuns struct {
	*hub
	asked, goes chan struct{}
}

func (s *slowRuns) CIRuns(ctx context.Context, branch string) ([]forge.CIRun, error) {
	select {
	case s.asked <- struct{}{}:
		<-s.goes
	default:
	}
	return s.hub.CIRuns(ctx, branch)
}
