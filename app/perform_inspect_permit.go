package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// levelFor is how long a permission that was read right before a landing counts as
// current: many changes of a few people land at one time. The facts seen of a change
// count for longer than that.
const levelFor = 10 * time.Second

// level is somebody's permission as it was read.
type level struct {
	forge.Permission
	at time.Time
}

// levelOf returns what the requester may do.
func (p *inspections) levelOf(ctx context.Context, t queue.Inspect) (forge.Permission, error) {
	if queue.IsAuto(t.Request) {
		return forge.PermissionNone, nil // no person asked
	}
	if !strings.HasPrefix(t.Request, boardingRequest) {
		return p.Forge.Permission(ctx, t.User)
	}
	p.asking.Lock() // questions that come together are answered together
	defer p.asking.Unlock()
	if known, ok := p.levels[t.User]; ok && p.Now().Sub(known.at) < levelFor {
		return known.Permission, nil
	}
	at := p.Now()
	read, err := p.Forge.Permission(ctx, t.User)
	if err == nil {
		if len(p.levels) > 1000 {
			clear(p.levels)
		}
		p.levels[t.User] = level{read, at}
	}
	return read, err
}

// teams returns, of the teams that matter to a command, those that its requester is in.
// Where the role decides, the forge is not asked.
func (p *inspection) teams(ctx context.Context) ([]string, error) {
	var ask []string
	if err := p.facts(func(c *speculation.Core) {
		if r, m := c.State().Requests[p.Request], c.State().Main.Config; r != nil && m != nil {
			ask = r.Command.Teams(m, p.level.String())
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
		member, err := f.InTeam(ctx, team, p.User)
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
func (p *inspection) vouched() bool {
	yes := false
	_ = p.facts(func(c *speculation.Core) { yes = c.Vouched(p.Request) }) // not owning: the next owner asks again
	return yes
}
