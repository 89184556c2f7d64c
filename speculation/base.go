package speculation

import (
	"cmp"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
)

// offBase says why a pull request is not for this queue, if so: it neither asks for the
// queue's branch nor is on top of a pull request that does.
func (c *entering) offBase(number int, b queue.Inspected) queue.Reason {
	m, s := c.s.Main, b.Stack
	names := []string{strconv.Itoa(number)}
	for _, n := range s.Below {
		names = append(names, strconv.Itoa(n))
	}
	foot := cmp.Or(s.Foot, b.Base)
	switch {
	case b.Base == m.Branch:
		return queue.Reason{}
	case s.Circle:
		return queue.Reason{Code: queue.ReasonStackCircle, Names: names}
	case s.Deep:
		return queue.Reason{Code: queue.ReasonStackDeep}
	case s.Kept, foot != m.Branch && !c.LandedBranch(foot):
		return queue.Reason{Code: queue.ReasonWrongBase, Names: []string{b.Base, m.Branch}}
	}
	// The forge was asked at one moment, and the queue goes by its own older knowledge.
	seen := []string{names[0]}
	for next := c.parentIn(b); next != 0; {
		seen = append(seen, strconv.Itoa(next))
		switch ch := c.facts.Links.Active(next); {
		case next == number:
			return queue.Reason{Code: queue.ReasonStackCircle, Names: seen}
		case len(seen) > queue.MaxStack+1:
			return queue.Reason{Code: queue.ReasonStackDeep}
		case ch == nil:
			return queue.Reason{}
		default:
			next = ch.Parent
		}
	}
	return queue.Reason{}
}

// parentIn returns the pull request that this one is on top of, or 0 if there is none
// or it has landed.
func (c *entering) parentIn(b queue.Inspected) int {
	if b.Base == c.s.Main.Branch {
		return 0
	}
	n := b.Stack.Parent()
	if p := c.s.Pulls[n]; p != nil && p.Landed && p.Active == "" {
		return 0
	}
	return n
}

// baseIn returns the base of a pull request where that is not the queue's branch.
func (c *entering) baseIn(b queue.Inspected) string {
	if b.Base == c.s.Main.Branch {
		return ""
	}
	return b.Base
}

// LandedBranch reports whether a branch of the repository was the head of a pull
// request that has landed, as far as the queue remembers. A pull request that asks for
// such a branch is meant for the queue's branch, and is out of date.
func (c *Core) LandedBranch(branch string) bool {
	for _, p := range c.s.Pulls {
		if branch != "" && p.Branch == branch && p.Landed && p.Active == "" {
			return true
		}
	}
	return false
}

// rebase takes in the branch that a pull request asks for now. A change in the order
// stays on top of its parent until that has landed, even if it asks for the queue's
// branch by now. It reports whether the change is still the one that was asked for.
//
// A push that was lost or refused leaves the base as our own landing has made it,
// until that is taken back. Nobody asked for that base. So a change on top of another
// stays so, parked or not; else it would land the other's commits without the other.
func (c *entering) rebase(ch *queue.Change, b queue.Inspected) bool {
	parent, base := c.parentIn(b), c.baseIn(b)
	c.inStack(ch, b)
	if ch.Shown && base == "" {
		return true
	}
	if ch.Shown {
		ch.Shown = false
		c.touchChange(ch)
	}
	if parent != ch.Parent && parent != 0 {
		return false
	}
	if parent == ch.Parent && base == ch.Base {
		return true
	}
	if ch.Phase == queue.Parked {
		c.stepOff(ch, parent, b)
	}
	ch.Base = base
	c.touchChange(ch)
	if ch.Parent == 0 {
		c.settling.comeBack(ch)
	}
	return true
}

// standAsShown takes in which branch the pull request of a parked change asks for now that
// somebody has it return.
func (c *entering) standAsShown(ch *queue.Change, b queue.Inspected) {
	if base := c.baseIn(b); base != "" || !ch.Shown {
		c.stepOff(ch, c.parentIn(b), b)
		ch.Base, ch.Shown = base, false
	}
}

// stepOff notes which pull request a parked change is on top of by now. If it is not on top
// any more of one that has not landed, it brings that one's commits with it, as its pull
// request shows; else it would land as if they were on the queue's branch.
func (c *entering) stepOff(ch *queue.Change, parent int, b queue.Inspected) {
	if p := c.s.Pulls[ch.Parent]; ch.Parent != 0 && parent != ch.Parent && !(p != nil && p.Landed && p.Active == "") {
		ch.Below, ch.Stale = b.Below, true
	}
	ch.Parent = parent
}
