package app

import (
	"context"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// upkeepEach is how often the mirror is looked after. Small packs are joined as soon as
// there are many of them. A repository on this machine is looked at every tidyEach.
const (
	upkeepEach = 10 * time.Minute
	tidyEach   = 5 * time.Second
)

// keepUp packs the mirror now and then, and whenever it is crowded.
func (p *healer) keepUp(ctx context.Context) {
	each, tidy := time.NewTicker(upkeepEach), time.NewTicker(tidyEach)
	defer each.Stop()
	defer tidy.Stop()
	for {
		generation := p.Mirror.Generation()
		var err error
		select {
		case <-each.C:
			err = p.maintain(ctx)
		case <-p.Mirror.Crowded():
			err = p.Mirror.Pack(ctx)
		case <-tidy.C:
			if t := p.Forge.Capabilities().Tidier; t != nil {
				if err := t.Tidy(ctx); err != nil && ctx.Err() == nil {
					p.Log.Warn("the repository could not be packed", "queue", p.Called(), "error", err)
				}
			}
		case <-ctx.Done():
			return
		}
		if err != nil && ctx.Err() == nil && !p.mended(ctx, generation, err) {
			p.Log.Warn("the mirror could not be packed", "queue", p.Called(), "error", err)
		}
	}
}

// maintain throws away objects that are not used any more. The commits of live paths
// are named by refs only while it runs: until it runs again, nothing is thrown away.
func (p *healer) maintain(ctx context.Context) error {
	var live []queue.CommitID
	p.owner.Read(func(c *speculation.Core) {
		for _, l := range c.State().Links {
			if l.Commit != "" {
				live = append(live, l.Commit)
			}
		}
	})
	if len(live) > 0 {
		if err := p.Mirror.Refs.Keep(ctx, live); err != nil {
			p.Log.Warn("the mirror's live commits could not be named; it is not packed this time", "queue", p.Called(), "error", err)
			return nil
		}
	}
	err := p.Mirror.Maintain(ctx)
	if len(live) > 0 {
		if err := p.Mirror.Refs.Release(ctx, live); err != nil && ctx.Err() == nil {
			p.Log.Warn("commits of the mirror stay named until the next start", "queue", p.Called(), "error", err)
		}
	}
	return err
}
