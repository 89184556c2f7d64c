package app

import (
	"context"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// run hands a build to the workers; they report by events of their own.
func (p *commits) run(ctx context.Context, a *queue.Action, t queue.Run) (queue.Body, error) {
	b, err := p.buildOf(ctx, func(s *queue.State) *queue.Build { return s.Builds[t.Build] })
	if err != nil {
		return nil, err
	}
	if b == nil {
		return queue.Done{Action: a.Key}, nil
	}
	if err := p.sameTree(ctx, b); err != nil {
		return nil, err
	}
	return nil, p.Workers.Run(ctx, *b, a.Key)
}

// sameTree notes the head of a build's change where its tree is the one that is
// built and some step takes passes there for its own.
func (p *commits) sameTree(ctx context.Context, b *queue.Build) error {
	if len(b.For()) != 1 || !slices.ContainsFunc(b.Jobs, func(j queue.Job) bool { return j.Step.CountsEarlier() }) {
		return nil
	}
	var head queue.CommitID
	var from queue.Instant
	if err := p.facts(func(c *speculation.Core) {
		if ch := c.State().Changes[b.Change]; ch != nil {
			head, from = ch.Head, c.OutdatedUntil(b)
		}
	}); err != nil || head == "" {
		return err
	}
	paths, err := p.Mirror.Objects.ChangedPaths(ctx, head, b.Commit)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // a head that came meanwhile is not in the mirror yet
		p.Log.Info("a head could not be compared with what is built; it is built", "queue", p.Queue, "build", b.ID, "error", err)
	case len(paths) == 0:
		b.Same, b.SameFrom = head, from
	}
	return nil
}
