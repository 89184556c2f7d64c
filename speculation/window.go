package speculation

import (
	"reflect"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A freeze on a schedule (config.Freeze) is a pause like one that somebody asks for by
// /queue freeze, and ends on its own. Only the clock of the turn and the configuration of
// the branch open and close it, so nothing is lost if the server was away at its start or
// its end. The schedule does not touch a pause or freeze by people, nor the pause of a branch
// that takes no pushes; but while a window is open, the pushes that try such a branch are held
// as all others. After that pause ends, the schedule holds landings again if its window has not
// ended. /queue resume ends the windows that are open, and no later ones.

// mostJoined bounds the windows that count as one because they leave no gap.
const mostJoined = 60

// schedule opens and closes the freezes of the configuration.
func (c *entering) schedule() {
	open, next := c.windows()
	if next != 0 {
		c.wakeAt(next)
	}
	m := &c.s.Main
	c.hidden = nil
	if m.Paused != nil && m.Paused.Window == nil {
		if open != nil && c.landing.shut() {
			c.hidden = open.Window // it holds the pushes that try the branch
		}
		return
	}
	switch {
	case open == nil && m.Paused != nil:
		c.mainline.goOn("submitqueue")
	case open != nil && m.Paused == nil:
		m.Paused = open
		c.touchMain()
		c.note(queue.Note{What: "frozen", Reason: open.Why()})
	case open != nil:
		if open.At = m.Paused.At; !reflect.DeepEqual(open, m.Paused) {
			m.Paused = open
			c.touchMain()
		}
	}
}

// windows returns the pause that the open windows make, or nil if none is open. next is
// when the pause may change; 0 means never.
func (c *entering) windows() (open *queue.Pause, next queue.Instant) {
	rules := c.facts.Rules()
	if len(rules.Freeze) == 0 {
		return nil, 0
	}
	now := c.facts.Now
	var until queue.Instant
	for _, f := range rules.Freeze {
		for _, w := range f.Windows(now.Time(), 2) {
			start, end := queue.At(w.Start), queue.At(w.End)
			if start > now {
				next = queue.Earliest(next, start)
				continue
			}
			if next = queue.Earliest(next, end); start <= c.s.Main.Resumed {
				continue
			}
			if open == nil {
				open = &queue.Pause{By: "submitqueue", Reason: f.Reason, At: now, Window: &queue.FreezeWindow{}}
			}
			if !slices.ContainsFunc(open.Window.Except, func(e config.FreezeExcept) bool { return reflect.DeepEqual(e, f.Except) }) {
				open.Window.Except = append(open.Window.Except, f.Except)
			}
			until = max(until, end)
		}
	}
	if open != nil {
		open.Until = c.joined(rules.Freeze, until)
	}
	return open, next
}

// joined returns when landings go on if further windows follow a moment without a gap.
func (c *entering) joined(rules []config.Freeze, until queue.Instant) queue.Instant {
	for range mostJoined {
		before := until
		for _, f := range rules {
			for _, w := range f.Windows(until.Time(), 1) {
				if queue.At(w.Start) <= before {
					until = max(until, queue.At(w.End))
				}
			}
		}
		if until == before {
			break
		}
	}
	return until
}

// excepted reports whether a change lands in spite of a freeze, because all open windows
// except it.
func (c *entering) excepted(id queue.ChangeID) bool {
	ch, p := c.s.Changes[id], c.s.Main.Paused
	if ch == nil || p == nil || c.facts.Changing() {
		return false
	}
	window := p.Window
	if window == nil {
		window = c.hidden
	}
	if window == nil {
		return false
	}
	var paths []string
	if f := c.s.Footprints[id]; f != nil && f.Unknown == "" {
		paths = f.Paths
	}
	return !slices.ContainsFunc(window.Except, func(e config.FreezeExcept) bool { return !e.Lets(ch.Lane, ch.Spared, paths) })
}
