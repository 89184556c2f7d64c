package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// MainCheckName is the name of the check run on commits of the target branch.
const MainCheckName = CheckName + "/main"

// revertBranch names the branch of a culprit's revert. No workflow on submitqueue/** is
// to start for it: that is for builds of the queue.
func revertBranch(target string, culprit queue.CommitID) string {
	return "submitqueue-revert/" + target + "/" + string(culprit[:min(len(culprit), 12)])
}

// propose opens the pull request of a proven revert, unless there is one. The branch is
// written only while no pull request of it is open: what people have added to one stays.
func (p *performer) propose(ctx context.Context, key string, t queue.Propose) (queue.Body, error) {
	out := queue.Proposed{Action: key, Hunt: t.Hunt, Commit: t.Commit}
	f := p.Forge.Capabilities().Proposer
	if f == nil {
		out.Refused = "this forge opens no pull requests for the queue"
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
		return queue.Done{Action: key}, nil
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

// stageRevert makes the commit of a revert once more, and has the forge know it on a
// branch of our own.
func (p *performer) stageRevert(ctx context.Context, branch string, t queue.Propose) error {
	if err := errors.Join(p.prepare(ctx), p.hold(ctx, t.On, t.Commit)); err != nil {
		return err
	}
	made, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{mergeOf(t.Pick, t.On)})
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

// tellMain makes the check of a commit of the target branch say what the state says.
func (p *performer) tellMain(ctx context.Context, key string, t queue.Tell) (queue.Body, error) {
	var v queue.QueueView
	if err := p.facts(func(c *speculation.Core) { v = c.Queue(p.Queue) }); err != nil {
		return nil, err
	}
	done := queue.Done{Action: key, Shown: t.Want}
	if v.Main.Tip != t.Commit || t.Red != (len(v.Red) > 0) {
		return done, nil // what holds now is told by the next
	}
	o := p.Texts
	o.Now = queue.At(p.Now())
	state, title, summary := texts.MainCheck(v, o)
	check := forge.Check{Name: MainCheckName, Head: t.Commit, ExternalID: "main", State: forge.CheckState(state), Title: title, Summary: summary}
	if o.BaseURL != "" {
		check.DetailsURL = strings.TrimSuffix(o.BaseURL, "/") + "/queue?queue=" + url.QueryEscape(p.Queue)
	}
	return gone(done, p.orAway(ctx, p.Forge.Check(ctx, check)))
}
