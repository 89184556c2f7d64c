package workers

import (
	"context"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
)

// Instant is a Controller whose builds pass at once without running anything.
// It is for benches that measure the queue itself (`bench land`): never put it
// behind a queue that lands real changes.
type Instant struct {
	slots  int
	events *events

	mu     sync.Mutex
	seen   map[queue.BuildID]string // build -> action that was last answered
	closed bool
}

var _ Controller = (*Instant)(nil)

// NewInstant returns a controller that says it can run slots builds at once.
func NewInstant(slots int) *Instant {
	c := &Instant{slots: slots, events: newEvents(), seen: make(map[queue.BuildID]string)}
	c.events.put(queue.Capacity{Slots: slots})
	return c
}

// Run implements Controller: it reports that every job has passed.
func (c *Instant) Run(_ context.Context, b queue.Build, action string) error {
	if len(b.Jobs) == 0 {
		return ErrNoJobs
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	if last, ok := c.seen[b.ID]; ok && last == action {
		return nil
	}
	c.seen[b.ID] = action
	const machine = "instant"
	out := []queue.Body{queue.BuildStarted{Build: b.ID, Machine: machine}}
	for _, j := range b.Jobs {
		done := queue.JobDone{Build: b.ID, Step: j.Step.Digest(), Outcome: queue.JobPassed, Machine: machine}
		if j.Step.Report == queue.ReportGoTestJSON {
			done.Passed = j.Targets()
		}
		out = append(out, done)
	}
	c.events.put(append(out, queue.BuildDone{Action: action, Build: b.ID, Outcome: queue.JobPassed})...)
	return nil
}

// Stop implements Controller: every build has ended already.
func (c *Instant) Stop(context.Context, queue.BuildID) error { return nil }

// Events implements Controller.
func (c *Instant) Events() <-chan queue.Body { return c.events.out }

// Log implements Controller: nothing is run, so nothing is logged.
func (c *Instant) Log(queue.BuildID) (Log, error) { return nil, ErrNoLog }

// Close implements Controller.
func (c *Instant) Close(ctx context.Context) error {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	c.mu.Unlock()
	if !was {
		c.events.close(ctx)
	}
	return nil
}
