package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

const minuteTimeout = time.Minute

// gitGrace is how long git may go on with what is no longer wanted: killed, it
// leaves locks and half of a fetch behind.
const gitGrace = 5 * time.Second

// surelyMissing is how often a pull request that somebody wrote a command on
// has to be not found.
const surelyMissing = 2

// How many actions of a kind are carried out at once.
const (
	gitAtOnce     = 4
	forgeAtOnce   = 8
	inspectAtOnce = 32 // they join in one fetch of their heads
)

// performer carries out the actions of one ownership. Whatever it does can be
// done twice; what comes of it goes back as an event.
type performer struct {
	*Owner
	ctx    context.Context
	wg     sync.WaitGroup
	token  int64 // fencing token of the ownership
	git    chan struct{}
	forge  chan struct{}
	asks   chan struct{}
	judges chan struct{}

	mu     sync.Mutex
	busy   map[string]*underway      // by key, until it has ended or its end is known
	said   map[int]forge.Publication // last, by pull request
	due    map[int]time.Time         // when it may be published next, by pull request
	pacing map[int]chan struct{}     // closed when it is not to wait for that
	lulls  map[int]lull              // publications that wait because they have no news, by pull request
	told   map[int]telling           // what was last told, by pull request
	place  forge.Place               // of the repository; without an id: not asked for yet
	fresh  map[queue.ChangeID]bool   // entered in this ownership, and nothing was said of them yet

	proven   map[queue.CommitID]queue.TreeID // of what was pushed and has not been read back
	moved    map[queue.ChangeID]bool         // whose branches have moved with main: main may be seen there before the push has its answer
	pushing  pushing                         // the last push
	finished map[queue.ChangeID]bool         // landed, and their pull requests left as they should be
	house    forge.House                     // the repository's settings
	houseAt  time.Time                       // as they were then

	asking sync.Mutex
	levels map[string]level // of who asked for what lands, by user; guarded by asking

	preparing sync.Mutex
	prepared  bool // merges follow main's attributes
}

// underway is an action that is being carried out, until its context ends.
type underway struct {
	*queue.Action
	ctx    context.Context
	cancel context.CancelFunc
}

func newPerformer(ctx context.Context, o *Owner) *performer {
	return &performer{Owner: o, ctx: ctx, git: make(chan struct{}, gitAtOnce), forge: make(chan struct{}, forgeAtOnce),
		asks: make(chan struct{}, inspectAtOnce), judges: make(chan struct{}, judgedAtOnce),
		busy: map[string]*underway{}, said: map[int]forge.Publication{},
		proven: map[queue.CommitID]queue.TreeID{}, moved: map[queue.ChangeID]bool{}, finished: map[queue.ChangeID]bool{},
		due: map[int]time.Time{}, pacing: map[int]chan struct{}{}, lulls: map[int]lull{}, told: map[int]telling{}, fresh: map[queue.ChangeID]bool{}, levels: map[string]level{}}
}

func (p *performer) wait() { p.wg.Wait() }

// start carries out actions in goroutines of their own; trial merges and
// analyses that come together are done together.
func (p *performer) start(actions []*queue.Action) {
	var merges, analyses []*queue.Action
	for _, a := range actions {
		switch a.Task.(type) {
		case queue.Resolve:
			if a.NotBefore == 0 {
				merges = append(merges, a)
				continue
			}
		case queue.Analyze:
			if a.NotBefore == 0 {
				analyses = append(analyses, a)
				continue
			}
		}
		p.launch([]*queue.Action{a})
	}
	p.launch(analyses)
	p.launch(merges)
}

// end stops carrying out actions that are no longer wanted. Their keys are free
// at once: the same turn may ask for the same again.
func (p *performer) end(keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range keys {
		if u := p.busy[k]; u != nil {
			u.cancel()
		}
		delete(p.busy, k)
	}
}

// forget lets go of what was said of pull requests, and done for changes, that the
// state has let go of.
func (p *performer) forget() error {
	return p.facts(func(c *speculation.Core) {
		p.mu.Lock()
		defer p.mu.Unlock()
		s := c.State()
		noPull, noChange := func(n int) bool { return s.Pulls[n] == nil }, func(id queue.ChangeID) bool { return s.Changes[id] == nil }
		maps.DeleteFunc(p.said, func(n int, _ forge.Publication) bool { return noPull(n) })
		maps.DeleteFunc(p.told, func(n int, _ telling) bool { return noPull(n) })
		maps.DeleteFunc(p.due, func(n int, _ time.Time) bool { return noPull(n) })
		maps.DeleteFunc(p.moved, func(id queue.ChangeID, _ bool) bool { return noChange(id) })
		maps.DeleteFunc(p.finished, func(id queue.ChangeID, _ bool) bool { return noChange(id) })
		maps.DeleteFunc(p.fresh, func(id queue.ChangeID, _ bool) bool { return noChange(id) })
	})
}

// launch carries out a group of actions of one kind.
func (p *performer) launch(group []*queue.Action) {
	var fresh []*underway
	p.mu.Lock()
	for _, a := range group {
		if p.busy[a.Key] == nil {
			u := &underway{Action: a}
			u.ctx, u.cancel = context.WithCancel(p.ctx)
			fresh = append(fresh, u)
			p.busy[a.Key] = u
		}
	}
	p.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	p.wg.Go(func() {
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, u := range fresh {
				u.cancel()
				if p.busy[u.Key] == u {
					delete(p.busy, u.Key)
				}
			}
		}()
		alone := fresh[0]
		if alone.NotBefore != 0 && !pause(alone.ctx, alone.NotBefore.Sub(queue.At(p.Now()))) {
			return
		}
		p.carryOut(fresh)
	})
}

func (p *performer) carryOut(group []*underway) {
	switch group[0].Task.(type) {
	case queue.Resolve, queue.Analyze:
		p.together(group)
		return
	}
	a, began := group[0], time.Now()
	if a.ctx.Err() != nil {
		return
	}
	work, stop := graceful(a.ctx, gitGrace)
	defer stop()
	var body queue.Body
	var err error
	for try := 1; ; try++ {
		generation := p.Mirror.Generation()
		err = nil
		func() {
			defer p.recovered(a.Action, &err)
			body, err = p.single(a.ctx, work, a.Action)
		}()
		if try == healTries || !p.mended(a.ctx, generation, err) {
			break
		}
	}
	p.result(a.ctx, a.Action, body, err, time.Since(began))
}

// single carries out one action: what uses git in the context work, which ends
// after ctx.
func (p *performer) single(ctx, work context.Context, a *queue.Action) (queue.Body, error) {
	switch t := a.Task.(type) {
	case queue.Observe:
		return inTurn(ctx, p.git, func() (queue.Body, error) { return p.observe(work, a.Key, t) })
	case queue.Survey:
		return inTurn(ctx, p.git, func() (queue.Body, error) { return p.survey(work, a.Key, t) })
	case queue.Trace:
		return inTurn(ctx, p.git, func() (queue.Body, error) { return p.trace(work, a.Key, t) })
	case queue.Weigh:
		return inTurn(ctx, p.git, func() (queue.Body, error) { return p.weigh(work, a.Key, t) })
	case queue.Watch:
		return inTurn(ctx, p.git, func() (queue.Body, error) { return p.watch(work, a.Key, t) })
	case queue.Meet:
		return inTurn(ctx, p.git, func() (queue.Body, error) { return p.meet(work, a.Key, t) })
	case queue.Land:
		return p.land(work, a, t)
	case queue.Inspect:
		return inTurn(ctx, p.asks, func() (queue.Body, error) {
			body, err := p.inspect(work, a.Key, t)
			if i, ok := body.(queue.Inspected); ok && i.Missing && a.Attempt <= surelyMissing {
				// A forge may not find for a moment what it has just told us of.
				return nil, &forge.Transient{Err: fmt.Errorf("pull request %d: %w", t.Number, forge.ErrNotFound)}
			}
			return body, err
		})
	case queue.Publish:
		p.pace(ctx, t.Number)
		return inTurn(ctx, p.forge, func() (queue.Body, error) { return p.publish(ctx, a.Key, t) })
	case queue.Propose:
		return inTurn(ctx, p.git, func() (queue.Body, error) { return p.propose(work, a.Key, t) })
	case queue.Tell:
		return inTurn(ctx, p.forge, func() (queue.Body, error) { return p.tellMain(ctx, a.Key, t) })
	case queue.React:
		return inTurn(ctx, p.forge, func() (queue.Body, error) { return p.react(ctx, a.Key, t) })
	case queue.Run:
		return p.run(work, a.Key, t)
	case queue.ProbeHost:
		return p.probe(work, a.Key, t)
	case queue.Stop:
		return queue.Done{Action: a.Key}, p.Workers.Stop(ctx, t.Build)
	}
	return nil, fmt.Errorf("action %s is not known to this version", a.Key)
}

// inTurn calls do when there is a place among those that work at once. What ends
// before that is not begun: much may end at a time.
func inTurn[T any](ctx context.Context, places chan struct{}, do func() (T, error)) (out T, err error) {
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	return do()
}

// graceful returns a context that ends some time after ctx has ended, unless
// stop is called before.
func graceful(ctx context.Context, after time.Duration) (_ context.Context, stop func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		pause(work, after)
		cancel()
	})
	return work, func() {
		forget()
		cancel()
	}
}

// result hands on what came of an action: its event, or that it failed.
func (p *performer) result(ctx context.Context, a *queue.Action, body queue.Body, err error, took time.Duration) {
	task := queue.TaskName(a.Task)
	if err == nil {
		p.Metrics.RecordAction(task, "done", took)
		if body != nil {
			p.emit(p.ctx, queue.Event{ID: "result/" + a.Key, Body: body})
		}
		return
	}
	if p.ctx.Err() != nil || ctx.Err() != nil || errors.Is(err, errNotOwning) {
		return // carried out again from the stored state, or no longer wanted
	}
	f := queue.Failed{Action: a.Key, Error: err.Error(), Transient: transient(err), Away: errors.Is(err, forge.ErrAway)}
	if t := (*forge.Transient)(nil); errors.As(err, &t) {
		f.After = t.After
	}
	if access := p.Forge.Capabilities().Access; access != nil && f.Transient && errors.Is(err, forge.ErrForbidden) {
		access.Refresh() // git cannot tell that the token it was given is no longer taken
	}
	p.Metrics.RecordAction(task, "error", took)
	level := slog.LevelWarn
	if f.Away {
		level = slog.LevelDebug // said once, when the state takes it in
	}
	p.Log.Log(ctx, level, "an action failed", "queue", p.Called(), "action", a.Key, "attempt", a.Attempt, "transient", f.Transient, "error", err)
	p.emit(p.ctx, queue.Event{ID: "failed/" + a.Key, Body: f})
}

// transient reports whether trying again may help. What the forge forbids will
// not change by itself, unless it says so; git, stores, disks and connections
// may. What is not there may be on its way: a mirror shows a commit before it
// has all that the commit holds.
func transient(err error) bool {
	if t := (*forge.Transient)(nil); errors.As(err, &t) {
		return true
	}
	return !errors.Is(err, forge.ErrForbidden)
}

// errNotOwning ends an action for which there is no state any more.
var errNotOwning = errors.New("app: the queue is not ours at the moment")

// facts reads from the state what an action needs of it.
func (p *performer) facts(f func(*speculation.Core)) error {
	if !p.Read(f) {
		return errNotOwning
	}
	return nil
}

// inForce is the target branch as the state has it.
type inForce struct {
	config *config.Config // the last good one; nil before there was one
	tip    queue.CommitID
	by     string // version of the analyzer to judge by; "", or not known for what is judged: the newest
}

func (p *performer) inForce() (now inForce, err error) {
	err = p.facts(func(core *speculation.Core) {
		m := core.State().Main
		now = inForce{m.Config, m.Tip, m.Analyzer}
	})
	return now, err
}
