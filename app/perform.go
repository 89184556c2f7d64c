package app

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

const minuteTimeout = time.Minute

// gitGrace is how long git may go on with what is no longer wanted: killed, it
// leaves locks and half of a fetch behind.
const gitGrace = 5 * time.Second

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
	ctx   context.Context
	wg    sync.WaitGroup
	git   chan struct{}
	forge chan struct{}
	asks  chan struct{}

	mu     sync.Mutex
	busy   map[string]*launched      // by key, until it has ended or its end is known
	said   map[int]forge.Publication // last, by pull request
	due    map[int]time.Time         // when it may be published next, by pull request
	pacing map[int]chan struct{}     // closed when it is not to wait for that

	preparing sync.Mutex
	prepared  bool // merges follow main's attributes
}

// launched is a group of actions being carried out.
type launched struct {
	cancel context.CancelFunc
	alone  bool // it is one action
}

func newPerformer(ctx context.Context, o *Owner) *performer {
	return &performer{Owner: o, ctx: ctx, git: make(chan struct{}, gitAtOnce), forge: make(chan struct{}, forgeAtOnce),
		asks: make(chan struct{}, inspectAtOnce),
		busy: map[string]*launched{}, said: map[int]forge.Publication{},
		due: map[int]time.Time{}, pacing: map[int]chan struct{}{}}
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
		if l := p.busy[k]; l != nil && l.alone {
			l.cancel()
		}
		delete(p.busy, k)
	}
}

// launch carries out a group of actions of one kind.
func (p *performer) launch(group []*queue.Action) {
	if len(group) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(p.ctx)
	l := &launched{cancel: cancel, alone: len(group) == 1}
	p.mu.Lock()
	fresh := group[:0:0]
	for _, a := range group {
		if p.busy[a.Key] == nil {
			fresh = append(fresh, a)
			p.busy[a.Key] = l
		}
	}
	p.mu.Unlock()
	if len(fresh) == 0 {
		cancel()
		return
	}
	p.wg.Go(func() {
		defer cancel()
		defer func() {
			p.mu.Lock()
			for _, a := range fresh {
				if p.busy[a.Key] == l {
					delete(p.busy, a.Key)
				}
			}
			p.mu.Unlock()
		}()
		if at := fresh[0].NotBefore; at != 0 && !pause(ctx, at.Sub(queue.At(p.Now()))) {
			return
		}
		if ctx.Err() == nil {
			p.carryOut(ctx, fresh)
		}
	})
}

func (p *performer) carryOut(ctx context.Context, group []*queue.Action) {
	defer func() {
		if r := recover(); r != nil {
			// Ours, and not the change's fault: the action fails, the queue goes on.
			p.Log.Error("an action panicked", "queue", p.Queue, "action", group[0].Key, "panic", r, "stack", string(debug.Stack()))
			for _, a := range group {
				p.result(ctx, a, nil, fmt.Errorf("internal error: %v", r), 0)
			}
		}
	}()
	began := time.Now()
	work, stop := graceful(ctx, gitGrace)
	defer stop()
	switch group[0].Task.(type) {
	case queue.Resolve:
		defer p.turnOf(ctx, p.git)()
		bodies, errs := p.resolve(work, group)
		for i, a := range group {
			p.result(ctx, a, bodies[i], errs[i], time.Since(began))
		}
	case queue.Analyze:
		defer p.turnOf(ctx, p.git)()
		bodies, errs := p.analyze(work, group)
		for i, a := range group {
			p.result(ctx, a, bodies[i], errs[i], time.Since(began))
		}
	default:
		body, err := p.single(ctx, work, group[0])
		p.result(ctx, group[0], body, err, time.Since(began))
	}
}

// single carries out one action: what uses git in the context work, which ends
// after ctx.
func (p *performer) single(ctx, work context.Context, a *queue.Action) (queue.Body, error) {
	switch t := a.Task.(type) {
	case queue.Observe:
		defer p.turnOf(ctx, p.git)()
		return p.observe(work, a.Key, t)
	case queue.Survey:
		defer p.turnOf(ctx, p.git)()
		return p.survey(work, a.Key, t)
	case queue.Land:
		return p.land(work, a, t)
	case queue.Inspect:
		defer p.turnOf(ctx, p.asks)()
		return p.inspect(work, a.Key, t)
	case queue.Publish:
		p.pace(ctx, t.Number)
		defer p.turnOf(ctx, p.forge)()
		return p.publish(ctx, a.Key, t)
	case queue.React:
		defer p.turnOf(ctx, p.forge)()
		return p.react(ctx, a.Key, t)
	case queue.Run:
		return p.run(work, a.Key, t)
	case queue.Stop:
		return queue.Done{Action: a.Key}, p.Workers.Stop(ctx, t.Build)
	}
	return nil, fmt.Errorf("action %s is not known to this version", a.Key)
}

// turnOf waits for a place among those that work at once, and returns how to
// give it back.
func (p *performer) turnOf(ctx context.Context, places chan struct{}) func() {
	select {
	case places <- struct{}{}:
		return func() { <-places }
	case <-ctx.Done():
		return func() {}
	}
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
	f := queue.Failed{Action: a.Key, Error: err.Error(), Transient: transient(err)}
	if t := (*forge.Transient)(nil); errors.As(err, &t) {
		f.After = t.After
	}
	p.Metrics.RecordAction(task, "error", took)
	p.Log.Warn("an action failed", "queue", p.Queue, "action", a.Key, "attempt", a.Attempt, "transient", f.Transient, "error", err)
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
	config *queue.Config // the last good one; nil before there was one
	tip    queue.CommitID
}

func (p *performer) inForce() (now inForce, err error) {
	err = p.facts(func(core *speculation.Core) { now = inForce{core.State().Main.Config, core.State().Main.Tip} })
	return now, err
}
