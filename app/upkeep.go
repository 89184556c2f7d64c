package app

import (
	"context"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// upkeepEach is how often the mirror is looked after.
const upkeepEach = 10 * time.Minute

// redeliverer is a forge that keeps deliveries it could not deliver, and sends
// them again when asked.
type redeliverer interface {
	Redeliver(ctx context.Context, since time.Time) (int, error)
}

// keepUp packs the mirror now and then. The commits of live paths are only
// named for that long: until the next time nothing is thrown away.
func (p *performer) keepUp(ctx context.Context) {
	for pause(ctx, upkeepEach) {
		var live []queue.CommitID
		p.Read(func(c *speculation.Core) {
			for _, l := range c.State().Links {
				if l.Commit != "" {
					live = append(live, l.Commit)
				}
			}
		})
		if len(live) > 0 {
			if err := p.Mirror.Keep(ctx, live); err != nil {
				p.Log.Warn("the mirror's live commits could not be named; it is not packed this time", "queue", p.Queue, "error", err)
				continue
			}
		}
		generation := p.Mirror.Generation()
		if err := p.Mirror.Maintain(ctx); err != nil && ctx.Err() == nil && !p.mended(ctx, generation, err) {
			p.Log.Warn("the mirror could not be packed", "queue", p.Queue, "error", err)
		}
		if len(live) > 0 {
			if err := p.Mirror.Release(ctx, live); err != nil && ctx.Err() == nil {
				p.Log.Warn("commits of the mirror stay named until the next start", "queue", p.Queue, "error", err)
			}
		}
	}
}
