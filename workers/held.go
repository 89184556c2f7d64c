package workers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Held is a shard that an earlier process handed to an agent, and that is not lost with that
// process.
type Held struct {
	Build  queue.Build    `json:"build"` // as in its Assignment
	Agent  Agent          `json:"agent"`
	Handed time.Time      `json:"handed"`
	Done   *queue.JobDone `json:"done,omitempty"` // its result, where it has ended
	End    *End           `json:"end,omitempty"`  // how it has ended; nil: it runs
	Ended  time.Time      `json:"ended,omitzero"`
}

// Holder is a Source that takes back shards that were handed out before it began. The caller
// that handed them out tells it so before builds are asked for.
type Holder interface {
	Source
	// Hold has a shard run under a new lease or, if it has ended, takes its result. Nothing is
	// reported of its build until Run asks for the build again. The shard is cancelled
	// (Assignment.Stop) if nobody asks for the build in time, or if Run asks for a different
	// build under its id. Errors: ErrClosed; ErrLost if the agent holds another shard or the
	// build is known already.
	Hold(h Held) (Assignment, error)
	// Open reports whether a build is known and has not ended.
	Open(id queue.BuildID) bool
}

var _ Holder = (*Pool)(nil)

// unasked is how long a build with shards that are held waits for being asked for again.
const unasked = 5 * time.Minute

// Hold implements Holder.
func (p *Pool) Hold(h Held) (Assignment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Assignment{}, ErrClosed
	}
	if len(h.Build.Jobs) != 1 {
		return Assignment{}, ErrNoJobs
	}
	now := time.Now()
	e := p.builds[h.Build.ID]
	if e != nil && (!e.unasked || e.stopping) {
		return Assignment{}, ErrLost
	}
	m := &member{}
	if known := p.members[h.Agent.Name]; known != nil && h.End == nil {
		if m = known; m.busy != nil {
			return Assignment{}, ErrLost
		}
	}
	if e == nil {
		b := h.Build
		b.Jobs = nil
		e = &entry{build: b, since: now, unasked: true, began: true, stop: make(chan struct{})}
		e.results = []queue.Body{queue.BuildStarted{Build: b.ID, Machine: h.Agent.Name}}
		p.builds[b.ID] = e
		if err := p.logs.resume(b.ID); err != nil {
			p.o.Log.Warn("go on with a log", "build", b.ID, "error", err)
		}
	}
	m.agent, m.heard = p.equipped(h.Agent), now
	s := &shard{of: e, build: h.Build, held: true, asked: h.Build.Jobs[0].Targets(), place: len(e.shards) + 1, agent: m, heard: now, handed: h.Handed}
	for _, w := range expected(h.Build.Jobs[0]) {
		s.work += w
	}
	if h.End != nil { // its agent may have gone long since
		s.heard = h.Ended
	} else {
		p.members[h.Agent.Name] = m
		m.busy, m.queue, m.step = s, h.Build.Queue, h.Build.Jobs[0].Step.Name
	}
	p.last++
	s.lease = p.last
	p.leases[s.lease] = s
	e.shards = append(e.shards, s)
	e.open++
	p.reportSlots()
	a := Assignment{Lease: s.lease, Build: s.build, Beat: p.o.Lease / 3, Stop: e.stop}
	if h.End != nil {
		p.take(s, Report{Job: h.Done, End: h.End})
	}
	return a, nil
}

// Open implements Holder.
func (p *Pool) Open(id queue.BuildID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.builds[id]
	return e != nil && e.done == nil
}

// claim takes a build that is asked for and of which shards are held: the part of it that no
// held shard covers waits for an agent. It reports whether the held shards are of that build.
func (p *Pool) claim(e *entry, b queue.Build, action string) bool {
	rest, ok := beside(b, e.shards)
	if !ok {
		p.abandon(e)
		return false
	}
	now := time.Now()
	e.build, e.action, e.unasked, e.since = b, action, false, now
	p.arrive(b.Queue)
	for _, s := range e.shards {
		s.build.Avoid, s.build.Shun, s.heard = b.Avoid, b.Shun, now
		s.agent.heard = now
	}
	p.events.put(e.results...)
	if len(rest.Jobs) > 0 && !e.stopping {
		for _, s := range shardsOf(rest, p.room(), p.fixedCost) {
			s.of, s.place, s.asked = e, len(e.shards)+1, s.build.Jobs[0].Targets()
			e.shards = append(e.shards, s)
			e.open++
			p.waiting = append(p.waiting, s)
		}
		for _, s := range slices.Clone(e.shards) {
			if s.lease != 0 || s.ended {
				continue
			}
			if end := p.unrunnable(s.build); end != nil {
				p.end(s, *end)
			}
		}
	}
	if e.open == 0 && e.done == nil {
		p.finish(e, e.sum())
	}
	p.wake()
	return true
}

// sum returns the end of a build once all its shards have ended.
func (e *entry) sum() queue.BuildDone {
	if e.worst == nil {
		return queue.BuildDone{Outcome: queue.JobStopped, Detail: "cancelled"}
	}
	return *e.worst
}

// beside returns a build without the parts that shards cover. It reports whether the shards are
// of that build.
func beside(b queue.Build, shards []*shard) (queue.Build, bool) {
	have := map[queue.Key]bool{}
	whole := map[queue.Digest]bool{}
	for _, s := range shards {
		if s.build.Commit != b.Commit || s.build.Queue != b.Queue {
			return b, false
		}
		j := s.build.Jobs[0]
		whole[j.Step.Digest()] = whole[j.Step.Digest()] || len(j.Keys) == 0
		for _, k := range j.Keys {
			have[k] = true
		}
	}
	rest, found := b, map[queue.Key]bool{}
	rest.Jobs = nil
	for _, j := range b.Jobs {
		if d := j.Step.Digest(); len(j.Keys) == 0 && whole[d] {
			delete(whole, d)
			continue
		}
		left := j
		left.Keys, left.Expect = nil, nil
		for i, k := range j.Keys {
			if have[k] {
				found[k] = true
				continue
			}
			left.Keys = append(left.Keys, k)
			if len(j.Expect) == len(j.Keys) {
				left.Expect = append(left.Expect, j.Expect[i])
			}
		}
		if len(left.Keys) > 0 || len(j.Keys) == 0 {
			rest.Jobs = append(rest.Jobs, left)
		}
	}
	for _, w := range whole {
		if w {
			return b, false
		}
	}
	return rest, len(found) == len(have)
}

// abandon cancels the shards of a build that nobody asks for; their end is not reported.
func (p *Pool) abandon(e *entry) {
	if !e.stopping {
		e.stopping = true
		close(e.stop)
	}
	p.logs.end(e.build.ID)
	delete(p.builds, e.build.ID)
}

// abandonUnasked abandons the builds that nobody has asked for in time.
func (p *Pool) abandonUnasked(now time.Time) {
	for _, e := range p.builds {
		if e.unasked && now.Sub(e.since) > unasked {
			p.o.Log.Warn("runners have parts of a build that nobody asks for again: they are told to give them up", "build", e.build.ID, "parts", len(e.shards))
			p.abandon(e)
		}
	}
}

// young reports whether agents of an earlier process may still come back.
func (p *Pool) young(now time.Time) bool { return now.Sub(p.started) < p.o.Await }

// take takes in an agent's report of a shard.
func (p *Pool) take(s *shard, r Report) {
	if len(r.Log) > 0 && p.builds[s.build.ID] == s.of {
		p.write(s, r.Log)
	}
	if r.Job != nil {
		if done, ok := s.admit(*r.Job); ok {
			done.Host = s.agent.agent.host()
			done.Alone = p.alone(s.build, done.Host)
			done.Began, done.Ended = s.ran(done.Took)
			p.learnFixed(s, done)
			p.tell(s.of, done)
		}
	}
	if r.End != nil {
		host := s.agent.agent.host()
		d := queue.BuildDone{Outcome: r.End.Outcome, Detail: r.End.Detail, Matched: r.End.Matched, Host: host, Alone: p.alone(s.build, host)}
		if d.Outcome == queue.JobPassed && !s.told {
			d.Outcome, d.Detail = queue.JobInfra, "agent "+s.agent.agent.Name+" left out the result of a step"
		}
		p.end(s, d)
	}
}

// Report implements Source. It trusts an agent as little as possible: results count once per
// shard, and only for targets that were asked.
func (p *Pool) Report(_ context.Context, lease Lease, r Report) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.leases[lease]
	if s == nil || p.closed {
		return ErrLost
	}
	s.heard = time.Now()
	s.agent.heard = s.heard
	p.take(s, r)
	return nil
}

// lost ends the shard of a silent agent.
func (p *Pool) lost(name string, m *member) {
	p.end(m.busy, queue.BuildDone{
		Outcome: queue.JobInfra, Host: m.agent.host(), Alone: p.alone(m.busy.build, m.agent.host()),
		Detail: fmt.Sprintf("agent %s was lost: it has been silent for %s", name, p.o.Lease),
	})
}
