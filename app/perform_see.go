package app

import (
	"context"
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// seeHeads reads the pull requests that nobody has seen yet at their moved heads.
func (p *pusher) seeHeads(ctx context.Context, a *queue.Action, t queue.SeeHeads) (queue.Body, error) {
	push, err := p.live(t.Push, queue.AwaitingSeen)
	if err != nil || push == nil {
		return queue.Done{Action: a.Key}, err
	}
	out := queue.HeadsSeen{Action: a.Key, Push: t.Push}
	for _, h := range push.Heads {
		if h.Seen {
			continue
		}
		pr, err := p.Forge.PullRequest(ctx, h.Number)
		if err != nil {
			return nil, fmt.Errorf("looking for the moved head of #%d: %w", h.Number, err)
		}
		if pr.Head == h.To {
			out.Seen = append(out.Seen, h.Change)
		}
	}
	return out, nil
}
