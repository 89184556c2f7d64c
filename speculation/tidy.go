package speculation

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// How long what nobody needs is kept.
const (
	keepVerdict   = 24 * time.Hour
	keepFootprint = 2 * time.Hour // of what has landed: what arrives later may break with it
	keepPull      = 7 * 24 * time.Hour
	keepPass      = 10 * time.Minute // then the archive has it
)

// tidy removes what no future can need: links of changes that have a verdict or
// that have many newer ones, ledger entries that no link has, changes long
// decided. It looks at the changes that this turn has given new links or a
// verdict, and at all of them where links may rest on a change that is gone.
func (c *Core) tidy() {
	if c.sweep {
		c.tidyChanges()
	}
	if c.tidyAll {
		for id := range c.linksOf {
			c.untidy[id] = true
		}
	}
	if len(c.turned) > 0 && !c.tidyAll {
		for l := range c.links {
			if slices.ContainsFunc(c.turned, func(id queue.ChangeID) bool { return slices.Contains(l.Chain, id) }) {
				c.untidy[l.Change] = true
			}
		}
	}
	if !c.sweep && len(c.untidy) == 0 {
		return
	}
	for _, id := range sorted(c.untidy) { // what one keeps depends on what others have kept
		c.tidyLinks(id)
	}
	if c.sweep {
		c.tidySteps()
		c.tidyLedger()
	}
}

func (c *Core) tidyChanges() {
	oldest := c.s.Main.Line.Seq // place on the line where the chain of some link begins
	for l, i := range c.links {
		if i.change != nil && !i.change.Phase.Final() && l.Since.Epoch == c.s.Main.Line.Epoch {
			oldest = min(oldest, l.Since.Seq)
		}
	}
	for id := range c.s.Footprints {
		ch := c.s.Changes[id]
		if ch != nil && (!ch.Phase.Final() || c.assumedBy[id] > 0 || ch.Phase == queue.Landed && ch.Line.Epoch == c.s.Main.Line.Epoch &&
			(ch.Line.Seq > oldest || c.now.Sub(ch.Decided) <= keepFootprint)) {
			continue
		}
		delete(c.s.Footprints, id)
		c.touch(queue.KindFootprint, string(id))
		delete(c.verified, id)
		delete(c.assumed.by, id)
		delete(c.assumed.seen, id)
		c.untidy[id] = true
		c.decisions++
	}
	for id := range c.s.Beliefs {
		if ch := c.s.Changes[id]; ch == nil || ch.Phase.Final() {
			delete(c.s.Beliefs, id)
			c.touch(queue.KindBelief, string(id))
			continue
		}
		for other := range c.s.Beliefs[id].Pairs {
			if ch := c.s.Changes[other]; ch == nil || ch.Phase.Final() && (ch.Phase != queue.Landed || c.s.Footprints[other] == nil) {
				delete(c.s.Beliefs[id].Pairs, other)
				c.touch(queue.KindBelief, string(id))
				c.rethink(id)
			}
		}
	}
	for id, ch := range c.s.Changes {
		if ch.Phase.Final() && c.now.Sub(ch.Decided) > keepVerdict {
			delete(c.s.Changes, id)
			c.touchChange(ch)
			c.untidy[id] = true
			for _, n := range c.nodes {
				n.fair = false
			}
		}
	}
	for n, p := range c.s.Pulls {
		if p.Active == "" && c.now.Sub(p.At) > keepPull {
			delete(c.s.Pulls, n)
			delete(c.told, n)
			c.touchPull(p)
		}
	}
}

// Of the paths of a change that do not stand where main is, the latest are
// kept, and of a wide change, which is verified bit by bit, older ones that alone
// tell that a target has passed.
const (
	wide      = 256 // keys
	maxPaths  = 12
	maxProofs = 64 // of both together
)

// tidyLinks keeps of a change without a verdict the links that lie on a chain
// from main, and the latest others that can still tell something of its
// targets: nobody on them has been turned down. Of any change it keeps those
// that builds run on, and of a rejected one what has failed, while that counts,
// so that a retry can discard it.
func (c *Core) tidyLinks(id queue.ChangeID) {
	ch := c.s.Changes[id]
	var good []*queue.Link
	for l := range c.linksOf[id] {
		if c.s.Footprints[id] == nil || slices.ContainsFunc(l.Chain, func(x queue.ChangeID) bool { return c.s.Footprints[x] == nil }) {
			c.unassume(l) // what was assumed there is not known any more
		}
		switch {
		case l.ID == c.s.Main.Root || c.evidence(ch, l):
		case ch == nil || ch.Phase.Final() || id == "" || !c.stands(l):
			if !c.builtOn(l) {
				c.dropLink(l)
			}
		case !c.reached(l):
			good = append(good, l)
		}
	}
	if len(good) <= maxPaths {
		return
	}
	slices.SortFunc(good, func(a, b *queue.Link) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID)) })
	kept := maxPaths
	for _, l := range good[maxPaths:] {
		switch {
		case c.builtOn(l):
		case kept < maxProofs && len(l.Keys) >= wide && c.proves(l):
			kept++
		default:
			c.dropLink(l)
		}
	}
}

func (c *Core) dropLink(l *queue.Link) {
	c.forgetLink(l)
	delete(c.s.Links, l.ID)
	c.touch(queue.KindLink, string(l.ID))
}

func (c *Core) builtOn(l *queue.Link) bool {
	return slices.ContainsFunc(c.building, func(b *liveBuild) bool { return b.Link == l.ID })
}

// proves reports whether a link alone tells that some target has passed.
func (c *Core) proves(l *queue.Link) bool {
	return slices.ContainsFunc(c.info(l).sources, func(s source) bool {
		return s.known.status == verified && len(s.known.from) == 1
	})
}

// stands reports whether what a link was made on can still come, or has.
func (c *Core) stands(l *queue.Link) bool {
	return l.Since.Epoch == c.s.Main.Line.Epoch && !slices.ContainsFunc(l.Chain, func(id queue.ChangeID) bool {
		return c.s.Footprints[id] == nil || c.turnedDown(id)
	})
}

// reached reports whether a link lies on a chain that begins at main's tip.
func (c *Core) reached(l *queue.Link) bool {
	gap := c.s.Main.Line.Seq - l.Since.Seq
	if gap > len(l.Chain) {
		return false
	}
	return slices.Equal(l.Chain[:gap], c.assumed.line[l.Since.Seq:c.s.Main.Line.Seq])
}

func (c *Core) evidence(ch *queue.Change, l *queue.Link) bool {
	return ch != nil && ch.Phase == queue.Rejected && ch.Verdict != nil && l.Commit != "" && l.Commit == ch.Verdict.Commit &&
		c.now.Sub(ch.Decided) < queue.FailureExpiry
}

func (c *Core) turnedDown(id queue.ChangeID) bool {
	ch := c.s.Changes[id]
	return ch == nil || ch.Phase.Final() && ch.Phase != queue.Landed
}

func (c *Core) tidySteps() {
	if len(c.s.Steps) < 2 {
		return
	}
	used := map[queue.Digest]bool{}
	for l := range c.links {
		used[l.Steps] = true
	}
	for _, id := range sorted(c.s.Steps) {
		if !used[id] {
			delete(c.s.Steps, id)
			delete(c.stepSets, id)
			c.touch(queue.KindSteps, string(id))
		}
	}
}

// tidyLedger drops what is not in use, unless it may be soon: passes for a
// while, and failures as long as they count.
func (c *Core) tidyLedger() {
	for id := range c.spare {
		e := c.s.Ledger[id]
		switch {
		case e == nil, len(e.Keys) == 1 && c.facts[id] != nil:
			delete(c.spare, id)
			continue
		case len(e.Keys) > 1 && slices.ContainsFunc(e.Keys, func(k queue.Key) bool { return c.facts[k.ID()] != nil }):
			continue
		}
		if e.Passed != 0 && c.now.Sub(e.Passed) < keepPass || e.Passed == 0 && e.Expires(c.now) != 0 {
			continue
		}
		c.dropEntry(id)
	}
}
