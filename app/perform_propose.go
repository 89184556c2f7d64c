package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// revertBranch names the branch of a culprit's revert. No workflow on submitqueue/** is
// to start for it: that is for builds of the queue.
func revertBranch(target string, culprit queue.CommitID) string {
	return "submitqueue-revert/" + target + "/" + string(culprit[:min(len(culprit), 12)])
}

// propose opens the pull request of a proven revert, unless there is one. The branch is
// written only while no pull request from it is open: commits that people have added to
// one stay.
func (p *commits) propose(ctx context.Context, a *queue.Action, t queue.Propose) (queue.Body, error) {
	out := queue.Proposed{Action: a.Key, Hunt: t.Hunt, Commit: t.Commit}
	f := p.Forge.Capabilities().Proposer
	if f == nil {
		out.Refused = "this forge opens no " + p.Texts.Words.Noun() + "s for the queue"
		return out, nil
	}
	var culprit *queue.Culprit
	o := p.Texts
	if err := p.facts(func(c *speculation.Core) {
		if h := c.State().Hunts[t.Hunt]; h != nil {
			for i := range h.Culprits {
				if h.Culprits[i].Commit == t.Commit {
					copied := h.Culprits[i]
					copied.Revert = nil // the core writes to it
					culprit = &copied
				}
			}
		}
	}); err != nil {
		return nil, err
	}
	if culprit == nil {
		return queue.Done{Action: a.Key}, nil
	}
	branch := revertBranch(p.branch(), t.Commit)
	pr, err := f.Proposed(ctx, branch, p.branch())
	if errors.Is(err, forge.ErrNotFound) {
		if err = p.stageRevert(ctx, branch, t); err == nil {
			pr, err = f.Propose(ctx, forge.Proposal{Branch: branch, Base: p.branch(), Title: texts.RevertTitle(*culprit), Body: texts.Revert(*culprit, o)})
		}
	}
	if err = p.orAway(ctx, err); err != nil {
		return nil, err
	}
	out.Number, out.URL, out.Head = pr.Number, pr.URL, pr.Head
	return out, nil
}

// stageRevert makes the commit of a revert once more, and pushes it to a branch of the
// queue at the forge.
func (p *commits) stageRevert(ctx context.Context, branch string, t queue.Propose) error {
	if err := errors.Join(p.prepare(ctx), p.hold(ctx, t.On, t.Commit)); err != nil {
		return err
	}
	made, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{p.mergeOf(t.Pick, t.On)})
	if err != nil {
		return err
	}
	if made[0].Commit != t.Head {
		return fmt.Errorf("the revert of %s on %s is %q now, and %s was proven", t.Commit, t.On, made[0].Commit, t.Head)
	}
	remote, err := p.Forge.Remote(ctx)
	if err != nil {
		return err
	}
	return p.Mirror.Remotes.Stage(ctx, remote, branch, t.Head)
}
