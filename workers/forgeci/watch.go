package forgeci

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// lookAtOnce is how many builds are asked about at the same time.
const lookAtOnce = 4

// watching looks at builds without news, at builds with deadlines, and at the refs of ended
// builds.
func (c *Controller) watching(ctx context.Context) {
	wait := time.NewTimer(time.Hour)
	defer wait.Stop()
	for {
		due, next := c.due()
		if len(due) > 0 {
			places := make(chan struct{}, lookAtOnce)
			var wg sync.WaitGroup
			for _, e := range due {
				places <- struct{}{}
				wg.Go(func() {
					defer func() { <-places }()
					c.see(ctx, e)
				})
			}
			wg.Wait()
			if ctx.Err() != nil {
				return
			}
			continue
		}
		if s := c.takeSweep(); s != nil {
			c.sweepNow(ctx, s)
			continue
		}
		wait.Reset(next)
		select {
		case <-c.toSee:
		case <-wait.C:
		case <-ctx.Done():
			return
		}
	}
}

// due returns the builds that are to be looked at now, and how long it is until the next one.
func (c *Controller) due() (list []*entry, next time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	next = time.Hour
	for _, e := range c.builds {
		at, ok := c.next(e)
		switch {
		case !ok:
		case !at.After(now):
			list = append(list, e)
		default:
			next = min(next, at.Sub(now))
		}
	}
	if c.sweep != nil {
		next = min(next, max(c.sweep.notBefore.Sub(now), 0))
	}
	return list, max(next, time.Millisecond)
}

// see looks at one build.
func (c *Controller) see(ctx context.Context, e *entry) {
	c.mu.Lock()
	ended, m := e.done != nil, c.moment()
	look, reading := e.look || e.overdue(m), e.reading && !ended
	unstarted := e.unstarted()
	wanted := !m.now.Before(e.listed.Add(c.o.Linger)) && slices.ContainsFunc(e.jobs, func(j *job) bool { return !j.done && j.rerun == rerunWanted })
	c.mu.Unlock()
	switch {
	case ended:
		c.tidyUp(ctx, e)
	case unstarted:
		c.begin(ctx, e)
	case reading:
		c.readLogs(ctx, e)
	case wanted && !look:
		c.runAgain(ctx, e)
	default:
		c.poll(ctx, e)
	}
}

// poll reads the results on a build's commit.
func (c *Controller) poll(ctx context.Context, e *entry) {
	began := c.o.Now()
	listed, got, err := c.readOwn(ctx, e)
	blind := false
	if err == nil && !listed {
		if listed, blind, err = c.listRuns(ctx, e); err == nil {
			got, err = c.o.CI.CIResults(ctx, e.build.Commit)
		}
	}
	if errors.Is(err, forge.ErrNotFound) {
		err = nil // it is not known there yet
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock(began, c.o.Now(), got.Now)
	if err != nil {
		if ctx.Err() == nil {
			c.o.Log.Warn("the checks of a build could not be read; trying again", "build", e.build.ID, "error", err)
		}
		if errors.Is(err, forge.ErrForbidden) && e.overdue(c.moment()) {
			c.finish(e, queue.BuildDone{Outcome: queue.JobInfra, Detail: "the checks could not be read: " + oneLine(err.Error())})
			return
		}
		c.refused(e, err)
		return
	}
	e.polled, e.look = began, false
	if listed {
		e.sure, e.blind = began, blind
	}
	for _, r := range got.List {
		e.fold(r)
	}
	if e.done == nil {
		c.settle(e)
	}
}

// refused puts off the next look at a build after a request that failed. The caller holds mu.
func (c *Controller) refused(e *entry, err error) {
	wait := c.o.Poll
	if t := (*forge.Transient)(nil); errors.As(err, &t) {
		wait = max(wait, t.After)
	}
	e.pollAfter = c.o.Now().Add(wait)
	if e.done != nil {
		e.tidyAt = e.pollAfter
	}
}

// giveUp is how long a ref is kept because a run may be under way on it.
const giveUp = 24 * time.Hour

// tidyUp cancels the runs of a build that has ended, unless it passed, and deletes its refs
// when no run is under way.
func (c *Controller) tidyUp(ctx context.Context, e *entry) {
	c.mu.Lock()
	now, cancel := c.o.Now(), e.done.Outcome != queue.JobPassed
	if e.busy(c.skew) == "" && e.told(c.skew) {
		c.drop(e)
		c.mu.Unlock()
		return
	}
	e.tidied++
	c.mu.Unlock()

	runs, err := c.o.CI.CIRuns(ctx, e.branch)
	c.mu.Lock()
	replaced := c.replaced(e)
	c.mu.Unlock()
	if replaced {
		return // its refs and runs are wanted
	}
	blind := errors.Is(err, forge.ErrForbidden) // we may not see runs: checks stand for them
	if err != nil && !blind {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused(e, err)
		return
	}
	for _, r := range runs {
		if !cancel || r.Done || !e.owns(r) {
			continue
		}
		if err := c.o.CI.CancelRun(ctx, r.ID); err != nil && ctx.Err() == nil {
			c.o.Log.Warn("a run could not be cancelled", "build", e.build.ID, "run", r.ID, "error", err)
		}
	}
	c.mu.Lock()
	for _, r := range runs {
		e.foldRun(r)
	}
	ask := !e.orphan && (blind || e.busy(c.skew) != "")
	c.mu.Unlock()
	if ask {
		c.poll(ctx, e)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := len(e.runs) > 0 || !now.Before(e.pushed.Add(c.o.Grace))
	if e.busy(c.skew) == "" && begun || now.Sub(e.endedAt) > giveUp {
		c.drop(e)
		return
	}
	if e.tidyAt = now.Add(min(c.o.Linger<<min(e.tidied-1, 5), 5*time.Minute)); !begun {
		e.tidyAt = e.pushed.Add(c.o.Grace)
	}
}

// replaced reports whether refs that a sweep has taken for nobody's are those of a build that
// was asked for since. They are that build's then, and are left to it. The caller holds mu.
func (c *Controller) replaced(e *entry) bool { return e.orphan && c.builds[e.build.ID] != e }

// drop has the refs of a build deleted. The caller holds mu.
func (c *Controller) drop(e *entry) {
	if c.replaced(e) {
		return
	}
	e.tidy = true
	if len(c.gone) == 0 {
		c.goneAt = c.o.Now()
	}
	for _, branch := range []string{e.branch, e.side} {
		if !c.stays(branch) {
			c.gone = append(c.gone, branch)
		}
	}
	if e.orphan {
		delete(c.builds, e.build.ID)
	}
	poke(c.toPush)
}
