package app

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// errNotOwning ends an action for which there is no state any more.
var errNotOwning = errors.New("app: the queue is not ours at the moment")

// ground is what every action stands on: what its owner works with, and the state.
type ground struct {
	*OwnerOptions
	owner *Owner
	judge *judge
}

// Called is the queue's name by now; as Owner.Called.
func (p *ground) Called() string { return p.owner.Called() }

// branch is the target branch's name by now; as Owner.branch.
func (p *ground) branch() string { return p.owner.branch() }

// facts lets f read from the state what an action needs of it. It holds the owner's
// lock meanwhile: a caller of facts never holds a lock that f takes.
func (p *ground) facts(f func(*speculation.Core)) error {
	if !p.owner.Read(f) {
		return errNotOwning
	}
	return nil
}

// ownership is the time in which this server owns the queue.
type ownership struct {
	token int64           // fencing token
	over  <-chan struct{} // closed when it has ended
}

// within returns a context that ends with ctx, and with the ownership.
func (o ownership) within(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-o.over:
			cancel(errNotOwning)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// inForce is the target branch as the state has it.
type inForce struct {
	config *config.Config // the last good one; nil before there was one
	tip    queue.CommitID
	by     string // version of the analyzer to judge by; "", or one that the analyzer of the commit does not have: the newest
}

func (p *ground) inForce() (now inForce, err error) {
	err = p.facts(func(core *speculation.Core) {
		m := core.State().Main
		now = inForce{m.Config, m.Tip, m.Analyzer}
	})
	return now, err
}
