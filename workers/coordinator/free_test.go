package coordinator_test

import (
	"context"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
)

// slowly is a pool that hears of the ends of shards when the test lets it.
type slowly struct {
	*workers.Pool
	told, goes chan struct{}
}

func (s slowly) Report(ctx context.Context, lease workers.Lease, r workers.Report) error {
	if r.End != nil {
		s.told <- struct{}{}
		<-s.goes
	}
	return s.Pool.Report(ctx, lease, r)
}

// A machine with several slots asks for the next job while the end of one is still being
// told: that is from another slot, and loses nothing.
func TestNextJobWhileTheLastOneEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := slowly{told: make(chan struct{}), goes: make(chan struct{})}
	b.stop()
	b.wrap = func(p *workers.Pool) workers.Source { s.Pool = p; return s }
	b.start(0)
	r, other := b.runner(), b.runner()
	b.join(r)
	b.run("first", unit, "a")
	r.ask()
	r.begin()
	ended := make(chan struct{})
	go func() { defer close(ended); r.end(0) }()
	<-s.told
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	asked := make(chan struct{})
	go func() { defer close(asked); other.askIn(ctx) }()
	b.until("the machine asks again", func() bool { m := b.c.Machines(); return len(m) > 0 && m[0].Asking > 0 })
	close(s.goes)
	<-ended
	if d := b.done("first"); d.Outcome != queue.JobPassed {
		t.Errorf("its result is lost: %+v", d)
	}
	cancel()
	<-asked
}

// Clones of one image have one name. They are two machines: what one runs goes on when the
// other asks.
func TestMachinesOfOneName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, clone := b.runner(), b.runner()
	clone.system = "s_fedcba987654"
	for _, x := range []*runner{r, clone} {
		x.info.Labels = map[string]string{"host": "mac"}
	}
	b.join(r)
	b.run("first", unit, "a")
	r.ask()
	r.begin()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	clone.askIn(ctx)
	names := map[string]bool{}
	for _, m := range b.c.Machines() {
		names[m.Name] = true
	}
	if !names["box-mac"] || !names["box-mac-987654"] {
		t.Errorf("they are %v", names)
	}
	r.end(0)
	if d := b.done("first"); d.Outcome != queue.JobPassed {
		t.Errorf("its result is lost: %+v", d)
	}
}
