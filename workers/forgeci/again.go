package forgeci

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// runAgain runs the failed jobs of a build's runs again, as soon as these runs have ended: the
// forge refuses it earlier.
func (c *Controller) runAgain(ctx context.Context, e *entry) {
	runs, err := c.o.CI.CIRuns(ctx, e.branch)
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	e.listed = c.o.Now()
	if err != nil && !errors.Is(err, forge.ErrForbidden) {
		c.refused(e, err)
		c.mu.Unlock()
		return
	}
	for _, r := range runs {
		e.foldRun(r)
	}
	ready, found := e.toRunAgain(c.skew)
	c.mu.Unlock()
	var got forge.CIResults
	if len(ready) > 0 {
		// All results of the ended runs: their webhooks may come later, among those
		// of the next.
		got, err = c.o.CI.CIResults(ctx, e.build.Commit)
		if ctx.Err() != nil {
			return
		}
	}
	c.mu.Lock()
	if e.done != nil || len(ready) > 0 && err != nil && !errors.Is(err, forge.ErrForbidden) {
		if e.done == nil {
			c.refused(e, err)
		}
		c.mu.Unlock()
		return
	}
	for _, r := range got.List {
		e.fold(r)
	}
	said := map[*job][]forge.CIResult{} // before it is run again
	for _, j := range e.jobs {
		for _, check := range j.Step.Checks {
			said[j] = append(said[j], e.said(j, check, c.skew)...)
		}
	}
	c.mu.Unlock()

	asked := map[int64]bool{} // by run
	for _, r := range ready {
		if err := c.o.CI.RerunFailed(ctx, r.ID); err != nil {
			c.o.Log.Warn("the failed jobs of a run could not be run again", "build", e.build.ID, "run", r.ID, "error", err)
			continue
		}
		asked[r.ID] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	suites := map[int64]bool{}
	for _, r := range ready {
		if !asked[r.ID] {
			continue
		}
		suites[r.Suite] = true
		if e.runs[r.ID].Attempt == r.Attempt {
			r.Attempt, r.Done = r.Attempt+1, false // until there is news of it
			e.runs[r.ID] = r
		}
		e.log.say("running the failed jobs again: %s", r.URL)
	}
	for _, j := range e.jobs {
		if j.done || j.rerun != rerunWanted {
			continue
		}
		switch {
		case len(suites) > 0:
			c.awaitRerun(j, said[j], suites)
		case !found || len(ready) > 0:
			j.rerun = rerunNever
		}
	}
	c.settle(e)
}

// toRunAgain returns the failed runs that are to be run again, once all of them have ended.
// found says whether there are any.
func (e *entry) toRunAgain(skew time.Duration) (ready []forge.CIRun, found bool) {
	want := map[int64]bool{} // by suite
	for _, j := range e.jobs {
		if j.done || j.rerun != rerunWanted {
			continue
		}
		for _, check := range j.Step.Checks {
			for _, r := range e.said(j, check, skew) {
				if r.Bound && r.State == forge.CIFailed {
					want[r.Suite] = true
				}
			}
		}
	}
	open := false
	for _, r := range e.runs {
		if want[r.Suite] && r.Attempt < 2 { // else it was run again, perhaps before a restart
			found, open = true, open || !r.Done
			ready = append(ready, r)
		}
	}
	if open {
		return nil, true
	}
	return ready, found
}

// awaitRerun notes that a job was asked to run again. Results of its checks in these suites now
// count as former results, but for those that go on under their ids (forge.CIResult.Waits).
func (c *Controller) awaitRerun(j *job, said []forge.CIResult, suites map[int64]bool) {
	j.rerun, j.rerunAt, j.running = rerunAsked, c.o.Now(), time.Time{}
	for _, r := range said {
		if !suites[r.Suite] || r.Waits {
			continue
		}
		bad := func(o forge.CIResult) bool {
			return o.State != forge.CIPassed && o.Suite == r.Suite && strings.EqualFold(o.Name, r.Name)
		}
		if r.State == forge.CIFailed || r.State == forge.CITimeout {
			j.failed = append(j.failed, r)
		}
		if slices.ContainsFunc(said, bad) {
			j.floor[resultKey{r.Status, r.ID}] = bad(r)
		}
	}
}
