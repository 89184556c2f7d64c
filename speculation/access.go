package speculation

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// awayPause is how long the queue waits after a try that found the repository out of
// reach, unless the forge tells before then that access was given back.
const awayPause = time.Minute

// access takes in that the repository is out of reach, or within reach again. An event
// that the repository is elsewhere, or has another default branch, says neither.
func (c *mainline) access(b queue.Access) {
	switch {
	case b.Lost != "":
		c.away(b.Lost)
	case b.Moved:
		c.readNow()
	default:
		c.back()
		c.upkeep.observe()
	}
}

// away takes in why the repository is out of reach. Actions there wait; changes
// keep their places in the queue.
func (c *mainline) away(why string) {
	if c.s.Main.Away == why {
		return
	}
	if c.s.Main.Away == "" {
		c.note(queue.Note{What: "away", Reason: queue.Reason{Code: queue.ReasonForge, Detail: why}})
		if c.observing != "" {
			c.upkeep.observe() // the reading under way may show an older state
		}
	}
	c.s.Main.Away = why
	c.touchMain()
}

// back has all actions tried at once that wait for their next try.
func (c *mainline) back() {
	if c.s.Main.Away == "" {
		return
	}
	c.s.Main.Away, c.s.Main.Renamed = "", ""
	c.touchMain()
	c.note(queue.Note{What: "back"})
	for _, key := range derived.Sorted(c.s.Actions) {
		if a := c.s.Actions[key]; a != nil && a.NotBefore > c.facts.Now {
			c.upkeep.done(key)
			c.upkeep.reissue(a, 0, a.Error)
		}
	}
}

// kept asks once more for an action that found the repository out of reach. That is no
// failed attempt, and the queue never gives up on it.
func (c *mainline) kept(a *queue.Action, f queue.Failed) {
	c.away(f.Error)
	c.upkeep.reissue(a, max(awayPause, f.After), f.Error)
}

// readNow has main read at once, even if the next try was to come later.
func (c *mainline) readNow() {
	if a := c.s.Actions[c.observing]; a != nil && c.s.Main.Away != "" && a.NotBefore > c.facts.Now {
		c.upkeep.renew(a.Task)
		return
	}
	c.upkeep.observe()
}

// renamed takes in that the forge has given the target branch another name. All pull
// requests for it ask for the new name and keep their places: the queue goes along,
// or stands still until it is told to.
func (c *mainline) renamed(b queue.Renamed) {
	a := c.upkeep.done(b.Action)
	if a == nil {
		return
	}
	m := &c.s.Main
	switch {
	case b.From != m.Branch: // it has gone along since
	case b.Why != "":
		if c.away(b.Why); m.Renamed != b.To {
			m.Renamed = b.To
			c.touchMain()
		}
		if !c.upkeep.idle(a.Task) {
			c.upkeep.reissue(a, awayPause, b.Why)
		}
		if _, reading := a.Task.(queue.Observe); !reading {
			c.upkeep.observe() // it shows when the branch is back
		}
		return
	default:
		c.note(queue.Note{What: "renamed", Reason: queue.Reason{Code: queue.ReasonRenamed, Names: []string{b.From, b.To}}})
		if m.Formerly == "" {
			m.Formerly = m.Branch
		}
		if m.Branch = b.To; m.Branch == m.Formerly {
			m.Formerly = ""
		}
		c.touchMain()
		c.back()
		for _, number := range c.asking() {
			c.inspectAgain(number) // an inspection under way may show an older state
		}
	}
	if !c.upkeep.idle(a.Task) {
		c.upkeep.reissue(a, 0, "")
	}
	c.upkeep.observe()
}

// baseAgain is how long the queue waits before it looks once more at a pull request
// that was seen to ask for another branch. A forge that renames a branch may tell its
// pull requests of it before it can tell the new name of the branch.
const baseAgain = 3 * time.Second

// confirmBase has a pull request that asks for another branch inspected once more,
// before its change is taken out for that. Meanwhile the change boards no push.
func (c *mainline) confirmBase(a *queue.Action, r *queue.Request, b queue.Inspected) bool {
	if r.Twice || !b.Open || c.entering.offBase(r.Number, b).Code != queue.ReasonWrongBase {
		return false
	}
	r.Twice = true
	c.touch(queue.KindRequest, r.ID)
	c.upkeep.reissue(a, baseAgain, "")
	return true
}

// asking returns the pull requests about which there are requests, in order.
func (c *mainline) asking() []int {
	numbers := map[int]bool{}
	for _, r := range c.s.Requests {
		numbers[r.Number] = true
	}
	return derived.Sorted(numbers)
}
