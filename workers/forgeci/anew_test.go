package forgeci

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// slowDelete is a hub that takes its time to delete one ref alone.
type slowDelete struct {
	*hub
	asked, goes chan struct{}
}

func (s *slowDelete) Push(ctx context.Context, moves []mirror.RefMove) (fresh []bool, each []error, err error) {
	if len(moves) == 1 && moves[0].Commit == "" {
		select {
		case s.asked <- struct{}{}:
			<-s.goes
		default:
		}
	}
	return s.hub.Push(ctx, moves)
}

// A build that is stopped while its ref is deleted, to be pushed anew, leaves neither of its
// refs, and is not remembered for ever.
func TestStoppedWhileItsRefIsPushedAnew(t *testing.T) {
	a := &asking{hub: newHub(), answer: []error{forge.ErrPushStarts}}
	s := &slowDelete{hub: a.hub, asked: make(chan struct{}), goes: make(chan struct{})}
	c := a.start(t, func(o *Options) { o.Starter, o.Refs = a, s })
	mustRun(t, c, order("a"), "run/a")
	<-s.asked
	if err := c.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	close(s.goes)
	a.until(t, "its refs are deleted", func() bool { return len(a.refs) == 0 })
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.builds["a"]; !e.tidy {
		t.Errorf("it is not tidied up")
	}
}

// A ref that a rule lets nobody delete cannot be pushed anew, so its run does not begin. The
// build ends with that, at once; it is not said that the rules of the job are wrong. The next
// attempt has another ref, which is pushed to start its run.
func TestARefThatCannotBePushedAnew(t *testing.T) {
	a := &asking{hub: newHub(), answer: []error{forge.ErrPushStarts}}
	g := guarded{a.hub, "submitqueue/"}
	c := a.start(t, func(o *Options) { o.Starter, o.Refs = a, g })
	mustRun(t, c, order("a"), "run/a")
	got := make(chan queue.Body, 1)
	go func() { got <- <-c.Events() }()
	select {
	case body := <-got:
		done, ok := body.(queue.BuildDone)
		if !ok || done.Outcome != queue.JobInfra || done.NoCheck || !strings.Contains(done.Detail, "You can only delete protected branches") {
			t.Errorf("it ended as %+v", body)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("it waits for a run that never begins")
	}
	a.until(t, "the ref of its targets is deleted", func() bool { return a.refs["submitqueue-targets/main/a"] == "" })
	mustRun(t, c, order("b"), "run/b")
	a.until(t, "the next one is pushed to start its run", func() bool {
		return slices.ContainsFunc(a.pushes, func(moves []mirror.RefMove) bool {
			return slices.Contains(moves, mirror.RefMove{Branch: ref("b"), Commit: "commit-b"})
		})
	})
}

// A build whose ref was deleted, to be pushed anew, is stopped while that push waits its turn. The
// ref of its targets, which is there still, is deleted.
func TestStoppedBeforeItsRefIsPushedAnew(t *testing.T) {
	a := &asking{hub: newHub(), answer: []error{forge.ErrPushStarts}}
	s := &slowDelete{hub: a.hub, asked: make(chan struct{}), goes: make(chan struct{})}
	c := a.start(t, func(o *Options) { o.Starter, o.Refs = a, s })
	mustRun(t, c, order("a"), "run/a")
	<-s.asked
	a.pace.Lock()
	a.held = time.Now().Add(time.Hour) // the forge is pushed to no more often than it recommends
	a.pace.Unlock()
	close(s.goes)
	a.until(t, "its ref is deleted", func() bool {
		return a.refs[ref("a")] == "" && slices.ContainsFunc(a.pushes, func(moves []mirror.RefMove) bool { return len(moves) == 1 && moves[0].Commit == "" })
	})
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		e := c.builds["a"]
		waits = !e.pushing() && !e.asks
		c.mu.Unlock()
	}
	if err := c.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	a.until(t, "no ref is left", func() bool { return len(a.refs) == 0 })
}
