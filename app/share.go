package app

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
)

// Share lets the queues of one server use the same workers. The reports of a build go
// to the queue that asked for it, and its commit is checked out of that queue's mirror.
type Share struct {
	mu      sync.Mutex
	pool    workers.Controller
	members []*member
	builds  map[queue.BuildID]*member
	running map[queue.BuildID]queue.CommitID
	commits map[queue.CommitID]workers.Checkouter // of live builds
	slots   queue.Body                            // how many builds can run, as reported last; nil: not yet
	fleet   queue.Body                            // and on which hosts; nil: not yet reported
}

var (
	_ workers.Checkouter = (*Share)(nil)
	_ workers.Filler     = (*Share)(nil)
	_ workers.Restorer   = (*Share)(nil)
)

// NewShare returns a share without workers. It is the Checkouter of the pool
// that is then given to it with Use.
func NewShare() *Share {
	return &Share{builds: map[queue.BuildID]*member{}, running: map[queue.BuildID]queue.CommitID{},
		commits: map[queue.CommitID]workers.Checkouter{}}
}

// Use sets the workers. It is called once, before any queue runs.
func (s *Share) Use(pool workers.Controller) { s.pool = pool }

// Checkout implements workers.Checkouter.
func (s *Share) Checkout(ctx context.Context, commit queue.CommitID, dir string) (func() error, error) {
	from, err := s.has(commit)
	if err != nil {
		return nil, err
	}
	return from.Checkout(ctx, commit, dir)
}

// Fill implements workers.Filler.
func (s *Share) Fill(ctx context.Context, commit queue.CommitID, dir string, want config.Checkout) error {
	from, err := s.has(commit)
	if err != nil {
		return err
	}
	can, ok := from.(workers.Filler)
	if !ok {
		return fmt.Errorf("submodules and files of Git LFS of %s cannot be fetched here", commit)
	}
	return can.Fill(ctx, commit, dir, want)
}

// Restore implements workers.Restorer. Where a queue's Checkouter is no Restorer, nothing
// is restored.
func (s *Share) Restore(ctx context.Context, commit queue.CommitID, dir string) ([]string, error) {
	from, err := s.has(commit)
	if err != nil {
		return nil, err
	}
	if can, ok := from.(workers.Restorer); ok {
		return can.Restore(ctx, commit, dir)
	}
	return nil, nil
}

// has returns the Checkouter that has a commit of a live build.
func (s *Share) has(commit queue.CommitID) (workers.Checkouter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.commits[commit]
	if from == nil {
		return nil, fmt.Errorf("commit %s belongs to no build that is known", commit)
	}
	return from, nil
}

// For returns the controller of one queue. A queue that comes late hears at once
// how many builds can run.
func (s *Share) For(name string, mirror workers.Checkouter) workers.Controller {
	m := &member{share: s, name: name, mirror: mirror, events: make(chan queue.Body, 4096)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = append(s.members, m)
	if s.fleet != nil {
		m.events <- s.fleet
	}
	if s.slots != nil {
		m.events <- s.slots
	}
	return m
}

// Leave ends the share of a controller that For has returned: its builds are
// stopped, and nothing is reported to it any more. The queue must have stopped.
func (s *Share) Leave(ctx context.Context, c workers.Controller) {
	var builds []queue.BuildID
	s.mu.Lock()
	s.members = slices.DeleteFunc(s.members, func(m *member) bool { return c == workers.Controller(m) })
	for id, m := range s.builds {
		if c == workers.Controller(m) {
			builds = append(builds, id)
			s.forget(id)
		}
	}
	s.mu.Unlock()
	for _, id := range builds {
		_ = s.pool.Stop(ctx, id) // one that has ended needs none
	}
}

// Run hands out what the workers report, until they are closed or ctx ends.
func (s *Share) Run(ctx context.Context) {
	for {
		select {
		case b, ok := <-s.pool.Events():
			if !ok {
				return
			}
			s.deliver(ctx, b)
		case <-ctx.Done():
			return
		}
	}
}

func (s *Share) deliver(ctx context.Context, b queue.Body) {
	var id queue.BuildID
	ended := false
	switch b := b.(type) {
	case queue.BuildStarted:
		id = b.Build
	case queue.JobDone:
		id = b.Build
	case queue.BuildDone:
		id, ended = b.Build, true
	case queue.Fleet:
		s.mu.Lock()
		s.fleet = b
		s.mu.Unlock()
	case queue.Capacity:
		s.mu.Lock()
		s.slots = b
		s.mu.Unlock()
	}
	s.mu.Lock()
	to := slices.Clone(s.members)
	if id != "" {
		to = nil
		if m := s.builds[id]; m != nil {
			to = []*member{m}
		}
		if ended {
			s.forget(id)
		}
	}
	s.mu.Unlock()
	for _, m := range to {
		select {
		case m.events <- b:
		case <-ctx.Done():
			return
		}
	}
}

// forget drops a build that has ended, and its commit unless another live build is of
// that commit; the caller holds mu.
func (s *Share) forget(id queue.BuildID) {
	commit := s.running[id]
	delete(s.builds, id)
	delete(s.running, id)
	for _, other := range s.running {
		if other == commit {
			return
		}
	}
	delete(s.commits, commit)
}

// member is the workers as one queue sees them.
type member struct {
	share  *Share
	name   string   // of the queue
	tools  []string // environment commands of the queue's steps; the share's lock guards them
	mirror workers.Checkouter
	events chan queue.Body
}

var (
	_ workers.Controller = (*member)(nil)
	_ workers.Equipped   = (*member)(nil)
	_ workers.Standing   = (*member)(nil)
	_ workers.Sweeper    = (*member)(nil)
)

// Environments implements workers.Equipped: the hosts run what the steps of any queue
// ask for.
func (m *member) Environments(commands []string) {
	s := m.share
	s.mu.Lock()
	m.tools = commands
	var all []string
	for _, x := range s.members {
		all = append(all, x.tools...)
	}
	s.mu.Unlock()
	if e, ok := s.pool.(workers.Equipped); ok {
		e.Environments(all)
	}
}

// Stands implements workers.Standing.
func (m *member) Stands() (said []queue.Body) {
	s := m.share
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range []queue.Body{s.fleet, s.slots} {
		if b != nil {
			said = append(said, b)
		}
	}
	return said
}

// Sweep implements workers.Sweeper: builds of the queue that its stored state does not
// know would hold their slots for nothing. There are some where the store was rolled
// back, or another server has owned the queue meanwhile.
func (m *member) Sweep(live []queue.BuildID) {
	s := m.share
	var unknown []queue.BuildID
	s.mu.Lock()
	for id, of := range s.builds {
		if of == m && !slices.Contains(live, id) {
			unknown = append(unknown, id)
		}
	}
	s.mu.Unlock()
	for _, id := range unknown {
		_ = s.pool.Stop(context.Background(), id) // one that has ended needs none
	}
}

// Run implements workers.Controller.
func (m *member) Run(ctx context.Context, b queue.Build, action string) error {
	s := m.share
	s.mu.Lock()
	s.builds[b.ID] = m
	s.commits[b.Commit], s.running[b.ID] = m.mirror, b.Commit
	s.mu.Unlock()
	b.Queue = m.name
	return s.pool.Run(ctx, b, action)
}

// Stop implements workers.Controller.
func (m *member) Stop(ctx context.Context, id queue.BuildID) error { return m.share.pool.Stop(ctx, id) }

// Events implements workers.Controller.
func (m *member) Events() <-chan queue.Body { return m.events }

// Log implements workers.Controller.
func (m *member) Log(id queue.BuildID) (workers.Log, error) { return m.share.pool.Log(id) }

// Close implements workers.Controller. It does nothing: the code that made the workers
// closes them.
func (m *member) Close(context.Context) error { return nil }
