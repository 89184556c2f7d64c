package forgeci

import (
	"context"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// lookForSkips reads the messages of commits that are about to be pushed. If a message
// certainly keeps GitHub Actions from starting, and the build waits for a check of GitHub
// Actions, the build ends at once. Only commits of people have such messages; rebase and
// fast-forward keep them.
func (c *Controller) lookForSkips(ctx context.Context, batch []*entry) {
	for _, e := range batch {
		if e.known {
			continue
		}
		message, err := c.o.Refs.Message(ctx, e.build.Commit)
		if err != nil { // the push will say why
			c.o.Log.Info("the message of a commit could not be read", "build", e.build.ID, "error", err)
			continue
		}
		marker, sure := config.Skips(message)
		c.mu.Lock()
		e.skips = marker
		if sure && e.done == nil {
			c.skip(e)
		}
		c.mu.Unlock()
	}
}

// skip decides a build that waits for a workflow that will not begin. The caller holds mu.
func (c *Controller) skip(e *entry) {
	at := slices.IndexFunc(e.jobs, func(j *job) bool { return !j.done && j.byActions() != "" })
	if at < 0 {
		return
	}
	f := finding{outcome: queue.JobInfra, noCheck: true, detail: fmt.Sprintf("the check `%s` would not appear: %s", e.jobs[at].byActions(), e.skipped())}
	for _, j := range e.jobs {
		if !j.done {
			c.decide(e, j, f)
		}
	}
	e.known = true
}

// byActions names a check of the job that only GitHub Actions can report, or nothing.
func (j *job) byActions() string {
	for _, check := range j.Step.Checks {
		if check.App == config.AppActions {
			return check.Name
		}
	}
	return ""
}

// skipped says for people what the message of the build's commit prevents.
func (e *entry) skipped() string {
	return fmt.Sprintf("the message of the commit says `%s`, and GitHub starts no workflow for such a commit; take that out of the message and push again, "+
		"or land by a method for which the queue writes the message (merge or squash)", e.skips)
}
