package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// PoolOptions configure a Pool. Zero values mean the defaults.
type PoolOptions struct {
	Slots    int            // agents in this process; 0: none, all work goes to other agents
	Dir      string         // data directory: logs/, slots/; required
	Isolate  Isolation      // of the agents in this process; default IsolateNone
	UIDs     UIDs           // for IsolateUID
	Hide     []string       // files and folders that steps with namespaces of their own see empty, besides other slots and this process's home
	Show     []string       // hidden files and folders that these see all the same, read-only, besides those in PATH
	SlotsDir string         // of the agents in this process; with IsolateUID it must be reachable for others than its owner (see SlotsDir); default slots/ in Dir
	Name     string         // prefix of the agents' names; default the host's
	Tags     []string       // of the agents in this process
	Runner   RunnerOptions  // of the agents in this process; the pool sets Dir, Machine and Log
	Apart    time.Duration  // a build waits so long for a host that it does not avoid; default 5 min
	Tools    time.Duration  // how often the environment commands of steps are run; default 10 min
	Weights  map[string]int // of queues that share the pool, by name: their share of its time against other queues; default 1
	Await    time.Duration  // for so long after the start, agents on other machines may still come, and no build ends for want of an agent; default 0
	Lease    time.Duration  // an agent that is silent for so long is lost; default 90 s
	LogFiles int            // logs of ended builds that are kept; default 2000
	LogBytes int64          // and their size together; default 2 GiB
	Log      *slog.Logger   // required

	room   *room    // the view of steps; nil: the whole machine
	shut   *shut    // addresses that steps cannot reach; nil: none
	guests []*guest // of the slots and of the tools
	taken  *os.File // the lock of the folder of the slots
	tools  struct {
		dir   string // where environment commands run
		guest *guest // the user that they run as
	}
}

// Pool is a Controller with agents that pull its builds: some in this process, others through a
// transport of the Source. A build is divided into shards (shard.go): each is one step on some
// targets, and goes to an agent that has the tags of the step. Among several queues, the pool
// serves the one that has had the least runner time for its weight; among its builds the one of
// the highest value, among equals the one that has waited longest; of that build the shard with
// the most work. A shard goes to a host that the build avoids only if there is no other host,
// or none was free in time. It goes to a benched host (Build.Shun) only if no other can run it,
// or if the build probes that host (Build.Only). A build with a step that no agent can run ends
// at once with NoRunner, and so does a shard that waits when the last such agent leaves.
type Pool struct {
	o      PoolOptions
	logs   *Logs
	events *events
	stop   context.CancelFunc // ends the agents of this process and the sweeper
	tasks  sync.WaitGroup

	started time.Time

	mu      sync.Mutex
	closed  bool
	last    Lease
	builds  map[queue.BuildID]*entry
	waiting []*shard // in order of arrival
	leases  map[Lease]*shard
	members map[string]*member
	fixed   map[string]time.Duration // of a shard of a step, by its name
	used    map[string]time.Duration // time of runners, by queue and for its weight
	slots   int                      // as last reported
	hosts   []queue.FleetHost        // as last reported
	tools   tools                    // of the host of the agents in this process
	ended   []queue.BuildID          // oldest first; at most maxEnded
	change  chan struct{}            // closed and replaced when there may be work for an agent
}

var (
	_ Controller = (*Pool)(nil)
	_ Source     = (*Pool)(nil)
	_ Standing   = (*Pool)(nil)
)

// maxEnded is how many ended builds are remembered with their results.
const maxEnded = 1024

// entry is a build that waits, runs (began) or has ended (done != nil).
type entry struct {
	build    queue.Build
	action   string
	shards   []*shard
	open     int              // of the shards: those that have not ended
	worst    *queue.BuildDone // of those that have
	writes   *shard           // the last lines of its log are from this shard
	since    time.Time        // when it was asked for
	unasked  bool             // it was handed out by a process before this one (held.go), and not asked for since
	began    bool
	stop     chan struct{}
	stopping bool
	results  []queue.Body // BuildStarted and JobDone that were reported
	done     *queue.BuildDone
}

// NewPool opens the logs and starts the agents of this process.
func NewPool(o PoolOptions) (*Pool, error) {
	if o.Dir == "" || o.Log == nil {
		return nil, errors.New("workers: a pool needs Dir and Log")
	}
	if o.Name == "" {
		if host, err := os.Hostname(); err == nil {
			o.Name = host
		}
	}
	setDefault(&o.Name, "local")
	setDefault(&o.Lease, 90*time.Second)
	setDefault(&o.Tools, 10*time.Minute)
	setDefault(&o.Apart, 5*time.Minute)
	setDefault(&o.LogFiles, 2000)
	setDefault(&o.LogBytes, 2<<30)
	logs, err := OpenLogs(filepath.Join(o.Dir, "logs"), o.LogFiles, o.LogBytes)
	if err != nil {
		return nil, fmt.Errorf("workers: logs: %w", err)
	}
	setDefault(&o.SlotsDir, filepath.Join(o.Dir, "slots"))
	if err := o.takeSlots(); err != nil {
		return nil, err
	}
	if err := o.isolate(); err != nil {
		o.releaseGuests()
		return nil, fmt.Errorf("workers: isolate %s: %w", o.Isolate, err)
	}
	workers, err := openSlots(&o)
	if err != nil {
		o.releaseGuests()
		return nil, err
	}
	return startPool(o, logs, workers), nil
}

// openSlots makes the agents of this process, and their guests.
func openSlots(o *PoolOptions) ([]Worker, error) {
	workers := make([]Worker, o.Slots)
	for i := range workers {
		ro := o.Runner
		ro.Dir = filepath.Join(o.SlotsDir, fmt.Sprint(i+1))
		ro.Machine = fmt.Sprintf("%s-%d", o.Name, i+1)
		ro.Log = o.Log
		g, err := o.guest(ro.Dir)
		if err != nil {
			return nil, err
		}
		runner, err := newRunner(ro, g)
		if err != nil {
			return nil, err
		}
		workers[i] = Worker{
			Agent:   Agent{Name: ro.Machine, Host: o.Name, OS: runtime.GOOS, Arch: runtime.GOARCH, Tags: o.Tags},
			Builder: runner,
			Unready: runner.lowDisk,
			Log:     o.Log,
		}
	}
	return workers, o.openTools()
}

// openTools makes the folder of environment commands, and their guest.
func (o *PoolOptions) openTools() (err error) {
	o.tools.dir = filepath.Join(o.Dir, "tools")
	if o.Isolate == IsolateUID {
		o.tools.dir = filepath.Join(o.SlotsDir, "tools")
	}
	o.tools.guest, err = o.guest(o.tools.dir)
	return err
}

func startPool(o PoolOptions, logs *Logs, workers []Worker) *Pool {
	ctx, stop := context.WithCancel(context.Background())
	p := &Pool{
		o:       o,
		started: time.Now(),
		logs:    logs,
		events:  newEvents(),
		stop:    stop,
		builds:  make(map[queue.BuildID]*entry),
		leases:  make(map[Lease]*shard),
		members: make(map[string]*member),
		fixed:   make(map[string]time.Duration),
		used:    make(map[string]time.Duration),
		slots:   -1,
		change:  make(chan struct{}),
	}
	p.tools = tools{asked: make(chan struct{}, 1), local: map[string]bool{}}
	for _, w := range workers {
		p.tools.local[w.Agent.Name] = true
		p.members[w.Agent.Name] = &member{agent: w.Agent, heard: time.Now()}
	}
	p.reportSlots()
	p.tasks.Go(func() { p.sweep(ctx) })
	p.tasks.Go(func() { p.surveyTools(ctx) })
	for _, w := range workers {
		w.Source = p
		p.tasks.Go(func() { w.Serve(ctx) })
	}
	return p
}

// Run implements Controller.
func (p *Pool) Run(_ context.Context, b queue.Build, action string) error {
	if len(b.Jobs) == 0 {
		return ErrNoJobs
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	e := p.builds[b.ID]
	if e != nil && e.unasked {
		if p.claim(e, b, action) {
			return nil
		}
		e = nil
	}
	if e != nil {
		e.action = action
		p.events.put(e.results...)
		if e.done != nil {
			e.done.Action = action
			p.events.put(*e.done)
		}
		for _, s := range e.shards {
			s.build.Avoid, s.build.Shun = b.Avoid, b.Shun // waiting shards go by them
		}
		if e.done == nil {
			p.wake()
		}
		return nil
	}
	e = &entry{build: b, action: action, since: time.Now(), stop: make(chan struct{})}
	p.arrive(b.Queue)
	p.builds[b.ID] = e
	if end := p.unrunnable(b); end != nil {
		p.finish(e, *end)
		return nil
	}
	e.shards = shardsOf(b, p.room(), p.fixedCost)
	e.open = len(e.shards)
	for _, s := range e.shards {
		s.of = e
	}
	p.waiting = append(p.waiting, e.shards...)
	p.wake()
	return nil
}

// Stop implements Controller.
func (p *Pool) Stop(_ context.Context, id queue.BuildID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.builds[id]
	switch {
	case e == nil || e.done != nil || e.stopping:
	case !e.began:
		p.drop(e, "cancelled before it started")
	default:
		e.stopping = true
		close(e.stop)
		p.drop(e, "cancelled")
	}
	return nil
}

// Events implements Controller.
func (p *Pool) Events() <-chan queue.Body { return p.events.out }

// Log implements Controller.
func (p *Pool) Log(id queue.BuildID) (Log, error) { return p.logs.Open(id) }

// Close implements Controller.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	was := p.closed
	p.closed = true
	p.wake()
	p.mu.Unlock()
	if was {
		return nil
	}
	p.stop()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.tasks.Wait()
		p.o.releaseGuests()
	}()
	var err error
	select {
	case <-gone:
	case <-ctx.Done():
		err = fmt.Errorf("workers: builds still running: %w", ctx.Err())
	}
	p.mu.Lock()
	for _, s := range p.leases {
		p.logs.end(s.build.ID)
	}
	p.mu.Unlock()
	p.events.close(ctx)
	return err
}

// drop ends the waiting shards of a build.
func (p *Pool) drop(e *entry, why string) {
	for _, s := range e.shards {
		if s.lease == 0 {
			p.end(s, queue.BuildDone{Outcome: queue.JobStopped, Detail: why})
		}
	}
}

// finish ends a build, and reports its result. d lacks only the build and the action.
func (p *Pool) finish(e *entry, d queue.BuildDone) {
	if e.stopping {
		d.Outcome, d.Detail = queue.JobStopped, "cancelled"
	}
	d.Build, d.Action = e.build.ID, e.action
	e.done = &d
	e.build.Jobs, e.shards, e.writes = nil, nil, nil // may be many keys; not asked for again
	if e.began {
		p.logs.end(e.build.ID)
	}
	p.events.put(d)
	p.ended = append(p.ended, e.build.ID)
	if n := len(p.ended) - maxEnded; n > 0 {
		for _, id := range p.ended[:n] {
			delete(p.builds, id)
		}
		p.ended = append(p.ended[:0], p.ended[n:]...)
	}
}

// wake makes every agent that waits look again.
func (p *Pool) wake() {
	close(p.change)
	p.change = make(chan struct{})
}
