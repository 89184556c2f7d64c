package workers

import (
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// AgentView is the state of an agent for display: one slot.
type AgentView struct {
	Agent
	Local bool // in this process
	Shard *ShardView
}

// ShardView is the state of a shard that an agent has, for display.
type ShardView struct {
	Build   queue.BuildID
	Queue   string
	Step    string
	Targets int
	Since   time.Time
}

// Agents returns the agents of the pool by name.
func (p *Pool) Agents() []AgentView {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]AgentView, 0, len(p.members))
	for name, m := range p.members {
		v := AgentView{Agent: m.agent, Local: p.tools.local[name]}
		if s := m.busy; s != nil {
			v.Shard = &ShardView{Build: s.build.ID, Queue: s.build.Queue, Step: s.build.Jobs[0].Step.Name, Targets: len(s.build.Jobs[0].Keys), Since: s.handed}
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b AgentView) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Load counts the shards of steps that ask for the same tags (Loads).
type Load struct {
	Waiting, Busy int // shards
}

// Loads returns the load by the tags of steps, with os:NAME and arch:NAME where a step names
// them, sorted and joined by commas; "" for steps without tags. Runners are scaled by it.
func (p *Pool) Loads() map[string]Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]Load{"": {}}
	for _, s := range p.waiting {
		l := out[s.asks()]
		l.Waiting++
		out[s.asks()] = l
	}
	for _, s := range p.leases {
		l := out[s.asks()]
		l.Busy++
		out[s.asks()] = l
	}
	return out
}

func (s *shard) asks() string {
	step := s.build.Jobs[0].Step
	words := slices.Clone(step.Tags)
	if step.OS != "" {
		words = append(words, "os:"+canonical(step.OS))
	}
	if step.Arch != "" {
		words = append(words, "arch:"+canonical(step.Arch))
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ",")
}
