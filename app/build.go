package app

import (
	"context"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// buildOf returns a copy of a build of the state, with the times that its keys are
// expected to take. It sees to it that the build's commit is in the mirror. nil: there
// is no such build any more.
func (p *commits) buildOf(ctx context.Context, find func(*queue.State) *queue.Build) (b *queue.Build, err error) {
	if err := p.facts(func(c *speculation.Core) {
		if live := find(c.State()); live != nil {
			copied := *live
			copied.Jobs = slices.Clone(live.Jobs)
			c.Expect(&copied)
			b = &copied
		}
	}); err != nil || b == nil {
		return nil, err
	}
	return b, p.hold(ctx, b.Commit)
}
