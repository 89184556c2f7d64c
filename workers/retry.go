package workers

import (
	"context"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// job runs one step, and runs the targets that have not passed again, as often as the step
// allows (Step.Retries). The results are those of attempt.
func (r *Runner) job(ctx context.Context, t task, restore func() error) (done queue.JobDone, detail, again string) {
	done, detail, again = r.attempt(ctx, t, t.reports[0])
	t.ended(done.Outcome)
	asked := t.job.Targets()
	for n := 1; n <= t.retries() && done.Outcome == queue.JobFailed && ctx.Err() == nil; n++ {
		next := t
		next.job.Keys = slices.DeleteFunc(slices.Clone(t.job.Keys), func(k queue.Key) bool { return slices.Contains(done.Passed, k.Target) })
		fmt.Fprintf(t.log, "[submitqueue] attempt %d of %d, for what has not passed: %s\n", n+1, t.retries()+1, some(next.job.Targets()))
		if err := restore(); err != nil {
			fmt.Fprintf(t.log, "[submitqueue] it is not run again, since the checkout cannot be restored: %s\n", r.mask(clean(err.Error())))
			break
		}
		once, why, pattern := r.attempt(ctx, next, t.reports[n])
		t.ended(once.Outcome)
		switch once.Outcome {
		case queue.JobStopped:
			return once, why, pattern
		case queue.JobPassed, queue.JobFailed:
			done, detail = together(done, once, why, asked, n)
		default:
			return done, detail, again // that attempt says nothing; the earlier failures stand
		}
	}
	return done, detail, again
}

// retries is how often a step is run again: not at all where each of its runs must pass.
func (t task) retries() int {
	if t.job.Step.Repeat > 0 {
		return 0
	}
	return t.job.Step.Retries
}

// together is the result of a step after its targets that had not passed were run again, for
// the n-th time. detail is the detail of the last run, once.
func together(first, once queue.JobDone, detail string, asked []string, n int) (queue.JobDone, string) {
	once.Took += first.Took
	if once.Outcome == queue.JobPassed && len(first.Failed) == 0 { // the step had failed as a whole, without naming targets
		once.Again = n
		return once, detail
	}
	failed := map[string]queue.TargetFailure{}
	for _, f := range first.Failed {
		failed[f.Target] = f // stays, where the last run says nothing of it
	}
	once.Flaked = append(slices.Clone(first.Flaked), once.Flaked...)
	for _, t := range once.Passed {
		if _, was := failed[t]; was && !slices.Contains(once.Flaked, t) {
			once.Flaked = append(once.Flaked, t)
		}
		delete(failed, t)
	}
	for _, f := range once.Failed {
		failed[f.Target] = f
	}
	passed := append(slices.Clone(first.Passed), once.Passed...)
	once.Passed, once.Failed = nil, nil
	var unknown []string
	for _, t := range asked {
		f, bad := failed[t]
		switch {
		case bad:
			once.Failed = append(once.Failed, f)
		case slices.Contains(passed, t):
			once.Passed = append(once.Passed, t)
		default:
			unknown = append(unknown, t)
		}
	}
	for t, took := range first.PerTarget {
		if once.PerTarget[t] == 0 && once.PerTarget != nil {
			once.PerTarget[t] = took
		}
	}
	switch {
	case len(once.Failed) > 0:
		once.Outcome = queue.JobFailed
	case once.Outcome == queue.JobFailed: // as a set, in its last run
		once.Passed, once.Flaked = nil, nil
	case len(unknown) == 0:
		detail = ""
	}
	return once, detail
}
