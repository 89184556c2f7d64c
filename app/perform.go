package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// gitGrace is how long git may go on with work that is no longer wanted: git that is
// killed leaves locks and half of a fetch behind.
const gitGrace = 5 * time.Second

// performer carries out the actions of one ownership, each as its kind says
// (perform_kinds.go). Each action can be done twice; its result goes back as
// an event.
type performer struct {
	*ground
	passes  *passes // and where the repository is, and its commits
	pushes  *pushes
	pace    *pacer
	publish *publisher
	heal    *healer
	kinds   []kind
	places  [len(atOnce)]chan struct{}
	wg      sync.WaitGroup

	mu   sync.Mutex
	busy map[string]*underway // by key, until it has ended or its end is known
}

// underway is an action that is being carried out.
type underway struct {
	*queue.Action
	cancel context.CancelFunc
	over   atomic.Bool // it is no longer wanted
}

// outcome is what came of an action.
type outcome struct {
	action *underway
	body   queue.Body
	err    error
	took   time.Duration
}

func newPerformer(o *Owner, own ownership) *performer {
	g := &ground{OwnerOptions: &o.OwnerOptions, owner: o, judge: o.judge}
	c := &commits{site: &site{ground: g}}
	p := &performer{ground: g, passes: &passes{c}, pace: newPacer(g), busy: map[string]*underway{},
		pushes: &pushes{ground: g, proven: map[queue.CommitID]queue.TreeID{}},
		heal:   &healer{commits: c, ownership: own, health: &o.health}}
	p.publish = &publisher{site: c.site, pace: p.pace, said: map[int]forge.Publication{}, finished: map[queue.ChangeID]bool{}}
	for at, most := range atOnce {
		if most > 0 {
			p.places[at] = make(chan struct{}, most)
		}
	}
	p.kinds = p.table(own)
	return p
}

// kindOf returns the row of a task; none: a kind that cannot be carried out.
func (p *performer) kindOf(t queue.Task) kind {
	name := queue.TaskName(t)
	for _, k := range p.kinds {
		if queue.TaskName(k.task) == name {
			return k
		}
	}
	return kind{}
}

func (p *performer) wait() { p.wg.Wait() }

// start carries out actions in separate goroutines, until life ends. Actions that come
// together and are of one kind that joins are carried out together.
func (p *performer) start(life context.Context, actions []*queue.Action) {
	groups := map[string][]*queue.Action{}
	for _, a := range actions {
		if a.NotBefore == 0 && p.kindOf(a.Task).joins != nil {
			name := queue.TaskName(a.Task)
			groups[name] = append(groups[name], a)
			continue
		}
		p.launch(life, []*queue.Action{a})
	}
	for _, k := range p.kinds {
		p.launch(life, groups[queue.TaskName(k.task)])
	}
}

// end stops carrying out actions that are no longer wanted. Their keys are free
// at once: the same turn may ask for the same again.
func (p *performer) end(keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range keys {
		if u := p.busy[k]; u != nil {
			u.over.Store(true)
			u.cancel()
		}
		delete(p.busy, k)
	}
}

// forget drops what is remembered of pull requests and changes that the state has
// dropped.
func (p *performer) forget() error {
	return p.facts(func(c *speculation.Core) {
		p.publish.forget(c.State())
		p.pace.forget(c.State())
	})
}

// launch carries out a group of actions that are not being carried out already.
func (p *performer) launch(life context.Context, group []*queue.Action) {
	var fresh []*underway
	var each []context.Context
	p.mu.Lock()
	for _, a := range group {
		if p.busy[a.Key] == nil {
			ctx, cancel := context.WithCancel(life)
			u := &underway{Action: a, cancel: cancel}
			fresh, each = append(fresh, u), append(each, ctx)
			p.busy[a.Key] = u
		}
	}
	p.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	p.wg.Go(func() {
		defer p.release(fresh)
		alone, ctx := fresh[0], each[0]
		if alone.NotBefore != 0 && !pause(ctx, alone.NotBefore.Sub(queue.At(p.Now()))) {
			return
		}
		if p.kindOf(alone.Task).joins != nil {
			p.together(life, fresh, each)
		} else if ctx.Err() == nil {
			p.result(life, p.carryOut(ctx, alone))
		}
	})
}

// release frees the keys of actions that have ended.
func (p *performer) release(group []*underway) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range group {
		u.cancel()
		if p.busy[u.Key] == u {
			delete(p.busy, u.Key)
		}
	}
}

// carryOut carries out one action, again where the mirror was at fault.
func (p *performer) carryOut(ctx context.Context, u *underway) outcome {
	o, began, k := outcome{action: u}, time.Now(), p.kindOf(u.Task)
	work, stop := ctx, func() {}
	if k.grace > 0 {
		work, stop = graceful(ctx, k.grace)
	}
	defer stop()
	once := func() (body queue.Body, err error) {
		defer p.recovered(u.Action, &err)
		if k.do == nil {
			return nil, fmt.Errorf("action %s is not known to this version", u.Key)
		}
		if k.paced != nil {
			k.paced(ctx, u.Task)
		}
		return inTurn(ctx, p.places[k.at], func() (queue.Body, error) { return k.do(work, u.Action) })
	}
	for try := 1; ; try++ {
		generation := p.Mirror.Generation()
		o.body, o.err = once()
		if try == healTries || !p.heal.mended(ctx, generation, o.err) {
			o.took = time.Since(began)
			return o
		}
	}
}

// recovered turns a panic into the failure of an action: the fault is ours, not the
// change's, and the queue goes on.
func (p *performer) recovered(a *queue.Action, err *error) {
	if r := recover(); r != nil {
		p.Log.Error("an action panicked", "queue", p.Called(), "action", a.Key, "panic", r, "stack", string(debug.Stack()))
		*err = fmt.Errorf("internal error: %v", r)
	}
}

// inTurn calls do when there is a free place; at once where places is nil. When ctx ends
// before there is a place, do is not called: many actions may end at the same time.
func inTurn[T any](ctx context.Context, places chan struct{}, do func() (T, error)) (out T, err error) {
	if places == nil {
		return do()
	}
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

// result hands on the result of an action: its event, or its failure.
func (p *performer) result(life context.Context, o outcome) {
	a, err := o.action, o.err
	task := queue.TaskName(a.Task)
	if err == nil {
		p.Metrics.RecordAction(task, "done", o.took)
		if o.body != nil {
			p.owner.emit(life, queue.Event{ID: "result/" + a.Key, Body: o.body})
		}
		return
	}
	if life.Err() != nil || a.over.Load() || errors.Is(err, errNotOwning) {
		return // carried out again from the stored state, or no longer wanted
	}
	f := queue.Failed{Action: a.Key, Error: err.Error(), Transient: transient(err), Outage: outage(err), Away: errors.Is(err, forge.ErrAway)}
	if t := (*forge.Transient)(nil); errors.As(err, &t) {
		f.After = t.After
	}
	if access := p.Forge.Capabilities().Access; access != nil && f.Transient && errors.Is(err, forge.ErrForbidden) {
		access.Refresh() // git cannot tell that the token it was given is no longer taken
	}
	p.Metrics.RecordAction(task, "error", o.took)
	level := slog.LevelWarn
	if f.Away {
		level = slog.LevelDebug // said once, when the state takes it in
	}
	p.Log.Log(life, level, "an action failed", "queue", p.Called(), "action", a.Key, "attempt", a.Attempt, "transient", f.Transient, "error", err)
	p.owner.emit(life, queue.Event{ID: "failed/" + a.Key, Body: f})
}

// transient reports whether trying again may help. A refusal of the forge stays, unless
// the forge says otherwise; trouble of git, stores, disks and connections may pass. A
// missing object may be on its way: a mirror shows a commit before it has all objects
// of the commit.
func transient(err error) bool {
	return isTransient(err) || !errors.Is(err, forge.ErrForbidden)
}

// outage reports whether the forge itself failed, rather than the request.
func outage(err error) bool {
	return isTransient(err) && !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrTorn)
}

// isTransient reports whether the error is marked as one that passes.
func isTransient(err error) bool {
	t := (*forge.Transient)(nil)
	return errors.As(err, &t)
}
