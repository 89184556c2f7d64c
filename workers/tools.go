package workers

import (
	"context"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Equipped is implemented by a Controller that knows what tools its hosts have.
type Equipped interface {
	// Environments says which environment commands the steps of a queue have. Their
	// output is told by Fleet, soon, and again when it has changed.
	Environments(commands []string)
}

// tools is the output of the environment commands on the pool's own host. The pool's lock
// guards it.
type tools struct {
	commands []string
	found    []queue.Tools
	local    map[string]bool // names of the agents in this process
	asked    chan struct{}   // holds a token when the commands have changed
}

var _ Equipped = (*Pool)(nil)

// Environments implements Equipped.
func (p *Pool) Environments(commands []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	commands = slices.Compact(slices.Sorted(slices.Values(commands)))
	if slices.Equal(commands, p.tools.commands) {
		return
	}
	p.tools.commands = commands
	select {
	case p.tools.asked <- struct{}{}:
	default:
	}
}

// EnvironmentCommands returns the commands of the last call of Environments.
func (p *Pool) EnvironmentCommands() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tools.commands
}

// surveyTools runs the environment commands on this host, once for all its agents, when
// they have changed and from time to time.
func (p *Pool) surveyTools(ctx context.Context) {
	tick := time.NewTicker(max(p.o.Tools, time.Millisecond))
	defer tick.Stop()
	survey := p.survey()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.tools.asked:
		case <-tick.C:
		}
		p.mu.Lock()
		commands := p.tools.commands
		p.mu.Unlock()
		var found []queue.Tools
		for _, command := range commands {
			found = append(found, survey.Look(ctx, command))
		}
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.tools.found = found
		for _, m := range p.members {
			m.agent = p.equipped(m.agent)
		}
		p.reportSlots()
		p.wake()
		p.mu.Unlock()
	}
}

// equipped returns an agent, with the tools of this host if it runs in this process.
func (p *Pool) equipped(a Agent) Agent {
	if p.tools.local[a.Name] {
		a.Tools = p.tools.found
	}
	return a
}

// survey runs the environment commands of the pool's host.
func (p *Pool) survey() *Survey {
	return &Survey{o: p.o.Runner, dir: p.o.tools.dir, guest: p.o.tools.guest}
}
