package speculation

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
)

// Stacks. A change whose pull request asks for the branch of another is on top of
// that one (Change.Parent), until the other has landed. It comes after it in the
// order and is in the order only while the other is; its paths take everybody
// below it to land, and the others' paths take it to land only where they take
// those; it boards a train behind them. While the one below is anything but in the
// order or landed, it is parked, with the reason: no verdict on one is a verdict
// on the other.
//
// All of that is looked at again in each turn (restack), so it does not matter in
// which order, how late or how often people, the forge and builds say something.

// parentOf returns the open change that one is on top of, or nil.
func (c *Core) parentOf(ch *queue.Change) *queue.Change {
	if ch == nil || ch.Parent == 0 {
		return nil
	}
	return c.active(ch.Parent)
}

// beneath returns the open changes that one is on top of, the nearest first.
func (c *Core) beneath(ch *queue.Change) []*queue.Change {
	var out []*queue.Change
	for p := c.parentOf(ch); p != nil && p != ch && len(out) <= queue.MaxStack; p = c.parentOf(p) {
		out = append(out, p)
	}
	return out
}

// isBelow reports whether a change is on top of another, or of one that is.
func (c *Core) isBelow(low, high *queue.Change) bool {
	return len(c.stacked) > 0 && slices.Contains(c.beneath(high), low)
}

// tied reports whether a change is part of a stack.
func (c *Core) tied(ch *queue.Change) bool {
	if ch == nil || len(c.stacked) == 0 {
		return false
	}
	return ch.Parent != 0 || len(c.onTop(ch.Number)) > 0
}

// onTop returns the open changes that are on top of a pull request, by id.
func (c *Core) onTop(number int) []*queue.Change {
	var out []*queue.Change
	for _, ch := range c.stacked {
		if ch.Parent == number {
			out = append(out, ch)
		}
	}
	slices.SortFunc(out, func(a, b *queue.Change) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// relatives returns those in the order that a change is on top of or that are on
// top of it: they conflict with it, whatever they affect.
func (c *Core) relatives(ch *queue.Change) []queue.ChangeID {
	if !c.tied(ch) {
		return nil
	}
	var out []queue.ChangeID
	for _, low := range c.beneath(ch) {
		if inOrder(low) {
			out = append(out, low.ID)
		}
	}
	for id, high := range c.stacked {
		if inOrder(high) && high != ch && c.isBelow(ch, high) {
			out = append(out, id)
		}
	}
	return out
}

// seekStacked is seek where there are stacks: who is behind a change is behind
// everybody below that one, so that no path has it without them.
func (c *Core) seekStacked(id queue.ChangeID, most int) []queue.ChangeID {
	mine := c.rank[id]
	in := map[queue.ChangeID]bool{}
	for other := range c.conflictsOf(id) {
		if r, ok := c.rank[other]; !ok || r >= mine {
			continue
		}
		in[other] = true
		for _, low := range c.beneath(c.s.Changes[other]) {
			if r, ok := c.rank[low.ID]; ok && r < mine {
				in[low.ID] = true
			}
		}
	}
	out := sorted(in)
	slices.SortFunc(out, func(a, b queue.ChangeID) int { return cmp.Compare(c.rank[a], c.rank[b]) })
	return out[:min(len(out), most)]
}

// raise puts those who would come before what they are on top of right behind it.
func (c *Core) raise() {
	for again, round := len(c.stacked) > 0, 0; again && round <= queue.MaxStack; round++ {
		again = false
		for _, id := range sorted(c.stacked) {
			ch := c.stacked[id]
			p := c.parentOf(ch)
			if ch.Phase == queue.Pending && p != nil && p.Phase == queue.Pending && ch.Virtual <= p.Virtual {
				ch.Virtual, again = p.Virtual+1, true
				c.touch(queue.KindChange, string(id))
				c.staleAll()
			}
		}
	}
}

// upheld reports whether a change may stand behind the given members of a train:
// what it is on top of is one of them, or before them.
func (c *Core) upheld(ch *queue.Change, in map[queue.ChangeID]bool) bool {
	if ch.Parent == 0 {
		return true
	}
	p := c.parentOf(ch)
	return p != nil && (in[p.ID] || p.Phase == queue.Landing)
}

// stackTake corrects which outcome of a change ahead a likeliest future takes:
// that everybody below lands, and nobody who is on top of one that does not.
func (p *planning) stackTake(n *node, edges []edge, i int, q float64) (take bool, chance float64) {
	if edges[i].below {
		return true, max(q, leastUpheld)
	}
	if !p.carried(edges, mindOf(n).takes, i) {
		return false, 1
	}
	return q >= 0.5, max(q, 1-q)
}

// leastUpheld is the least chance that a change below another is given: there is
// no other future to look at.
const leastUpheld = 0.01

// carried reports whether a future has the parent of the one at an edge, where
// that is among those ahead.
func (c *Core) carried(edges []edge, takes []bool, i int) bool {
	below := c.parentOf(edges[i].to.ch)
	if below == nil {
		return true
	}
	at := slices.IndexFunc(edges, func(e edge) bool { return e.to.id == below.ID })
	return at < 0 || takes[at]
}

// sound reports whether there can be a future: it has everybody below whom it has.
func (c *Core) sound(edges []edge, takes []bool) bool {
	if len(c.stacked) == 0 {
		return true
	}
	for i := range edges {
		if edges[i].below && !takes[i] || takes[i] && !c.carried(edges, takes, i) {
			return false
		}
	}
	return true
}

// fall takes those out of a future who are on top of one that does not land in
// it, and reports whether there are any.
func (c *Core) fall(edges []edge, takes []bool, i int) bool {
	if len(c.stacked) == 0 || takes[i] {
		return false
	}
	any := false
	for j := range edges {
		if takes[j] && c.isBelow(edges[i].to.ch, edges[j].to.ch) {
			takes[j], any = false, true
		}
	}
	return any
}

// without a change that does not merge, a base has nobody who is on top of it; ok
// is false where the last is.
func (c *Core) dropVoid(base []queue.ChangeID, void, last queue.ChangeID) (_ []queue.ChangeID, ok bool) {
	low := c.s.Changes[void]
	if c.isBelow(low, c.s.Changes[last]) {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(base), func(x queue.ChangeID) bool {
		return x == void || c.isBelow(low, c.s.Changes[x])
	}), true
}

// analysis is what is to be computed of a change on main as it is.
func (c *Core) analysis(ch *queue.Change) queue.Analyze {
	t := queue.Analyze{Change: ch.ID, Main: c.s.Main.Tip, Pick: pickOf(ch), Analyzer: c.s.Main.Analyzer}
	for _, low := range slices.Backward(c.beneath(ch)) {
		t.Under = append(t.Under, pickOf(low))
	}
	return t
}

// leaning says why a change cannot be in the queue because of what it is on top
// of, if so.
func (c *Core) leaning(ch *queue.Change) queue.Reason {
	if ch.Parent == 0 {
		return queue.Reason{}
	}
	why := queue.Reason{Code: queue.ReasonParent, Names: []string{strconv.Itoa(ch.Parent)}}
	last := c.active(ch.Parent)
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

// grounded reports whether a change may be in the order as far as what it is on
// top of goes.
func (c *Core) grounded(ch *queue.Change) bool {
	p := c.parentOf(ch)
	return ch.Parent == 0 || p != nil && inOrder(p)
}

// heldBack reports whether a change is known well enough to be in the order, and
// waits for what it is on top of.
func (c *Core) heldBack(ch *queue.Change) bool {
	return ch.Parent != 0 && ch.Phase == queue.Analyzing && !ch.Stale && c.s.Footprints[ch.ID] != nil
}

// topple parks those who are on top of a change that has left the order.
func (c *Core) topple(ch *queue.Change) {
	if len(c.stacked) == 0 {
		return
	}
	for _, high := range c.onTop(ch.Number) {
		if why := c.leaning(high); why.Code != "" {
			c.park(high, why, 0)
		}
	}
}

// restack brings everybody in line with what is below: those whose parent has
// landed are on top of nobody any more, those whose parent is out are parked, and
// those whose parent is back are back.
func (c *Core) restack() {
	for again, round := true, 0; again && round <= queue.MaxStack; round++ {
		again = false
		for _, id := range sorted(c.stacked) {
			if ch := c.stacked[id]; ch != nil && c.restackOne(ch) {
				again = true
			}
		}
	}
}

// restackOne reports whether it has changed something that others may rest on.
func (c *Core) restackOne(ch *queue.Change) bool {
	p := c.parentOf(ch)
	c.standOn(ch)
	if pull := c.s.Pulls[ch.Parent]; p == nil && pull != nil && pull.Landed {
		ch.Parent = 0
		c.touchChange(ch)
		c.staleAll()
		c.comeBack(ch)
		return true
	}
	if ch.Phase == queue.Landing {
		return false
	}
	if why := c.leaning(ch); why.Code != "" {
		switch {
		case ch.Phase != queue.Parked:
			c.park(ch, why, 0)
			return true
		case ch.Reason.Code == queue.ReasonParent && !slices.Equal(ch.Reason.Names, why.Names):
			ch.Reason = why
			c.touchChange(ch)
			return true
		}
		return false
	}
	if ch.Now != nil && p.Now == nil && p.Phase != queue.Landing && ch.Phase != queue.Parked {
		c.rush(p, *ch.Now)
		return true
	}
	if c.headStart(ch) > c.headStart(p) && p.Phase != queue.Landing && ch.Phase != queue.Parked {
		c.changeLane(p, ch.Lane, "#"+strconv.Itoa(ch.Number))
		return true
	}
	if ch.Phase == queue.Pending && !inOrder(p) {
		c.leave(ch.ID)
		c.move(ch, queue.Analyzing, queue.Reason{Code: queue.ReasonAnalyzing})
		c.touchChange(ch)
		return true
	}
	return c.comeBack(ch)
}

// comeBack puts a change back that has waited for what it was on top of.
func (c *Core) comeBack(ch *queue.Change) bool {
	switch {
	case ch.Phase == queue.Parked && ch.Reason.Code == queue.ReasonParent:
		c.unparkNow(ch)
	case ch.Phase == queue.Analyzing && !ch.Stale && c.s.Footprints[ch.ID] != nil && c.grounded(ch):
		c.pend(ch, c.s.Footprints[ch.ID])
	default:
		return false
	}
	return true
}

// pend puts a change into the order whose footprint is known.
func (c *Core) pend(ch *queue.Change, f *queue.Footprint) {
	if ch.Phase == queue.Analyzing && c.grounded(ch) {
		c.move(ch, queue.Pending, queue.Reason{})
		c.touchChange(ch)
	}
	if inOrder(ch) {
		c.join(ch.ID, f)
		if ch.Chance == 0 {
			c.estimate(ch)
		}
	}
}
