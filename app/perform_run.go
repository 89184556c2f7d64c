package app

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
)

// run hands a build to the workers; they report by separate events.
func (p *commits) run(ctx context.Context, a *queue.Action, t queue.Run) (queue.Body, error) {
	b, err := p.buildOf(ctx, func(s *queue.State) *queue.Build { return s.Builds[t.Build] })
	if err != nil {
		return nil, err
	}
	if b == nil {
		return queue.Done{Action: a.Key}, nil
	}
	return nil, p.Workers.Run(ctx, *b, a.Key)
}
