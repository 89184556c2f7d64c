package forgeci

import (
	"context"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// lookEarlier decides jobs by what the CI has reported on the head of the change
// itself, where the step wants that and the head's tree is the very one to be
// verified. Only a workflow that a push of the head started has tested that tree:
// one that a pull request starts tests its merge with some base, or the base.
func (c *Controller) lookEarlier(ctx context.Context, batch []*entry) {
	for _, e := range batch {
		if e.build.Same == "" || e.sought {
			continue
		}
		e.sought = true
		got, err := c.o.CI.CIResults(ctx, e.build.Same)
		var runs []forge.CIRun
		if err == nil {
			runs, err = c.o.CI.CIRunsOf(ctx, e.build.Same)
		}
		if err != nil {
			c.o.Log.Info("what was reported on the head of a change could not be read; it is built", "build", e.build.ID, "error", err)
			continue
		}
		c.mu.Lock()
		open := 0
		for _, j := range e.jobs {
			if list := passedEarlier(j.Step, got.List, runs, e.from(c.skew)); list != nil && e.done == nil {
				c.decide(e, j, finding{outcome: queue.JobPassed, list: list})
			} else {
				open++
			}
		}
		e.known = open == 0
		c.mu.Unlock()
	}
}

// from returns the moment, by the forge's clock, after which what passed on the head of
// the change must have begun; zero: it does not matter.
func (e *entry) from(skew time.Duration) time.Time {
	if e.build.SameFrom == 0 {
		return time.Time{}
	}
	return e.build.SameFrom.Time().Add(skew)
}

// passedEarlier returns the results by which a step has passed on a commit, or
// nil: each of its checks has them, and all of them are passes of ended runs that
// a push has started, and that began after a moment.
func passedEarlier(s config.Step, list []forge.CIResult, runs []forge.CIRun, from time.Time) (out []forge.CIResult) {
	if !s.CountsEarlier() {
		return nil
	}
	pushed, open := map[int64]bool{}, (&job{Job: queue.Job{Step: s}}).byRuns()
	for _, r := range runs {
		if r.Push && !r.Done && open {
			return nil // it may bring another check of one of the names
		}
		pushed[r.Suite] = r.Push && r.Done
	}
	for _, check := range s.Checks {
		var found []forge.CIResult
		for _, r := range list {
			if !check.Is(r.Name, r.App) {
				continue
			}
			if r.Status || !r.Bound {
				return nil // nobody can tell what it is about
			}
			if pushed[r.Suite] {
				found = append(found, r)
			}
		}
		found = standing(found, runs)
		if len(found) == 0 || slices.ContainsFunc(found, func(r forge.CIResult) bool {
			return r.State != forge.CIPassed || !from.IsZero() && !r.At.After(from)
		}) {
			return nil
		}
		out = append(out, found...)
	}
	return out
}
