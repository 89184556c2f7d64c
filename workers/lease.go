package workers

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// member is an agent as the pool knows it: one slot.
type member struct {
	agent  Agent
	heard  time.Time
	asking int    // calls of Next that wait
	busy   *entry // what it was handed
}

// Next implements Source. An agent joins the pool by asking; one that asks while
// it holds a lease has lost what it held.
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
		p.finish(m.busy, queue.BuildDone{Outcome: queue.JobInfra, Detail: "agent " + a.Name + " started anew"})
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
		if e := p.pick(m.agent, time.Now()); e != nil && m.busy == nil {
			return p.assign(e, m), nil
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

// pick returns the waiting build of the highest value that the agent can run.
func (p *Pool) pick(a Agent, now time.Time) *entry {
	var best *entry
	for _, e := range p.waiting {
		if (best == nil || e.build.Value > best.build.Value) && missing(a, e.build) == "" && !p.shuns(a, e) && !p.leaves(a, e, now) {
			best = e
		}
	}
	return best
}

// leaves reports whether an agent leaves a build that avoids its host to another one.
// The bound keeps a build from waiting for ever for a host that is never free.
func (p *Pool) leaves(a Agent, e *entry, now time.Time) bool {
	return slices.Contains(e.build.Avoid, a.host()) && now.Sub(e.since) < p.o.Apart &&
		p.elsewhere(e.build, append(slices.Concat(e.build.Avoid, e.build.Shun), a.host()))
}

// shuns reports whether an agent is on a benched host, and another one can run the
// build: it may wait for that as long as it takes.
func (p *Pool) shuns(a Agent, e *entry) bool {
	return slices.Contains(e.build.Shun, a.host()) && p.elsewhere(e.build, e.build.Shun)
}

// elsewhere reports whether an agent on none of some hosts can run a build.
func (p *Pool) elsewhere(b queue.Build, hosts []string) bool {
	for _, m := range p.members {
		if !slices.Contains(hosts, m.agent.host()) && missing(m.agent, b) == "" {
			return true
		}
	}
	return false
}

// alone reports whether a host is the only one that can run a build, but for those
// that are benched.
func (p *Pool) alone(b queue.Build, host string) bool {
	return !p.elsewhere(b, append(slices.Clone(b.Shun), host))
}

// assign hands a build to an agent.
func (p *Pool) assign(e *entry, m *member) Assignment {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *entry) bool { return w == e })
	p.last++
	e.lease, e.agent, e.heard, m.busy = p.last, m, time.Now(), e
	e.handed = e.heard
	p.leases[e.lease] = e
	if err := p.logs.begin(e.build.ID); err != nil {
		p.o.Log.Warn("begin log", "build", e.build.ID, "error", err)
	}
	p.tell(e, queue.BuildStarted{Build: e.build.ID, Machine: m.agent.Name})
	return Assignment{Lease: e.lease, Build: e.build, Beat: p.o.Lease / 3, Stop: e.stop}
}

// tell reports a result and keeps it for a build that is asked for again.
func (p *Pool) tell(e *entry, body queue.Body) {
	e.results = append(e.results, body)
	p.events.put(body)
}

// Report implements Source. It believes an agent no more than it must: results
// count once per job that the build has, and only for targets that were asked.
func (p *Pool) Report(_ context.Context, lease Lease, r Report) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.leases[lease]
	if e == nil || p.closed {
		return ErrLost
	}
	e.heard = time.Now()
	e.agent.heard = e.heard
	if len(r.Log) > 0 {
		if err := p.logs.add(e.build.ID, r.Log); err != nil {
			p.o.Log.Debug("write log", "build", e.build.ID, "error", err)
		}
	}
	if r.Job != nil {
		if done, ok := e.admit(*r.Job); ok {
			done.Host = e.agent.agent.host()
			done.Alone = p.alone(e.build, done.Host)
			done.Began, done.Ended = e.ran(done.Took)
			p.tell(e, done)
		}
	}
	if r.End != nil {
		host := e.agent.agent.host()
		d := queue.BuildDone{Outcome: r.End.Outcome, Detail: r.End.Detail, Matched: r.End.Matched, Host: host, Alone: p.alone(e.build, host)}
		if d.Outcome == queue.JobPassed && len(e.results)-1 < len(e.build.Jobs) {
			d.Outcome, d.Detail = queue.JobInfra, "agent "+e.agent.agent.Name+" left out the result of a step"
		}
		p.finish(e, d)
	}
	return nil
}

// ran returns when a job was run of which the agent says now that it has ended, by the
// clock of the pool: an agent's may be any. It did not begin before the agent had it.
func (e *entry) ran(took time.Duration) (began, ended queue.Instant) {
	from := e.heard.Add(-max(took, 0))
	if from.Before(e.handed) {
		from = e.handed
	}
	return queue.At(from), queue.At(e.heard)
}

// admit checks the result of a job against what was asked.
func (e *entry) admit(done queue.JobDone) (queue.JobDone, bool) {
	before := 0
	for _, r := range e.results {
		if d, ok := r.(queue.JobDone); ok && d.Step == done.Step {
			before++
		}
	}
	i := slices.IndexFunc(e.build.Jobs, func(j queue.Job) bool {
		if j.Step.Digest() != done.Step {
			return false
		}
		before--
		return before < 0
	})
	if i < 0 {
		return queue.JobDone{}, false
	}
	asked := map[string]bool{}
	for _, t := range e.build.Jobs[i].Targets() {
		asked[t] = true
	}
	named := len(done.Passed) + len(done.Failed)
	done.Build, done.Machine = e.build.ID, e.agent.agent.Name
	done.Passed = slices.DeleteFunc(slices.Clone(done.Passed), func(t string) bool { return !asked[t] })
	done.Failed = slices.DeleteFunc(slices.Clone(done.Failed), func(f queue.TargetFailure) bool { return !asked[f.Target] })
	if done.Outcome == queue.JobPassed && named > 0 && len(done.Passed) == 0 {
		done.Outcome = queue.JobInfra // nothing named: that would pass the whole set
	}
	return done, true
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
	for name, m := range p.members {
		if m.asking > 0 || now.Sub(m.heard) < p.o.Lease {
			continue
		}
		if m.busy != nil {
			p.finish(m.busy, queue.BuildDone{
				Outcome: queue.JobInfra, Host: m.agent.host(), Alone: p.alone(m.busy.build, m.agent.host()),
				Detail: fmt.Sprintf("agent %s was lost: it has been silent for %s", name, p.o.Lease),
			})
		}
		delete(p.members, name)
	}
	p.reportSlots()
	p.wake() // a host that a build avoids may take it by now
	for _, e := range slices.Clone(p.waiting) {
		if end := p.unrunnable(e.build); end != nil {
			p.finish(e, *end)
		}
	}
}

// reportSlots emits the number of agents when it has changed, and on which hosts they
// are.
func (p *Pool) reportSlots() {
	at := map[string]queue.FleetHost{}
	for _, m := range p.members {
		h := at[m.agent.host()]
		h.Name, h.Slots = m.agent.host(), h.Slots+1
		if len(m.agent.Tools) > 0 {
			h.Tools = m.agent.Tools
		}
		at[h.Name] = h
	}
	var hosts []queue.FleetHost
	for _, name := range slices.Sorted(maps.Keys(at)) {
		hosts = append(hosts, at[name])
	}
	if !reflect.DeepEqual(hosts, p.hosts) {
		p.hosts = hosts
		p.events.put(queue.Fleet{Hosts: hosts})
	}
	if n := len(p.members); n != p.slots {
		p.slots = n
		p.events.put(queue.Capacity{Slots: n})
	}
}

// Stands implements Standing.
func (p *Pool) Stands() []queue.Body {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []queue.Body{queue.Fleet{Hosts: p.hosts}, queue.Capacity{Slots: p.slots}}
}

// unrunnable returns the end of a build that no agent can run, or nil. One for which
// there are agents, with other tools than its steps are verified with, is given back:
// the queue follows the tools.
func (p *Pool) unrunnable(b queue.Build) *queue.BuildDone {
	why := p.noRunner(b)
	if why == "" {
		return nil
	}
	bare := b
	bare.Jobs = slices.Clone(b.Jobs)
	for i := range bare.Jobs {
		bare.Jobs[i].Step.Environment = ""
	}
	if p.noRunner(bare) == "" {
		return &queue.BuildDone{Outcome: queue.JobStopped, Detail: "no host has the tools that its steps are verified with"}
	}
	return &queue.BuildDone{Outcome: queue.JobInfra, Detail: why, NoRunner: true}
}

// noRunner says for people why no agent can run a build, or nothing.
func (p *Pool) noRunner(b queue.Build) string {
	step := ""
	for _, j := range b.Jobs {
		if j.Step.ByForge() { // it has no command, and none that ends well would be a pass
			return fmt.Sprintf("step %s waits for checks of the forge's CI, and this server has none", clean("\""+j.Step.Name+"\""))
		}
	}
	if b.Only != "" && !p.elsewhere(b, nil) {
		return fmt.Sprintf("host %s, which is to be probed, is away or has not what the step asks for", clean(b.Only))
	}
	for _, m := range p.members {
		s := missing(m.agent, b)
		if s == "" {
			return ""
		}
		step = max(step, s) // the same whatever the order of the map
	}
	if len(p.members) == 0 {
		return "there is no runner"
	}
	return fmt.Sprintf("no runner has what step %s asks for", clean(step))
}

// missing returns the name of the first step of a build that an agent cannot
// run, or nothing.
func missing(a Agent, b queue.Build) string {
	other := b.Only != "" && b.Only != a.host()
	for _, j := range b.Jobs {
		if other || !a.Offers(j.Step) {
			return "\"" + j.Step.Name + "\""
		}
	}
	return ""
}
