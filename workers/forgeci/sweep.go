package forgeci

import (
	"context"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// sweep is a request to remove the refs that builds of an earlier process have left behind.
type sweep struct {
	live      map[queue.BuildID]bool
	tries     int
	notBefore time.Time
}

// Sweep implements workers.Sweeper.
func (c *Controller) Sweep(live []queue.BuildID) {
	s := &sweep{live: map[queue.BuildID]bool{}}
	for _, id := range live {
		s.live[id] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep = s
	poke(c.toSee)
}

func (c *Controller) takeSweep() *sweep {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sweep
	if s == nil || c.o.Now().Before(s.notBefore) {
		return nil
	}
	c.sweep = nil
	return s
}

// sweepNow finds refs of ours without a live build. Runs on them are cancelled, and the refs
// are deleted like those of any ended build.
func (c *Controller) sweepNow(ctx context.Context, s *sweep) {
	found, err := c.o.Refs.List(ctx, c.o.Prefix+"/"+c.o.Branch+"/")
	sides, failed := c.o.Refs.List(ctx, c.o.Prefix+"-targets/"+c.o.Branch+"/")
	if err == nil {
		err = failed
	}
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	if err != nil {
		c.o.Log.Warn("refs that were left behind could not be listed; trying again", "error", err)
		if c.sweep == nil {
			s.tries++
			s.notBefore = now.Add(backoff(s.tries))
			c.sweep = s
		}
		return
	}
	left := map[string]queue.CommitID{} // by build
	for _, refs := range []map[string]queue.CommitID{found, sides} {
		for branch, commit := range refs {
			id := branch[strings.LastIndexByte(branch, '/')+1:]
			// Refs of other queues or of people must stay.
			ours := len(id) == 16 && strings.Trim(id, "0123456789abcdef") == "" &&
				(branch == refOf(c.o.Prefix, c.o.Branch, id) || branch == refOf(c.o.Prefix+"-targets", c.o.Branch, id))
			if !ours || s.live[queue.BuildID(id)] || c.builds[queue.BuildID(id)] != nil {
				continue
			}
			if _, known := left[id]; !known {
				left[id] = commit
			}
		}
	}
	for id := range left {
		e := newEntry(queue.Build{ID: queue.BuildID(id)}, "", c.o)
		e.orphan, e.done, e.pushed, e.endedAt, e.tidyAt = true, &queue.BuildDone{Outcome: queue.JobStopped}, now, now, now
		c.builds[e.build.ID] = e
	}
	if len(left) > 0 {
		c.o.Log.Info("refs of builds that are over are removed", "refs", len(left))
		poke(c.toSee)
	}
}
