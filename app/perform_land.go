package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// pusher moves the target branch.
type pusher struct {
	*commits
	pushes *pushes
	ownership

	heads sync.Mutex // held while branches and bases of pull requests are moved
	shown string     // the forge shows the pull requests of this push against the branch that they land on
}

// strangeTries is how often a push is tried, where its refusal reads neither like a rule nor
// like trouble, before the refusal is taken for a rule.
const strangeTries = 4

// land pushes the chain of the state's push, with a lease on where main was.
func (p *pusher) land(ctx context.Context, a *queue.Action, t queue.Land) (queue.Body, error) {
	push, err := p.live(t.Push, queue.PushingMain)
	if err != nil || push == nil {
		return queue.Done{Action: a.Key}, err
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
	if push.ByForge {
		return p.landMerged(ctx, a, push, remote)
	}
	if err := p.retarget(ctx, push); err != nil {
		return nil, err
	}
	if err := p.pushes.provenTrees(push); err != nil {
		return nil, err
	}
	outcome, err := p.pushMain(ctx, remote, push)
	if err == nil && wantsCheck(outcome.Refused) {
		outcome, err = p.landChecked(ctx, remote, push, outcome)
	}
	if err != nil {
		return nil, err
	}
	if queue.RefusalOf(outcome.Refused) == queue.RefusalStrange && a.Attempt < strangeTries {
		return nil, &forge.Transient{Err: fmt.Errorf("pushing %s: it was refused in words that are no known rule: %s", p.branch(), outcome.Refused)}
	}
	return queue.Pushed{Action: a.Key, Push: push.ID, Moved: outcome.Moved, Lost: outcome.Lost, Refused: outcome.Refused}, nil
}

// owning asks the store, right before a push, if the queue is still ours, and gives the
// push a context that ends when it is not. An owner that stood still for a while may
// find another owner, which knows of landings that the first does not.
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

// pushMain moves main, while the queue is ours.
func (p *pusher) pushMain(ctx context.Context, remote forge.Remote, push *queue.Push) (mirror.PushOutcome, error) {
	ctx, stop, err := p.owning(ctx)
	if err != nil {
		return mirror.PushOutcome{}, err
	}
	defer stop()
	return p.Mirror.Remotes.Push(ctx, remote, p.branch(), push.Expected, push.Tip())
}

// wantsCheck reports whether a refusal says that a check is missing on the pushed
// commit: where required checks apply to pushes, a merge that the forge has not seen
// yet can have no check.
func wantsCheck(refused string) bool {
	return strings.Contains(strings.ToLower(refused), "required status check")
}

// landChecked first pushes the commit to a branch of the queue, and sets our check on
// it, which is true because the gate has let the commit pass. Then it pushes to the
// target branch once more. If other checks are required too, the refusal stands.
func (p *pusher) landChecked(ctx context.Context, remote forge.Remote, push *queue.Push, refused mirror.PushOutcome) (mirror.PushOutcome, error) {
	branch := "submitqueue-land/" + p.branch() // no workflow on submitqueue/** is to start for it
	if err := p.Mirror.Remotes.Stage(ctx, remote, branch, push.Tip()); err != nil {
		if errors.Is(err, forge.ErrForbidden) { // the refusal may be about the content of the commits
			refused.Refused += "\n" + err.Error()
			return refused, nil
		}
		return refused, err
	}
	defer func() {
		// The second name is an older one of this branch, which a crash may have left.
		if err := p.Mirror.Remotes.Unstage(context.WithoutCancel(ctx), remote, branch, "submitqueue/land/"+p.branch()); err != nil {
			p.Log.Warn("a branch of ours could not be deleted", "queue", p.Called(), "branch", branch, "error", err)
		}
	}()
	check := forge.Check{Name: CheckName, Head: push.Tip(), ExternalID: push.ID, State: forge.CheckPassed,
		Title: "Proven by the queue", Summary: "Every check that this commit adds to " + p.branch() + " has passed."}
	if err := p.Forge.Check(ctx, check); err != nil {
		return refused, err
	}
	return p.pushMain(ctx, remote, push)
}
