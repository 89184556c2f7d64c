package app

import (
	"context"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

func (p *site) react(ctx context.Context, a *queue.Action, t queue.React) (queue.Body, error) {
	f := p.Forge.Capabilities().Reactor
	if f == nil {
		return queue.Done{Action: a.Key}, nil
	}
	r := forge.ReactionRefused
	switch {
	case t.Seen:
		r = forge.ReactionSeen
	case t.Accepted:
		r = forge.ReactionAccepted
	}
	return gone(queue.Done{Action: a.Key}, p.orAway(ctx, f.React(ctx, t.Number, t.Comment, r)))
}
