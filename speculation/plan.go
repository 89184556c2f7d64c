package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// plan has the next plan made, and applies what it proposes. A plan reads facts and
// beliefs and writes its own memory: it has no word for landing or rejecting
// (package plan).
func (c *Core) plan() {
	c.landing.sortOrder()
	if c.s.Main.Tip == "" || c.s.Main.Config == nil {
		return
	}
	for x := range c.planner.Proposals(plan.Train{Aboard: c.landing.aboard, Boarding: c.landing.boarding}) {
		c.apply(x)
	}
	c.wakeAt(c.planner.Due())
}

// backoff is the pause before main's red keys are run for the n-th time again.
func backoff(n int) time.Duration { return min(time.Minute<<min(n, 10), 30*time.Minute) }

// unrunRetry is the longest pause before a command that no runner could run is tried
// again: to install a tool takes minutes, and to find that it is missing takes no time.
const unrunRetry = 5 * time.Minute

// untilRetry is the pause after a build of main that has brought no result, the n-th in a
// row. A command that no runner could run is tried again at once, `retries` times.
func (c *Core) untilRetry(b *queue.Build, n int) time.Duration {
	if !c.couldNotRun(b) {
		return backoff(n)
	}
	if n <= c.facts.Rules().Retries {
		return time.Second
	}
	return min(backoff(n), unrunRetry)
}

// couldNotRun reports whether a runner could not run a command of a build.
func (c *Core) couldNotRun(b *queue.Build) bool {
	for i := range b.Jobs {
		e := c.s.Ledger[opaqueID(b.Jobs[i].Keys)]
		if e != nil && e.Unrun() && slices.ContainsFunc(e.Failures, func(f queue.Failure) bool { return f.Build == b.ID }) {
			return true
		}
	}
	return false
}
