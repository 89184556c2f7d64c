package workers

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// reportSlots emits the number of agents, and their hosts, when these have changed.
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

// elsewhere reports whether an agent can run a shard on a host that is not one of these.
func (p *Pool) elsewhere(b queue.Build, hosts []string) bool {
	for _, m := range p.members {
		if !slices.Contains(hosts, m.agent.host()) && missing(m.agent, b) == "" {
			return true
		}
	}
	return false
}

// alone reports whether a host is the only one that can run a shard, but for those
// that are benched.
func (p *Pool) alone(b queue.Build, host string) bool {
	return !p.young(time.Now()) && !p.elsewhere(b, append(slices.Clone(b.Shun), host))
}

// room is how many agents a build that has just come may be divided among: those that are
// free and for which nothing waits, or its share of all beside the other builds, if that is
// more.
func (p *Pool) room() int {
	free, live := -len(p.waiting), 0
	for _, m := range p.members {
		if m.busy == nil {
			free++
		}
	}
	for _, e := range p.builds {
		if e.done == nil {
			live++
		}
	}
	return max(1, free, len(p.members)/max(1, live))
}

// unrunnable returns the end of a build with a job that no agent can run, or nil. If agents
// could run the job but have other tools than its step is verified with, the build is given
// back: the queue follows the tools.
func (p *Pool) unrunnable(b queue.Build) *queue.BuildDone {
	for _, j := range b.Jobs {
		one := b
		one.Jobs = []queue.Job{j}
		why := p.noRunner(one)
		if why == "" || p.young(time.Now()) && b.Only == "" && !j.Step.ByForge() {
			continue
		}
		bare := one
		j.Step.Environment = ""
		bare.Jobs = []queue.Job{j}
		if p.noRunner(bare) == "" {
			return &queue.BuildDone{Outcome: queue.JobStopped, Detail: "no host has the tools that its steps are verified with"}
		}
		return &queue.BuildDone{Outcome: queue.JobInfra, Detail: why, NoRunner: true}
	}
	return nil
}

// noRunner says for people why no agent can run a shard, or nothing.
func (p *Pool) noRunner(b queue.Build) string {
	step := ""
	for _, j := range b.Jobs {
		if j.Step.ByForge() { // it has no command, and an empty command that ends well would be a pass
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
		step = max(step, s) // independent of the order of the map
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
