package app

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// A forge that merges a pull request itself accepts a condition on the head that it merges,
// but none on the commit of the target branch that it merges onto. So the branch is read
// before the call. Afterwards the result is read from the branch, as after a push with
// a lost answer: by the trailers of its commit, its parent and its tree
// (observer.holding).

const (
	mergeTries    = 4               // how often a forge in trouble is asked before branches are moved instead
	mergePatience = 5 * time.Second // how long it may ask us to wait
	mergeLooks    = 20              // how often the branch is looked at until it shows the merge, every mergeLook
	mergeLook     = 500 * time.Millisecond
)

// landMerged has the forge merge the one pull request of a push.
func (p *pusher) landMerged(ctx context.Context, a *queue.Action, push *queue.Push, remote forge.Remote) (queue.Body, error) {
	unsure := queue.Pushed{Action: a.Key, Push: push.ID}
	branch := p.branch()
	at, err := p.Mirror.Remotes.TipAt(ctx, remote, branch)
	if err != nil {
		return nil, err
	}
	if at != push.Expected {
		return unsure, nil // it has moved, perhaps by an earlier try
	}
	why, err := p.squashPull(ctx, a, push)
	if err != nil {
		return nil, err
	}
	if why != "" {
		if at, err = p.Mirror.Remotes.TipAt(ctx, remote, branch); err != nil {
			return nil, err
		}
		if at == push.Expected {
			unsure.Declined = texts.ClipLine(why, 300)
			p.Log.Info("the forge does not merge a "+p.Texts.Words.Noun()+" itself; branches are moved instead", "queue", p.Called(), "push", push.ID, "reason", unsure.Declined)
		}
		return unsure, nil
	}
	for range mergeLooks { // git may read an older state than the one that the answer is about
		if at, err := p.Mirror.Remotes.TipAt(ctx, remote, branch); err != nil || at != push.Expected || !pause(ctx, mergeLook) {
			break
		}
	}
	return unsure, nil
}

// squashPull calls the forge, while the queue is ours; why says why it has merged nothing; "":
// it has merged.
func (p *pusher) squashPull(ctx context.Context, a *queue.Action, push *queue.Push) (why string, err error) {
	f := p.Forge.Capabilities().Merger
	if f == nil {
		return "it merges no " + p.Texts.Words.Noun() + "s", nil
	}
	m := forge.PullMerge{Base: p.branch()}
	if err := p.facts(func(c *speculation.Core) {
		if ch := c.State().Changes[push.Changes[0]]; ch != nil {
			k := speculation.PickOf(ch)
			m.Number, m.Head, m.Message = k.Number, k.Head, mergeMessage(p.Texts.Words, k)
		}
	}); err != nil || m.Number == 0 {
		return "it is not known any more", err
	}
	ctx, stop, err := p.owning(ctx)
	if err != nil {
		return "", err
	}
	defer stop()
	err = f.SquashPull(ctx, m)
	var passing *forge.Transient
	switch {
	case err == nil, ctx.Err() != nil:
		return "", err
	case errors.As(err, &passing) && a.Attempt < mergeTries && passing.After <= mergePatience:
		return "", err
	}
	declined := (*forge.Declined)(nil)
	if errors.As(err, &declined) {
		return cmp.Or(declined.Reason, "it gives no reason"), nil
	}
	return err.Error(), nil
}
