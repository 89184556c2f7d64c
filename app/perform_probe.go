package app

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
)

// probe hands a benched host keys that another host has passed; the workers report by
// separate events.
func (p *commits) probe(ctx context.Context, a *queue.Action, t queue.ProbeHost) (queue.Body, error) {
	b, err := p.buildOf(ctx, func(s *queue.State) *queue.Build {
		if h := s.Hosts[t.Host]; h != nil && h.Bench != nil && h.Bench.Probe != nil && h.Bench.Probe.ID == t.Build {
			return h.Bench.Probe
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if b == nil {
		return queue.Done{Action: a.Key}, nil
	}
	return nil, p.Workers.Run(ctx, *b, a.Key)
}
