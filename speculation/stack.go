package speculation

import (
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Stacks. If the pull request of a change asks for the branch of another, the change is
// on top of that one, its parent (Change.Parent), until the parent has landed. It comes
// after its parent in the order and is in the order only while the parent is. Its paths
// assume that all changes below it land. A path of another change that assumes that it
// lands also assumes that those below it land. It boards a train behind them. While its
// parent is neither in the order nor landed, it is parked, with the reason: a verdict
// on one is no verdict on the other.
//
// All of that is looked at again in each turn (restack), so it does not matter in
// which order, how late or how often people, the forge and builds say something.

// raise puts changes that would come before their parent right behind it.
func (c *settling) raise() {
	for again, round := len(c.facts.Order.Stacked) > 0, 0; again && round <= queue.MaxStack; round++ {
		again = false
		for _, id := range derived.Sorted(c.facts.Order.Stacked) {
			ch := c.facts.Order.Stacked[id]
			p := c.facts.Order.ParentOf(ch)
			if ch.Phase == queue.Pending && p != nil && p.Phase == queue.Pending && ch.Virtual <= p.Virtual {
				ch.Virtual, again = p.Virtual+1, true
				c.touch(queue.KindChange, string(id))
				c.facts.Order.StaleAll()
			}
		}
	}
}

// analysis returns the task that analyzes a change on main as it is.
func (c *settling) analysis(ch *queue.Change) queue.Analyze {
	t := queue.Analyze{Change: ch.ID, Main: c.s.Main.Tip, Pick: pickOf(ch), Analyzer: c.s.Main.Analyzer}
	for _, low := range slices.Backward(c.facts.Order.Beneath(ch)) {
		t.Under = append(t.Under, pickOf(low))
	}
	return t
}

// leaning says why the change below keeps a change out of the order, if so.
func (c *settling) leaning(ch *queue.Change) queue.Reason {
	if ch.Parent == 0 {
		return queue.Reason{}
	}
	why := queue.Reason{Code: queue.ReasonParent, Names: []string{strconv.Itoa(ch.Parent)}}
	last := c.facts.Links.Active(ch.Parent)
	switch p := c.s.Pulls[ch.Parent]; {
	case last != nil && last.Phase != queue.Parked, p != nil && last == nil && p.Landed:
		return queue.Reason{}
	case p != nil && last == nil:
		last = c.s.Changes[p.Last]
	}
	if last != nil {
		why.Names = append(why.Names, string(last.Phase), string(last.Reason.Code))
	}
	return why
}

// grounded reports whether the change below, if any, allows a change to be in the
// order.
func (c *settling) grounded(ch *queue.Change) bool {
	p := c.facts.Order.ParentOf(ch)
	return ch.Parent == 0 || p != nil && derived.InOrder(p)
}

// heldBack reports whether a change has a footprint and still waits to come into the
// order, for the change below it or for the passes on its head.
func (c *settling) heldBack(ch *queue.Change) bool {
	return ch.Phase == queue.Analyzing && !ch.Stale && c.s.Footprints[ch.ID] != nil && (ch.Parent != 0 || c.judging.awaitsHead(ch))
}

// topple parks the changes on top of a change that has left the order.
func (c *settling) topple(ch *queue.Change) {
	if len(c.facts.Order.Stacked) == 0 {
		return
	}
	for _, high := range c.facts.Order.OnTop(ch.Number) {
		if why := c.leaning(high); why.Code != "" {
			c.parkOn(high, why)
		}
	}
}

// parkOn parks a change because the one below it is out of the order.
func (c *settling) parkOn(ch *queue.Change, why queue.Reason) {
	c.park(ch, why, 0)
	c.mayStandAlone(ch)
}

// mayStandAlone has a change looked at again that is parked for the one below it, if its pull
// request asks for the queue's branch by now. It has stayed on top of that one only because it
// was in the order (rebase), and perhaps nothing will happen to it any more that has it return.
func (c *settling) mayStandAlone(ch *queue.Change) {
	if ch.Phase == queue.Parked && ch.Base == "" && !ch.Shown {
		c.guarding.reconsider(ch)
		c.inspect()
	}
}

// restack follows the parents of changes. A change has no parent any more when its
// parent has landed, is parked while its parent is out of the order, and is back when
// its parent is back.
func (c *settling) restack() {
	for again, round := true, 0; again && round <= queue.MaxStack; round++ {
		again = false
		for _, id := range derived.Sorted(c.facts.Order.Stacked) {
			if ch := c.facts.Order.Stacked[id]; ch != nil && c.restackOne(ch) {
				again = true
			}
		}
	}
}

// restackOne reports whether it has changed something that others may rest on.
func (c *settling) restackOne(ch *queue.Change) bool {
	p := c.facts.Order.ParentOf(ch)
	c.entering.standOn(ch)
	if pull := c.s.Pulls[ch.Parent]; p == nil && pull != nil && pull.Landed {
		ch.Parent = 0
		c.touchChange(ch)
		c.facts.Order.StaleAll()
		if c.comeBack(ch); ch.Pinned() { // its requirements are asked for now, or it would hold up others
			c.guarding.reconsider(ch)
			c.inspect()
		}
		return true
	}
	if ch.Phase == queue.Landing {
		return false
	}
	if why := c.leaning(ch); why.Code != "" {
		switch {
		case ch.Phase != queue.Parked:
			c.parkOn(ch, why)
			return true
		case ch.Reason.Code == queue.ReasonParent && !slices.Equal(ch.Reason.Names, why.Names):
			ch.Reason = why
			c.touchChange(ch)
			return true
		}
		return false
	}
	if ch.Now != nil && p.Now == nil && p.Phase != queue.Landing && ch.Phase != queue.Parked {
		c.entering.rush(p, *ch.Now)
		return true
	}
	if c.entering.headStart(ch) > c.entering.headStart(p) && p.Phase != queue.Landing && ch.Phase != queue.Parked {
		c.entering.changeLane(p, ch.Lane, "#"+strconv.Itoa(ch.Number))
		return true
	}
	if ch.Phase == queue.Pending && !derived.InOrder(p) {
		c.landing.leave(ch.ID)
		c.move(ch, queue.Analyzing, queue.Reason{Code: queue.ReasonAnalyzing})
		c.touchChange(ch)
		return true
	}
	return c.comeBack(ch)
}

// comeBack puts a change back that has waited for the change below it.
func (c *settling) comeBack(ch *queue.Change) bool {
	switch {
	case ch.Phase == queue.Parked && ch.Reason.Code == queue.ReasonParent:
		c.unpark(ch)
	case ch.Phase == queue.Analyzing && !ch.Stale && c.s.Footprints[ch.ID] != nil && c.grounded(ch):
		c.pend(ch, c.s.Footprints[ch.ID])
	default:
		return false
	}
	return true
}

// pend puts a change with a known footprint into the order.
func (c *settling) pend(ch *queue.Change, f *queue.Footprint) {
	if ch.Phase == queue.Analyzing && c.grounded(ch) && !c.judging.awaitsHead(ch) {
		c.move(ch, queue.Pending, queue.Reason{})
		c.touchChange(ch)
	}
	if derived.InOrder(ch) {
		c.landing.join(ch.ID, f)
		if ch.Chance == 0 {
			c.landing.estimate(ch)
		}
	}
}
