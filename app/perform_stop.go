package app

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
)

// stop cancels a build.
func (p *ground) stop(ctx context.Context, a *queue.Action, t queue.Stop) (queue.Body, error) {
	return queue.Done{Action: a.Key}, p.Workers.Stop(ctx, t.Build)
}
