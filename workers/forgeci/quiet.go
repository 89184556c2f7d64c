package forgeci

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// judgeEnded judges a job after all its checks have ended without a failure. They have not
// passed yet while a run on the ref may still bring a check with one of their names: a job
// appears when the jobs that it needs have ended, and a second workflow may have a job of that
// name. A run that was asked for has all its jobs from the beginning (forge.Starter), so one
// look after the last news is enough.
func (e *entry) judgeEnded(j *job, f finding, at moment) finding {
	if !j.byRuns() {
		f.outcome = queue.JobPassed
		return f
	}
	calm, running := e.calm(at), e.running(at.skew)
	if e.run != 0 {
		running = ""
	}
	if running == "" && !e.sure.Before(calm) && !e.sure.Before(e.heard) {
		f.outcome = queue.JobPassed
		return f
	}
	f.hush = true
	from := e.pushed
	if j.rerun == rerunAsked {
		from = j.rerunAt
	}
	limit := from.Add(j.Step.Appear + j.Step.Timeout)
	switch {
	case running == "" && at.now.Before(calm):
		f.due = calm
	case running == "" && e.run == 0 && at.now.Before(e.heard.Add(at.pause)) && !e.told(at.skew):
		f.due = e.heard.Add(at.pause) // the webhook of a run's end comes after those of its checks
	case running == "":
		f.look = true
	case at.now.Before(limit):
		f.due = limit
	case e.polled.Before(limit):
		f.look = true
	default:
		f.outcome = queue.JobInfra
		f.detail = fmt.Sprintf("all checks have ended, but %s is still under way on %s after %s, and may bring another one of their names",
			running, e.branch, words(at.now.Sub(from)))
	}
	return f
}

// byRuns reports whether a run of the forge's own CI can bring one of the job's
// checks.
func (j *job) byRuns() bool {
	for _, c := range j.Step.Checks {
		if c.App == "" || c.App == config.AppActions {
			return true
		}
	}
	return false
}

// calm returns the moment from which a look at the ref shows all runs that its push has
// started. If the App may not see runs, a job that needs another job has the same time to
// appear after the last known end.
func (e *entry) calm(at moment) time.Time {
	calm := e.pushed.Add(at.grace)
	if e.run != 0 {
		calm = e.pushed // its only run is known
	}
	if !e.blind {
		return calm
	}
	for _, r := range e.results {
		if end := r.Ended.Add(at.grace - at.skew); e.ours(r, at.skew) && !r.Ended.IsZero() && end.After(calm) {
			calm = end
		}
	}
	return calm
}

// hushed reports whether a job waits only for the ref to be quiet.
func (e *entry) hushed(at moment) bool {
	for _, j := range e.jobs {
		if !j.done && e.judge(j, at).hush {
			return true
		}
	}
	return false
}

// listRuns reads the runs on a build's ref, if one of its jobs waits for them to end. The
// caller reads the results afterwards, so that it gets all results of the ended runs. listed
// says that the forge has answered; blind says that the answer was a refusal.
func (c *Controller) listRuns(ctx context.Context, e *entry) (listed, blind bool, err error) {
	c.mu.Lock()
	wanted := e.done == nil && e.hushed(c.moment())
	c.mu.Unlock()
	if !wanted {
		return false, false, nil
	}
	runs, err := c.o.CI.CIRuns(ctx, e.branch)
	switch {
	case errors.Is(err, forge.ErrForbidden):
		return true, true, nil
	case errors.Is(err, forge.ErrNotFound):
		return true, false, nil
	case err != nil:
		return false, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range runs {
		e.foldRun(r)
	}
	return true, false, nil
}
