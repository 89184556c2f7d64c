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
func (o *Owner) keepUp(ctx context.Context) {
	for pause(ctx, upkeepEach) {
		var live []queue.CommitID
		o.Read(func(c *speculation.Core) {
			for _, l := range c.State().Links {
				if l.Commit != "" {
					live = append(live, l.Commit)
				}
			}
		})
		if len(live) > 0 {
			if err := o.Mirror.Keep(ctx, live); err != nil {
				o.Log.Warn("the mirror's live commits could not be named; it is not packed this time", "queue", o.Queue, "error", err)
				continue
			}
		}
		if err := o.Mirror.Maintain(ctx); err != nil && ctx.Err() == nil {
			o.Log.Warn("the mirror could not be packed", "queue", o.Queue, "error", err)
		}
		if len(live) > 0 {
			if err := o.Mirror.Release(ctx, live); err != nil && ctx.Err() == nil {
				o.Log.Warn("commits of the mirror stay named until the next start", "queue", o.Queue, "error", err)
			}
		}
	}
}
