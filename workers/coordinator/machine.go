package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// mkey names a machine: several may use one token.
type mkey struct {
	runner int64
	system string
}

// machine is a process that asks for jobs.
type machine struct {
	runner Runner
	system string
	said   string // name, as the machine has it
	name   string // said, with a suffix if another machine has that name
	info   protocol.Info
	tools  []protocol.Tool // the output that it tells of environment commands there
	seen   time.Time
	asking map[int]context.CancelFunc // by slot: ends the hold
	jobs   map[int]*job               // by slot, until the runner says that they have ended
	left   bool                       // it was unregistered, and has not asked since
}

// maxSlots bounds the jobs that one machine runs at once.
const maxSlots = 512

// keepMachine is how long a machine that does not ask any more is listed.
const keepMachine = 24 * time.Hour

// machineOf returns the machine that sent a request, updated from the request; the caller holds
// mu.
func (c *Coordinator) machineOf(r Runner, system string, info protocol.Info, tools []protocol.Tool) *machine {
	key := mkey{r.ID, system}
	m := c.machines[key]
	if m == nil {
		m = &machine{asking: map[int]context.CancelFunc{}, jobs: map[int]*job{}}
		c.machines[key] = m
	}
	m.runner, m.system, m.info, m.tools, m.seen, m.left = r, system, info, tools, time.Now(), false
	said, own := r.Name, clip(system[max(0, len(system)-6):], 6)
	if host := clip(info.Labels["host"], 64); host != "" {
		said += "-" + host
	} else if own != "" {
		said += "-" + own
	}
	// A machine that was away may find that another one has got its name. It takes a new name only
	// while it has nothing: the pool knows its jobs by the old one.
	back := m.name == said && len(m.jobs)+len(m.asking) == 0
	if m.said != said || back {
		m.said, m.name = said, said
		if c.taken(m) && own != "" {
			m.name += "-" + own
		}
	}
	return m
}

// taken reports whether another active machine has a machine's name, as clones of one image do:
// each of two machines with one name would end the jobs of the other. The caller holds mu.
func (c *Coordinator) taken(m *machine) bool {
	for _, o := range c.machines {
		if o != m && o.name == m.name && (len(o.jobs)+len(o.asking) > 0 || time.Since(o.seen) < c.o.Lease) {
			return true
		}
	}
	return false
}

// clip makes a word of a hostile text.
func clip(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), most)]
}

// slot returns a slot of a machine that neither asks nor runs anything; the caller holds mu.
func (m *machine) slot() (int, bool) {
	for i := 1; i <= maxSlots; i++ {
		if m.asking[i] == nil && m.jobs[i] == nil {
			return i, true
		}
	}
	return 0, false
}

// images are the executors that run jobs in the images that the jobs name.
var images = []string{"docker", "docker-windows", "docker+machine", "docker-autoscaler", "kubernetes", "custom", "parallels", "virtualbox"}

// agent is a slot of a machine, as the pool knows it, with the output of these environment
// commands there.
func (m *machine) agent(slot int, commands []string) workers.Agent {
	a := workers.Agent{Name: fmt.Sprintf("%s-%d", m.name, slot), Host: m.name, OS: m.info.Platform, Arch: m.info.Architecture, TagsOnly: m.runner.TagsOnly,
		Images: slices.Contains(images, m.info.Executor)}
	a.Tags = append(a.Tags, m.runner.Tags...)
	for k, v := range m.info.Labels {
		if k == "host" { // the machine's name
			continue
		}
		if tagForm.MatchString(k) {
			a.Tags = append(a.Tags, k)
		}
		if tag := k + ":" + v; tagForm.MatchString(tag) {
			a.Tags = append(a.Tags, tag)
		}
	}
	slices.Sort(a.Tags)
	a.Tools = m.toolsFor(commands)
	return a
}

// Machine is the state of a machine that asks for jobs, for display.
type Machine struct {
	Name     string // also in results
	Runner   string // it has the token of this runner
	Tags     []string
	OS, Arch string
	Executor string
	Version  string // hostile text
	Paused   bool
	Asking   int // requests that wait for work
	Jobs     []MachineJob
	Seen     time.Time // when it was last heard
}

// MachineJob is a job that a machine has.
type MachineJob struct {
	ID      int64
	Build   queue.BuildID
	Queue   string
	Step    string
	Targets int
	Since   time.Time
	Ending  bool // it was cancelled, and its machine has not said that it has ended
}

// refresh updates the runners of machines: an operator may have paused or revoked a runner
// while its requests are held. It answers these requests. If the environment commands of steps
// have changed, it answers all held requests.
func (c *Coordinator) refresh() {
	list, err := c.o.Runners.List()
	if err != nil {
		c.o.Log.Error("the runners cannot be read", "error", err)
		return
	}
	digest := digestOf(c.environments())
	c.mu.Lock()
	defer c.mu.Unlock()
	asks := digest != c.asks // held requests are answered, and come again with the output of these
	c.asks = digest
	for key, m := range c.machines {
		i := slices.IndexFunc(list, func(r Runner) bool { return r.ID == key.runner })
		if i >= 0 {
			m.runner = list[i]
		}
		if i < 0 || m.runner.Paused || !m.runner.Revoked.IsZero() || asks {
			for _, end := range m.asking {
				end()
			}
		}
		if (i < 0 || !m.runner.Revoked.IsZero()) && len(m.jobs) == 0 {
			delete(c.machines, key)
		}
	}
}

// Machines returns the machines that have asked for jobs lately, by name.
func (c *Coordinator) Machines() []Machine {
	c.refresh()
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Machine
	for _, m := range c.machines {
		x := Machine{Name: m.name, Runner: m.runner.Name, Tags: m.agent(0, nil).Tags, OS: m.info.Platform, Arch: m.info.Architecture,
			Executor: m.info.Executor, Version: m.info.Version, Paused: m.runner.Paused, Asking: len(m.asking), Seen: m.seen}
		for _, j := range m.jobs {
			w := j.a.Build.Jobs[0]
			x.Jobs = append(x.Jobs, MachineJob{ID: j.id, Build: j.a.Build.ID, Queue: j.a.Build.Queue, Step: w.Step.Name, Targets: len(w.Keys), Since: j.handed, Ending: j.phase == ending})
		}
		slices.SortFunc(x.Jobs, func(a, b MachineJob) int { return cmp.Compare(a.ID, b.ID) })
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Machine) int { return strings.Compare(a.Name, b.Name) })
	return out
}
