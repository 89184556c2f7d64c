package app

import (
	"fmt"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// movedSince returns what ends a command that was given at another head than the pull
// request has by now, where the forge knows at which: whoever gave it has not seen what
// it would run. Forges that tell of each push let the queue find that by itself.
func (p *performer) movedSince(t queue.Inspect, pr forge.PullRequest) (queue.Body, error) {
	if pr.Asked == "" || pr.Asked == pr.Head || queue.IsOwn(t.Request) {
		return nil, nil
	}
	runs, heard := false, false
	if err := p.facts(func(c *speculation.Core) {
		if r := c.State().Requests[t.Request]; r != nil {
			switch r.Command.Verb {
			case queue.CommandLand, queue.CommandRetry, queue.CommandTry, queue.CommandNow:
				runs = true
			}
		}
		known := c.State().Pulls[t.Number]
		heard = known != nil && known.Head == pr.Head
	}); err != nil || !runs {
		return nil, err
	}
	if heard { // by then, that ends no command any more
		return nil, fmt.Errorf("it was asked to land at %s and is at %s now; ask again: %w", pr.Asked, pr.Head, forge.ErrForbidden)
	}
	return queue.HeadMoved{Number: t.Number, Head: pr.Head}, nil
}
