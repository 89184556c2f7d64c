package workers

import (
	"context"
	"errors"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
)

// Split is a Controller in front of two: steps with checks go to the one that
// drives the forge's CI, all others to the one that drives runners. A build
// that has both kinds runs in both at the same time, and ends when both have
// ended: cancelled if one was cancelled, else an infrastructure error if one is,
// else failed if one has failed.
type Split struct {
	sides  [2]Controller // runners, forge
	events *Stream
	quit   chan struct{}
	tasks  sync.WaitGroup

	mu       sync.Mutex
	capacity queue.Capacity
	fleet    queue.Body // the last one of a side; nil: none yet
	both     map[queue.BuildID]*halves
	order    []queue.BuildID // of both, oldest first
}

const (
	onRunners = 0
	onForge   = 1
)

// halves is a build that runs on both sides.
type halves struct {
	action  string
	started bool
	done    [2]*queue.BuildDone
}

var (
	_ Controller = (*Split)(nil)
	_ Sweeper    = (*Split)(nil)
	_ Equipped   = (*Split)(nil)
	_ Standing   = (*Split)(nil)
)

// Sweeper is implemented by a Controller that leaves traces outside of this process, which
// survive a crash.
type Sweeper interface {
	// Sweep removes, soon, the traces of builds that are not among the live ones.
	// Only the owner of the queue calls it.
	Sweep(live []queue.BuildID)
}

// NewSplit returns a controller in front of runners and a forge's CI, which are
// not used otherwise.
func NewSplit(runners, forge Controller) *Split {
	s := &Split{sides: [2]Controller{onRunners: runners, onForge: forge}, events: NewStream(), quit: make(chan struct{}), both: map[queue.BuildID]*halves{}}
	for i := range s.sides {
		s.tasks.Go(func() {
			for {
				select {
				case body, ok := <-s.sides[i].Events():
					if !ok {
						return
					}
					s.forward(i, body)
				case <-s.quit:
					return
				}
			}
		})
	}
	return s
}

// Run implements Controller.
func (s *Split) Run(ctx context.Context, b queue.Build, action string) error {
	var parts [2][]queue.Job
	for _, j := range b.Jobs {
		i := onRunners
		if j.Step.ByForge() {
			i = onForge
		}
		parts[i] = append(parts[i], j)
	}
	if len(parts[onForge]) == 0 {
		return s.sides[onRunners].Run(ctx, b, action)
	}
	if len(parts[onRunners]) == 0 {
		return s.sides[onForge].Run(ctx, b, action)
	}
	s.mu.Lock()
	h := s.both[b.ID]
	if h == nil {
		h = &halves{}
		s.both[b.ID] = h
		s.order = append(s.order, b.ID)
		s.forget()
	}
	if h.done[onRunners] != nil && h.done[onForge] != nil {
		h.done = [2]*queue.BuildDone{} // each side reports again
	}
	h.started = false
	h.action = action
	s.mu.Unlock()
	for i, jobs := range parts {
		part := b
		part.Jobs = jobs
		if err := s.sides[i].Run(ctx, part, action); err != nil {
			return err
		}
	}
	return nil
}

// forget drops the oldest builds that have ended; the caller holds mu.
func (s *Split) forget() {
	for len(s.order) > maxEnded {
		h := s.both[s.order[0]]
		if h.done[onRunners] == nil || h.done[onForge] == nil {
			return
		}
		delete(s.both, s.order[0])
		s.order = s.order[1:]
	}
}

// forward hands on a report of one side.
func (s *Split) forward(side int, body queue.Body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch b := body.(type) {
	case queue.Capacity:
		if side == onRunners {
			s.capacity.Slots = b.Slots
		} else {
			s.capacity.Forge = b.Forge
		}
		s.events.Put(s.capacity)
		return
	case queue.Fleet:
		s.fleet = b
	case queue.BuildStarted:
		if h := s.both[b.Build]; h != nil {
			if h.started {
				return
			}
			h.started = true
		}
	case queue.BuildDone:
		if h := s.both[b.Build]; h != nil {
			h.done[side] = &b
			if h.done[onRunners] == nil || h.done[onForge] == nil {
				return
			}
			body = joined(h)
		}
	}
	s.events.Put(body)
}

// joined is the end of a build after both its halves have ended.
func joined(h *halves) queue.BuildDone {
	rank := func(d *queue.BuildDone) int {
		switch d.Outcome {
		case queue.JobStopped:
			return 3
		case queue.JobInfra:
			return 2
		case queue.JobPassed:
			return 0
		}
		return 1
	}
	worst := h.done[onRunners]
	if rank(h.done[onForge]) > rank(worst) {
		worst = h.done[onForge]
	}
	out := *worst
	out.Action = h.action
	return out
}

// Stop implements Controller.
func (s *Split) Stop(ctx context.Context, id queue.BuildID) error {
	return errors.Join(s.sides[onRunners].Stop(ctx, id), s.sides[onForge].Stop(ctx, id))
}

// Events implements Controller.
func (s *Split) Events() <-chan queue.Body { return s.events.Out() }

// Log implements Controller: the log of the runners' part where there is one.
func (s *Split) Log(id queue.BuildID) (Log, error) {
	if l, err := s.sides[onRunners].Log(id); err == nil {
		return l, nil
	}
	return s.sides[onForge].Log(id)
}

// Environments implements Equipped, for runners only: the tools of the forge's CI are unknown.
func (s *Split) Environments(commands []string) {
	if e, ok := s.sides[onRunners].(Equipped); ok {
		e.Environments(commands)
	}
}

// Stands implements Standing: the events of both sides together.
func (s *Split) Stands() []queue.Body {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fleet == nil {
		return []queue.Body{s.capacity}
	}
	return []queue.Body{s.fleet, s.capacity}
}

// Sweep implements Sweeper.
func (s *Split) Sweep(live []queue.BuildID) {
	for _, side := range s.sides {
		if w, ok := side.(Sweeper); ok {
			w.Sweep(live)
		}
	}
}

// Close implements Controller: it closes both sides.
func (s *Split) Close(ctx context.Context) error {
	err := errors.Join(s.sides[onForge].Close(ctx), s.sides[onRunners].Close(ctx))
	close(s.quit)
	s.tasks.Wait()
	s.events.Close(ctx)
	return err
}
