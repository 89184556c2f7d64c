package workers

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// PlaceCache is a cache from earlier scripts that a script finds in its checkout.
type PlaceCache struct {
	Key     string   // names the cache, independent of its content
	Paths   []string // from the root of the checkout
	Unkeyed bool     // it is one for all commits
}

// PlaceCaches are the caches in a place's checkout, from Fill until Keep.
type PlaceCaches struct{ u *usedCaches }

// Fill puts caches into the checkout, which has the files of the commit, while nothing runs.
// With cold nothing is put there, and the folders that the script leaves replace the kept ones.
// If the place keeps no caches (RunnerOptions.Caches), the log says so. An error is a fault of
// the place, or says that a cache has a path that no cache may have.
func (p *Place) Fill(ctx context.Context, caches []PlaceCache, cold bool, log io.Writer) (*PlaceCaches, error) {
	u := &usedCaches{r: p.r, log: log, cold: cold}
	if len(caches) == 0 {
		return &PlaceCaches{u}, nil
	}
	if p.r.kept == nil {
		u.say("caches are off on this runner")
		return &PlaceCaches{u}, nil
	}
	if cold {
		u.say("without caches: the server asks for a run that rests on nothing that was kept")
	}
	var before []string
	for _, c := range caches {
		for _, path := range c.Paths { // they come from elsewhere
			if why := config.BadCachePath(path); why != "" {
				return nil, fmt.Errorf("cache path %.100q: %s", path, why)
			}
			for _, other := range before {
				if config.Within(path, other) || config.Within(other, path) {
					return nil, fmt.Errorf("cache path %.100q is that of two caches", path)
				}
			}
			before = append(before, path)
		}
		short := c.Key[strings.LastIndexByte(c.Key, '-')+1:]
		u.all = append(u.all, usedCache{Cache: config.Cache{Paths: c.Paths}, id: string(digest.Of("runner1", c.Key))[:32], unkeyed: c.Unkeyed, short: short[:min(8, len(short))]})
	}
	return &PlaceCaches{u}, u.fillAll(ctx)
}

// Found reports whether the script has caches of earlier scripts.
func (c *PlaceCaches) Found() bool { return c.u.found() }

// Keep puts the caches away, when no process of the script runs any more. whole says that the
// script has ended on its own: the caches of a script that was stopped may be torn, and are
// dropped. passed lets them be shared with other machines, if caches are shared.
func (c *PlaceCaches) Keep(whole, passed bool) {
	c.u.begins()
	switch {
	case whole && passed:
		c.u.ended(queue.JobPassed)
	case whole:
		c.u.ended(queue.JobFailed)
	default:
		c.u.ended(queue.JobStopped)
	}
	c.u.keep()
}
