package speculation

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// maxAhead is how far the times of a state may be ahead of the clock of the one
// who goes on with it: clocks that are kept differ by less.
const maxAhead = time.Minute

// NotAfter tells a core that has just been made what time it is by its owner's
// clock. Time goes on from the latest moment that the state speaks of (latest), so
// that an owner before, or a replica, with a clock that ran ahead would have it stand
// still until that moment comes, and no deadline would pass meanwhile. So moments
// further ahead than clocks differ do not count. The caller also bounds the times of
// events by its own clock: then one wrong clock ends with its owner.
func (c *Core) NotAfter(now queue.Instant) {
	c.now = min(c.now, now.Add(maxAhead))
}

// rewind moves the deadlines of actions that were asked for in a time that has not
// come: they would be waited for until then.
func (c *Core) rewind() {
	for key, a := range c.s.Actions {
		if ahead := a.At.Sub(c.now); ahead > 0 {
			a.At, a.Deadline = c.now, a.Deadline.Add(-ahead)
			if a.NotBefore != 0 {
				a.NotBefore = a.NotBefore.Add(-ahead)
			}
			c.touch(queue.KindAction, key)
		}
	}
}
