package workers

import (
	"context"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Instant is a Controller that passes all builds at once without running anything.
// It is for benches that measure the queue itself (`bench land`): never put it
// behind a queue that lands real changes.
type Instant struct {
	slots  int
	events *events

	mu     sync.Mutex
	seen   map[queue.BuildID]string // build -> action that was last answered
	timers map[queue.BuildID]*time.Timer
	closed bool

	took time.Duration // of each build
}

var (
	_ Controller = (*Instant)(nil)
	_ Standing   = (*Instant)(nil)
)

// NewInstant returns a controller that says it can run slots builds at once.
func NewInstant(slots int) *Instant {
	c := &Instant{slots: slots, events: newEvents(), seen: make(map[queue.BuildID]string), timers: make(map[queue.BuildID]*time.Timer)}
	c.events.put(queue.Capacity{Slots: slots})
	return c
}

// Take has builds that are begun from now on pass only after some time.
func (c *Instant) Take(took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took = took
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
	c.seen[b.ID] = action
	if c.timers[b.ID] != nil {
		return nil
	}
	const machine = "instant"
	out := []queue.Body{queue.BuildStarted{Build: b.ID, Machine: machine}}
	if c.took > 0 {
		c.events.put(out...)
		out = nil
	}
	for _, j := range b.Jobs {
		done := queue.JobDone{Build: b.ID, Step: j.Step.Digest(), Outcome: queue.JobPassed, Machine: machine}
		if j.Step.NamesTargets() {
			done.Passed = j.Targets()
		}
		out = append(out, done)
	}
	out = append(out, queue.BuildDone{Action: action, Build: b.ID, Outcome: queue.JobPassed})
	if c.took == 0 {
		c.events.put(out...)
		return nil
	}
	c.timers[b.ID] = time.AfterFunc(c.took, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.timers[b.ID] != nil && !c.closed {
			delete(c.timers, b.ID)
			c.events.put(out[:len(out)-1]...)
			c.events.put(queue.BuildDone{Action: c.seen[b.ID], Build: b.ID, Outcome: queue.JobPassed})
		}
	})
	return nil
}

// Stop implements Controller: a build that has not ended is cancelled.
func (c *Instant) Stop(_ context.Context, id queue.BuildID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.timers[id]; t != nil && !c.closed {
		t.Stop()
		delete(c.timers, id)
		c.events.put(queue.BuildDone{Action: c.seen[id], Build: id, Outcome: queue.JobStopped})
	}
	return nil
}

// Stands implements Standing.
func (c *Instant) Stands() []queue.Body { return []queue.Body{queue.Capacity{Slots: c.slots}} }

// Events implements Controller.
func (c *Instant) Events() <-chan queue.Body { return c.events.out }

// Log implements Controller: nothing is run, so nothing is logged.
func (c *Instant) Log(queue.BuildID) (Log, error) { return nil, ErrNoLog }

// Close implements Controller.
func (c *Instant) Close(ctx context.Context) error {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	for _, t := range c.timers {
		t.Stop()
	}
	c.mu.Unlock()
	if !was {
		c.events.close(ctx)
	}
	return nil
}
