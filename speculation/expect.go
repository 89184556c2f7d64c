package speculation

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Expect fills in how long each key of a build is expected to take, for the code that
// spreads the build over runners. The build's jobs are the caller's. Expect can change
// how a build is divided, never its results.
func (c *Core) Expect(b *queue.Build) {
	for i := range b.Jobs {
		j := &b.Jobs[i]
		j.Expect = make([]time.Duration, len(j.Keys))
		for n, k := range j.Keys {
			j.Expect[n] = max(c.facts.Beliefs.Duration(j.Step.Name, k.Target), time.Millisecond)
		}
	}
}
