package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// pusher moves the target branch.
type pusher struct {
	*commits
	pushes *pushes
	ownership
}

// strangeTries is how often a push is tried that is refused in words which are neither
// of a rule nor of trouble, before they are taken for a rule.
const strangeTries = 4

// land pushes the chain of the state's push, with a lease on where main was.
func (p *pusher) land(ctx context.Context, a *queue.Action, t queue.Land) (queue.Body, error) {
	var push *queue.Push
	if err := p.facts(func(c *speculation.Core) {
		if live := c.State().Push; live != nil {
			copied := *live
			push = &copied
		}
	}); err != nil {
		return nil, err
	}
	if push == nil || push.ID != t.Push {
		return queue.Done{Action: a.Key}, nil
	}
	left := a.Deadline.Sub(queue.At(p.Now()))
	if left <= 0 {
		return nil, fmt.Errorf("the deadline of push %s has passed", push.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	remote, err := p.Forge.Remote(ctx)
	if err = errors.Join(err, p.hold(ctx, push.Expected), p.hold(ctx, push.Commits...)); err != nil {
		return nil, err
	}
	if err := p.retarget(ctx, push); err != nil {
		return nil, err
	}
	if err := p.pushes.provenTrees(push); err != nil {
		return nil, err
	}
	defer p.pushes.begin(push.Changes)()
	outcome, along, err := p.pushMain(ctx, remote, push)
	if err == nil && wantsCheck(outcome.Refused) {
		outcome, along, err = p.landChecked(ctx, remote, push, outcome)
	}
	if err != nil {
		return nil, err
	}
	if queue.RefusalOf(outcome.Refused) == queue.RefusalStrange && a.Attempt < strangeTries {
		return nil, &forge.Transient{Err: fmt.Errorf("pushing %s: it was refused in words that are no known rule: %s", p.branch(), outcome.Refused)}
	}
	if !outcome.Moved {
		if err := p.restore(ctx, push); err != nil {
			return nil, err
		}
	}
	return queue.Pushed{Action: a.Key, Push: push.ID, Moved: outcome.Moved, Lost: outcome.Lost, Refused: outcome.Refused, Along: along}, nil
}

// owning asks the store, right before a push, if the queue is still ours, and gives
// the push a context that ends when it is not: an owner that has stood still finds
// another one, which knows of landings that it does not.
func (p *pusher) owning(ctx context.Context) (_ context.Context, stop func(), err error) {
	token, err := p.Store.Acquire(ctx, p.Queue, p.Name, leaseTTL)
	switch {
	case errors.Is(err, queue.ErrNotOwner), err == nil && token != p.token:
		return nil, nil, fmt.Errorf("%w: another server owns it by now", errNotOwning)
	case err != nil:
		return nil, nil, fmt.Errorf("asking if the queue is still ours: %w", err)
	}
	ctx, stop = p.within(ctx)
	return ctx, stop, nil
}

// pushMain moves main, and the branches along with it where the forge lets us. It
// returns whose these are.
func (p *pusher) pushMain(ctx context.Context, remote forge.Remote, push *queue.Push) (mirror.PushOutcome, []queue.ChangeID, error) {
	moves, whose, err := p.along(ctx, push)
	if err != nil {
		return mirror.PushOutcome{}, nil, err
	}
	ctx, stop, err := p.owning(ctx)
	if err != nil {
		return mirror.PushOutcome{}, nil, err
	}
	defer stop()
	if len(moves) > 0 {
		outcome, err := p.Mirror.Remotes.PushAlong(ctx, remote, mirror.Move{Branch: p.branch(), From: push.Expected, To: push.Tip()}, moves)
		if err == nil && outcome.Moved {
			p.pushes.alongMoved(whose)
		}
		if err != nil || outcome.Moved || outcome.Lost {
			return outcome, whose, err
		}
		p.Log.Info("the branches of pull requests could not be moved with the target branch, so that it is moved alone",
			"queue", p.Called(), "branches", len(moves), "reason", outcome.Refused)
	}
	outcome, err := p.Mirror.Remotes.Push(ctx, remote, p.branch(), push.Expected, push.Tip())
	return outcome, nil, err
}

// wantsCheck reports whether a refusal says that a check is missing on the
// pushed commit: where required checks apply to pushes, a merge that nobody
// has seen yet can have none.
func wantsCheck(refused string) bool {
	return strings.Contains(strings.ToLower(refused), "required status check")
}

// landChecked shows the commit to the forge on a branch of our own first, sets
// our check on it, which is true because the gate has let it pass, and pushes
// once more. If other checks are required too, the refusal stands.
func (p *pusher) landChecked(ctx context.Context, remote forge.Remote, push *queue.Push, refused mirror.PushOutcome) (mirror.PushOutcome, []queue.ChangeID, error) {
	branch := "submitqueue-land/" + p.branch() // no workflow on submitqueue/** is to start for it
	if err := p.Mirror.Remotes.Stage(ctx, remote, branch, push.Tip()); err != nil {
		if errors.Is(err, forge.ErrForbidden) { // what it says may be about what the commits hold
			refused.Refused += "\n" + err.Error()
			return refused, nil, nil
		}
		return refused, nil, err
	}
	defer func() {
		// The second is the name that it had before, and may be left from a crash.
		if err := p.Mirror.Remotes.Unstage(context.WithoutCancel(ctx), remote, branch, "submitqueue/land/"+p.branch()); err != nil {
			p.Log.Warn("a branch of ours could not be deleted", "queue", p.Called(), "branch", branch, "error", err)
		}
	}()
	check := forge.Check{Name: CheckName, Head: push.Tip(), ExternalID: push.ID, State: forge.CheckPassed,
		Title: "Proven by the queue", Summary: "Every check that this commit adds to " + p.branch() + " has passed."}
	if err := p.Forge.Check(ctx, check); err != nil {
		return refused, nil, err
	}
	return p.pushMain(ctx, remote, push)
}
