package speculation

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// maxAhead is how far the times of a state may be ahead of the clock of its next
// owner: clocks that are kept right differ by less.
const maxAhead = time.Minute

// NotAfter tells a core that has just been made what time it is by its owner's
// clock. Time goes on from the latest moment that the state speaks of (latest). If a
// former owner, or a replica, had a clock that ran ahead, time would stand still until
// that moment comes, and no deadline would pass meanwhile. So moments further ahead
// than clocks differ do not count. The caller also bounds the times of events by its
// own clock: then one wrong clock ends with its owner.
func (c *Core) NotAfter(now queue.Instant) {
	c.facts.SetNow(min(c.facts.Now, now.Add(maxAhead)))
}

// Reached returns the core's time: that of its last turn or, before there was one, the latest
// moment that the state speaks of. 0: it speaks of none.
func (c *Core) Reached() queue.Instant { return c.facts.Now }

// Ahead returns how far the core's time is ahead of a moment, or 0. Times by the owner's
// clock are to be moved by so much before they are told to the core.
func (c *Core) Ahead(now queue.Instant) time.Duration { return max(0, c.facts.Now.Sub(now)) }

// Astray reports whether the owner's clock has been set back: the core's time stands still
// until the clock comes to where it was. A core that is made from the stored state and
// given NotAfter goes on by the right clock.
func (c *Core) Astray(now queue.Instant) bool { return c.Ahead(now) > maxAhead }

// Resume returns the core of a stored state with a model, at the time of its owner's clock.
// Times in the state that are further ahead than clocks differ were written by a clock that
// has been set back since, and are taken to be now.
func Resume(s *queue.State, now queue.Instant, model predict.Model) *Core {
	var changed []queue.Ref
	if ahead := latest(s).Sub(now); ahead > maxAhead {
		changed = s.Rewind(now, ahead)
	}
	c := NewWith(s, model)
	c.NotAfter(now)
	if c.rewound = changed; len(changed) > 0 {
		c.facts.SetNow(min(c.facts.Now, now))
	}
	return c
}

// rewind moves the deadlines of actions that were asked for at a time that has not come;
// else the queue would wait for them until then. It also has the records stored that
// Resume has changed.
func (c *Core) rewind() {
	for _, r := range c.rewound {
		c.dirty[r] = true
	}
	c.rewound = nil
	if c.inTime {
		return // a core's time does not go back
	}
	c.inTime = true
	for key, a := range c.s.Actions {
		if ahead := a.At.Sub(c.facts.Now); ahead > 0 {
			a.At, a.Deadline = c.facts.Now, a.Deadline.Add(-ahead)
			if a.NotBefore != 0 {
				a.NotBefore = a.NotBefore.Add(-ahead)
			}
			c.touch(queue.KindAction, key)
		}
	}
}
