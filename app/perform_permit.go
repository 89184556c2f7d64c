package app

import (
	"context"
	"fmt"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// teams returns those of the teams that matter to a command in which its
// requester is; none is asked for where the role decides.
func (p *performer) teams(ctx context.Context, t queue.Inspect, level forge.Permission) ([]string, error) {
	var ask []string
	if err := p.facts(func(c *speculation.Core) {
		if r, m := c.State().Requests[t.Request], c.State().Main.Config; r != nil && m != nil {
			ask = r.Command.Teams(m, level.String())
		}
	}); err != nil || len(ask) == 0 {
		return nil, err
	}
	f := p.Forge.Capabilities().Teams
	if f == nil {
		return nil, nil // it has no teams, so nobody is in one
	}
	var in []string
	for _, team := range ask {
		member, err := f.InTeam(ctx, team, t.User)
		if err != nil {
			return nil, fmt.Errorf("permissions: %w", err)
		}
		if member {
			in = append(in, team)
		}
	}
	return in, nil
}

// vouched reports whether a command may be followed though its requester is not
// known to have write access: what is protected must be known then, too.
func (p *performer) vouched(t queue.Inspect) bool {
	yes := false
	_ = p.facts(func(c *speculation.Core) { yes = c.Vouched(t.Request) }) // not owning: whoever owns next asks again
	return yes
}
