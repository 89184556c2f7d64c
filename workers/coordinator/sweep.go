package coordinator

import (
	"context"
	"time"
)

// sweep gives back jobs that their runners never reported on, ends jobs of runners that have
// fallen silent, and forgets ended jobs.
func (c *Coordinator) sweep(ctx context.Context) {
	tick := time.NewTicker(max(min(c.o.Silent, c.o.Lease)/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			c.look(now)
			c.refresh()
		}
	}
}

// keepJob is how long an ended job's last messages are answered, and how long its result is
// kept after the end of its build: the queue may have lost that with its process.
const keepJob = 10 * time.Minute

func (c *Coordinator) look(now time.Time) {
	var back, forgotten []*job
	c.mu.Lock()
	for id, j := range c.jobs {
		switch {
		case j.phase == over && now.Sub(j.ended) > keepJob && !c.open(j):
			delete(c.jobs, id)
			delete(c.tokens, j.hash)
			forgotten = append(forgotten, j)
		case j.phase == over:
		case j.phase == handed && now.Sub(j.heard) > c.o.Silent:
			back = append(back, j)
		case now.Sub(j.heard) > c.o.Lease: // the pool ends it, too
			c.close(j)
			c.freeLocked(j)
			forgotten = append(forgotten, j)
		}
	}
	for key, m := range c.machines {
		if len(m.jobs)+len(m.asking) == 0 && now.Sub(m.seen) > keepMachine {
			delete(c.machines, key)
		}
	}
	c.mu.Unlock()
	for _, j := range forgotten {
		c.unsave(j)
	}
	for _, j := range back {
		c.o.Log.Warn("a runner was handed a job and did not begin: it goes to another", "machine", j.machine.name, "build", j.a.Build.ID)
		c.giveBack(j)
	}
}
