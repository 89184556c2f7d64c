package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Refused pushes. When the forge itself is in trouble, its answer is no refusal: the
// adapter says that the trouble may pass (queue.RefusalTrouble), and the push is tried
// again, ever more rarely. When the queue gives that up, it reads main and pushes the
// changes anew. So the rest is about rules.
//
// A push is refused as a whole, though the forge may refuse only one of its commits: a
// file that is too large, a secret, a workflow file. So the changes of a refused push
// (Main.Split) are pushed again in parts, each at most half of the push that was refused
// before (Main.Part), on the commits that have been proven. If a push is refused while
// changes of an earlier refused push still wait for their part, its changes join them, so
// that none is forgotten. A change that is refused alone is parked, and those behind it
// land without it, as behind any change that leaves the order. A rollup is one commit, so
// it is given up first, and its members are proven one by one.
//
// A change that was refused alone comes back when somebody commands it (/land, retry,
// resume), or after a time that grows with each refusal, since a permission may have
// been granted. It comes back behind all others, and is pushed alone.
//
// When the forge says in known words that the branch takes no pushes (queue.RefusalOf),
// no change is parked: landings are paused, and from time to time one change is pushed to
// see whether that has ended. Refusals in unknown words accuse the branch once
// branchRefusals different pull requests were refused alone without a landing since the
// first. Landings are then shown as paused. Each further change is pushed alone, once, so
// that an innocent one still lands. As soon as one does, the changes parked since are
// back, too.

const (
	branchRefusals = 3              // pull requests refused alone, one after the other, that accuse the branch
	refusedAgain   = time.Hour      // a change that was refused alone comes back after this time, then after twice that, and so on
	refusedMost    = 24 * time.Hour // but at least once in this time
	probeAgain     = 10 * time.Minute
	probeMost      = 4 * time.Hour
)

// refused takes in that the forge has refused a push for good.
func (c *landing) refused(p *queue.Push, rule string) {
	m := &c.s.Main
	why := queue.Reason{Code: queue.ReasonProtected, Detail: rule}
	c.note(queue.Note{What: "refused", Commit: p.Tip(), Reason: why})
	c.mainline.setPush(nil)
	c.mainline.putBack(p)
	c.facts.Futures.Distrust()
	for _, id := range p.Changes {
		c.mainline.unland(id)
	}
	c.guarding.reguard() // while the push was under way, links by former globs were kept
	open := slices.DeleteFunc(slices.Clone(m.Split), func(id queue.ChangeID) bool {
		ch := c.s.Changes[id]
		return ch == nil || ch.Phase.Final() || slices.Contains(p.Changes, id)
	})
	m.Split = nil
	c.touchMain()
	kind := queue.RefusalOf(rule)
	switch {
	case kind == queue.RefusalBranch && (m.Paused == nil || m.Paused.Until == 0): // a freeze stays as it is: a pause in its place would forget when it ends
		c.closeBranch(rule, 0)
	case len(p.Changes) > 1:
		half := (len(p.Changes) + 1) / 2
		if len(open) == 0 || m.Part == 0 {
			m.Part = half
		}
		m.Split, m.Part = append(slices.Clone(p.Changes), open...), min(m.Part, half)
		if len(p.Commits) == 1 {
			c.dissolve(c.s.Changes[p.Changes[0]])
		}
	default:
		c.turnAway(c.s.Changes[p.Changes[0]], rule, kind)
	}
}

// turnAway parks a change that was refused alone.
func (c *landing) turnAway(ch *queue.Change, rule string, kind queue.RefusalKind) {
	if ch == nil || ch.Phase.Final() {
		return
	}
	r := queue.Refused{Since: c.facts.Now}
	if ch.Refused != nil {
		r = *ch.Refused
		r.Own = r.At <= c.s.Main.Took
	}
	r.Rule, r.At, r.Times = rule, c.facts.Now, r.Times+1
	r.Own = r.Own || kind == queue.RefusalContent
	ch.Refused = &r
	c.touchChange(ch)
	until := c.facts.Now.Add(doubling(refusedAgain, r.Times, refusedMost))
	c.settling.park(ch, queue.Reason{Code: queue.ReasonProtected, Detail: rule, Until: until}, until)
	if kind != queue.RefusalContent && len(c.accusers()) >= branchRefusals {
		c.closeBranch(rule, c.facts.Now)
	}
}

// accusers returns one change of each pull request that was refused alone since the
// branch has taken something, where the refusal may be the branch's fault, sorted by
// id.
func (c *landing) accusers() []*queue.Change {
	var out []*queue.Change
	for _, id := range derived.Sorted(c.facts.Open) {
		ch := c.facts.Open[id]
		if r := ch.Refused; r != nil && !r.Own && r.At > c.s.Main.Took {
			out = append(out, ch)
		}
	}
	return out
}

// closeBranch pauses landings because the branch takes no pushes. From the moment probe
// on, one change at a time is pushed all the same.
func (c *landing) closeBranch(rule string, probe queue.Instant) {
	m := &c.s.Main
	if m.Paused != nil && !c.shut() {
		return // a person has stopped landings meanwhile, and a person lets them go on
	}
	pause := queue.Pause{By: "submitqueue", Reason: rule, At: c.facts.Now, Code: queue.ReasonProtected, Tries: 1}
	if m.Paused != nil {
		pause.At, pause.Tries = m.Paused.At, m.Paused.Tries+1
	}
	if pause.Probe = probe; probe == 0 {
		pause.Probe = c.facts.Now.Add(doubling(probeAgain, pause.Tries, probeMost))
	}
	m.Paused = &pause
	c.touchMain()
}

// shut reports whether landings are paused because the branch takes no pushes.
func (c *landing) shut() bool {
	p := c.s.Main.Paused
	return p != nil && p.Code == queue.ReasonProtected
}

// probing reports whether it is time to push one change to a branch that took no
// pushes.
func (c *landing) probing() bool {
	p := c.s.Main.Paused
	return c.shut() && p.Probe != 0 && c.facts.Now >= p.Probe
}

// halted reports whether all pushes are held.
func (c *landing) halted() bool {
	p := c.s.Main.Paused
	if c.shut() && p.Probe != 0 {
		c.wakeAt(p.Probe)
	}
	return p != nil && p.Until == 0 && !c.probing()
}

// took notes that the branch has taken a push of ours.
func (c *landing) took(p *queue.Push) {
	m := &c.s.Main
	accused := c.accusers()
	m.Took = c.facts.Now
	m.Split = slices.DeleteFunc(slices.Clone(m.Split), func(id queue.ChangeID) bool { return slices.Contains(p.Changes, id) })
	if c.shut() {
		m.Paused = nil
		c.note(queue.Note{What: "resumed", Reason: queue.Reason{Names: []string{"submitqueue"}}})
		for _, ch := range accused {
			if ch.Phase == queue.Parked && ch.Reason.Code == queue.ReasonProtected {
				c.settling.unpark(ch)
			}
		}
	}
	c.touchMain()
}

// doubling is a time that doubles with each try, up to a limit; the first try has the
// number 1.
func doubling(first time.Duration, tries int, most time.Duration) time.Duration {
	return min(first<<min(max(tries-1, 0), 16), most)
}

// joins reports whether refusals allow that a link is pushed in one push with the links
// before it.
func (c *landing) joins(chain []*queue.Link, l *queue.Link) bool {
	if len(chain) == 0 {
		return true
	}
	split := func(l *queue.Link) bool {
		return slices.ContainsFunc(l.Changes(), func(id queue.ChangeID) bool { return slices.Contains(c.s.Main.Split, id) })
	}
	in := split(chain[0])
	switch {
	case c.shut(), c.tainted(chain[0]), c.tainted(l), in != split(l), len(c.accusers()) > 0:
		return false
	case !in:
		return true
	}
	n, all := len(l.Changes()), 0
	for _, x := range chain {
		n += len(x.Changes())
	}
	for _, id := range c.s.Main.Split {
		if ch := c.s.Changes[id]; ch != nil && !ch.Phase.Final() {
			all++
		}
	}
	most := (all + 1) / 2
	if part := c.s.Main.Part; part > 0 {
		most = min(most, part)
	}
	return n <= most
}

// tainted reports whether a link holds a change that was refused alone.
func (c *landing) tainted(l *queue.Link) bool {
	return slices.ContainsFunc(l.Changes(), func(id queue.ChangeID) bool { return c.refusals(id) > 0 })
}

// refusals is how often a change has been refused alone.
func (c *landing) refusals(id queue.ChangeID) int {
	if ch := c.s.Changes[id]; ch != nil && ch.Refused != nil {
		return ch.Refused.Times
	}
	return 0
}

// replace puts a change that was refused alone behind the changes that are in the order
// now: it holds up no change that might land before it.
func (c *landing) replace(ch *queue.Change) {
	if ch.Refused == nil {
		return
	}
	r := *ch.Refused
	r.Back = c.facts.Now
	ch.Refused = &r
	if ch.Virtual != 0 {
		ch.Virtual, ch.Lead = max(ch.Virtual, c.virtual(ch)), 0
		c.facts.Order.StaleAll()
	}
	c.touchChange(ch)
}
