package workers

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// member is an agent as the pool knows it: one slot.
type member struct {
	agent  Agent
	heard  time.Time
	asking int    // calls of Next that wait
	busy   *shard // the shard that it has

	queue, step string // of its last shard: its checkout and caches are warm for them
}

// Next implements Source. An agent joins the pool by asking; an agent that asks while it holds
// a lease has lost its shard.
func (p *Pool) Next(ctx context.Context, a Agent) (Assignment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Assignment{}, ErrClosed
	}
	m := p.members[a.Name]
	if m == nil {
		m = &member{}
		p.members[a.Name] = m
	}
	m.agent, m.heard = p.equipped(a), time.Now()
	p.reportSlots()
	if m.busy != nil {
		p.end(m.busy, queue.BuildDone{Outcome: queue.JobInfra, Detail: "agent " + a.Name + " started anew"})
	}
	m.asking++
	defer func() {
		m.asking--
		m.heard = time.Now()
	}()
	for {
		switch {
		case p.closed:
			return Assignment{}, ErrClosed
		case ctx.Err() != nil:
			return Assignment{}, ctx.Err()
		}
		now := time.Now()
		if s := p.pick(m, now); s != nil && m.busy == nil {
			p.divideAgain(s, now)
			return p.assign(s, m), nil
		}
		change := p.change
		p.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
		}
		p.mu.Lock()
	}
}

// pick returns the waiting shard that an agent is to run. It takes the queue that has had the
// least runner time for its weight, then the build of the highest value, then the shard with
// the most work. An agent that has a queue's repository prefers that queue, unless another
// queue is further behind than a cold start costs. A shard of the step that the agent has run
// last counts as if it had twice its work.
func (p *Pool) pick(m *member, now time.Time) *shard {
	var best *shard
	for _, s := range p.waiting {
		if missing(m.agent, s.build) != "" || p.shuns(m.agent, s) || p.leaves(m.agent, s, now) {
			continue
		}
		if best == nil || p.before(m, s, best) {
			best = s
		}
	}
	return best
}

// before reports whether an agent takes a before b.
func (p *Pool) before(m *member, a, b *shard) bool {
	due := func(s *shard) time.Duration {
		used := p.used[s.build.Queue]
		if s.build.Queue == m.queue {
			used -= 2 * p.fixedCost(s.build.Jobs[0].Step.Name)
		}
		return used
	}
	work := func(s *shard) time.Duration {
		if s.build.Queue == m.queue && s.build.Jobs[0].Step.Name == m.step {
			return 2 * s.work
		}
		return s.work
	}
	byQueue := 0
	if a.build.Queue != b.build.Queue {
		byQueue = cmp.Compare(due(a), due(b))
	}
	byBuild := 0
	if a.of != b.of {
		byBuild = cmp.Compare(b.build.Value, a.build.Value)
		if byBuild == 0 {
			return cmp.Or(byQueue, a.of.since.Compare(b.of.since)) < 0
		}
	}
	return cmp.Or(byQueue, byBuild, cmp.Compare(work(b), work(a))) < 0
}

// charge adds the runner time that a shard takes to the time of its queue.
func (p *Pool) charge(s *shard) {
	q := s.build.Queue
	p.used[q] += (s.work + p.fixedCost(s.build.Jobs[0].Step.Name)) / time.Duration(max(1, p.o.Weights[q]))
}

// arrive has a queue without a build in the pool begin with the least time that another queue
// has had: a queue does not save up the time that it did not use.
func (p *Pool) arrive(q string) {
	least := time.Duration(-1)
	for _, e := range p.builds {
		switch of := e.build.Queue; {
		case e.done != nil:
		case of == q:
			return
		case least < 0 || p.used[of] < least:
			least = p.used[of]
		}
	}
	p.used[q] = max(p.used[q], least)
}

// leaves reports whether an agent leaves a shard that avoids its host to another one, which is
// there or may still come back. On its own host, the shard would be run again and again, since
// that decides nothing before it is known that the host is alone.
// The bound keeps a shard from waiting for ever for a host that is never free.
func (p *Pool) leaves(a Agent, s *shard, now time.Time) bool {
	return slices.Contains(s.build.Avoid, a.host()) && now.Sub(s.of.since) < p.o.Apart &&
		(p.young(now) || p.elsewhere(s.build, append(slices.Concat(s.build.Avoid, s.build.Shun), a.host())))
}

// shuns reports whether an agent is on a benched host, and another one can run the
// shard: it may wait for that as long as it takes.
func (p *Pool) shuns(a Agent, s *shard) bool {
	return slices.Contains(s.build.Shun, a.host()) && p.elsewhere(s.build, s.build.Shun)
}

// assign hands a shard to an agent.
func (p *Pool) assign(s *shard, m *member) Assignment {
	p.leaveLine(s)
	p.last++
	s.lease, s.agent, s.heard, m.busy = p.last, m, time.Now(), s
	s.handed = s.heard
	p.leases[s.lease] = s
	p.charge(s)
	m.queue, m.step = s.build.Queue, s.build.Jobs[0].Step.Name
	e := s.of
	if !e.began {
		e.began = true
		if err := p.logs.begin(e.build.ID); err != nil {
			p.o.Log.Warn("begin log", "build", e.build.ID, "error", err)
		}
		p.tell(e, queue.BuildStarted{Build: e.build.ID, Machine: m.agent.Name})
	}
	return Assignment{Lease: s.lease, Build: s.build, Beat: p.o.Lease / 3, Stop: e.stop}
}

func (p *Pool) leaveLine(s *shard) {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *shard) bool { return w == s })
}

// tell reports a result and keeps it for a build that is asked for again.
func (p *Pool) tell(e *entry, body queue.Body) {
	e.results = append(e.results, body)
	if !e.unasked {
		p.events.put(body)
	}
}

// Return implements Source.
func (p *Pool) Return(lease Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.leases[lease]
	if s == nil || p.closed {
		return
	}
	if s.of.stopping || s.told {
		p.end(s, queue.BuildDone{Outcome: queue.JobInfra, Detail: "agent " + s.agent.agent.Name + " gave it back"})
		return
	}
	delete(p.leases, lease)
	s.agent.busy, s.agent, s.lease = nil, nil, 0
	if e := s.of; e.unasked { // its targets get a new shard when the build is asked for
		e.shards = slices.DeleteFunc(e.shards, func(o *shard) bool { return o == s })
		e.open--
		return
	}
	p.waiting = append([]*shard{s}, p.waiting...)
	p.wake()
}

// write adds lines of a shard to the build's log, under a heading if the lines before them are
// of another shard.
func (p *Pool) write(s *shard, lines []byte) {
	e := s.of
	if len(e.shards) > 1 && e.writes != s {
		lines = append([]byte(s.heading()), lines...)
	}
	e.writes = s
	if err := p.logs.add(e.build.ID, lines); err != nil {
		p.o.Log.Debug("write log", "build", e.build.ID, "error", err)
	}
}

// ran returns when a job began and ended; its agent has just reported the end. It uses the
// clock of the pool, because an agent's clock may be wrong. A job does not begin before the
// agent has the shard.
func (s *shard) ran(took time.Duration) (began, ended queue.Instant) {
	from := s.heard.Add(-max(took, 0))
	if from.Before(s.handed) {
		from = s.handed
	}
	return queue.At(from), queue.At(s.heard)
}

// admit checks the result of a shard against what was asked.
func (s *shard) admit(done queue.JobDone) (queue.JobDone, bool) {
	j := s.build.Jobs[0]
	if s.told || j.Step.Digest() != done.Step {
		return queue.JobDone{}, false
	}
	s.told = true
	asked := map[string]bool{}
	for _, t := range j.Targets() {
		asked[t] = true
	}
	named := len(done.Passed) + len(done.Failed)
	done.Build, done.Machine, done.Asked = s.build.ID, s.agent.agent.Name, s.asked
	done.Passed = slices.DeleteFunc(slices.Clone(done.Passed), func(t string) bool { return !asked[t] })
	done.Failed = slices.DeleteFunc(slices.Clone(done.Failed), func(f queue.TargetFailure) bool { return !asked[f.Target] })
	if done.Outcome == queue.JobPassed && named > 0 && len(done.Passed) == 0 {
		done.Outcome = queue.JobInfra // nothing named: that would pass the whole set
	}
	return done, true
}

// end ends a shard and frees its agent. The build ends with its last shard, with the worst
// outcome of all shards. d lacks only the build and the action.
func (p *Pool) end(s *shard, d queue.BuildDone) {
	e := s.of
	if s.ended {
		return
	}
	s.ended = true
	if s.lease != 0 {
		delete(p.leases, s.lease)
		s.agent.busy = nil
	} else {
		p.leaveLine(s)
	}
	if e.worst == nil || severity(d.Outcome) > severity(e.worst.Outcome) {
		e.worst = &d
	}
	if e.open--; e.open == 0 && !e.unasked {
		p.finish(e, *e.worst)
	}
}

// sweep takes back leases that were not reported on, and forgets agents that do
// not ask any more.
func (p *Pool) sweep(ctx context.Context) {
	tick := time.NewTicker(max(p.o.Lease/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			p.expire(now)
		case <-ctx.Done():
			return
		}
	}
}

func (p *Pool) expire(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.abandonUnasked(now)
	for name, m := range p.members {
		if m.asking > 0 || now.Sub(m.heard) < p.o.Lease {
			continue
		}
		if m.busy != nil {
			if m.busy.of.unasked && !m.busy.of.stopping {
				continue // it is cancelled where nobody asks for its build
			}
			p.lost(name, m)
		}
		delete(p.members, name)
	}
	p.reportSlots()
	p.wake() // a host that a build avoids may take it by now
	for _, s := range slices.Clone(p.waiting) {
		if end := p.unrunnable(s.build); end != nil {
			p.end(s, *end)
		}
	}
}
