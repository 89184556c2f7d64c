package speculation

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// The time for which unneeded records are kept.
const (
	keepVerdict   = 24 * time.Hour
	keepFootprint = 2 * time.Hour // of landed changes: a change that arrives later may break with them
	keepPull      = 7 * 24 * time.Hour
	keepTrust     = 90 * 24 * time.Hour  // of pull requests that are delegated to somebody
	keepPass      = 10 * time.Minute     // then the archive has it
	keepBench     = 7 * 24 * time.Hour   // of benched hosts that are away
	keepHistory   = 180 * 24 * time.Hour // of authors and directories without a change
)

// tidy removes what no future can need: links of changes that have a verdict or
// that have many newer ones, ledger entries that no link has, changes long
// decided. It looks at the changes that this turn has given new links or a
// verdict, and at all changes if links may rest on a change that is gone.
func (c *upkeep) tidy() {
	for _, id := range c.turned {
		c.facts.Futures.Disprove(id)
		c.facts.Links.Lose(id)
	}
	if c.facts.Links.HasLeft() {
		c.tidyChanges()
	}
	if c.tidyAll {
		for id := range c.facts.Links.LinksOf {
			c.facts.Links.Untidied(id)
		}
	}
	for _, id := range c.facts.Links.Untidy() { // which links one change keeps depends on those that others have kept
		c.tidyLinks(id)
	}
	if c.facts.Links.HasLeft() {
		c.hunting.tidyHunts()
		c.tidySteps()
		c.tidyLedger()
	}
}

func (c *upkeep) tidyChanges() {
	oldest := -1 // not known yet
	for _, id := range derived.SortedIf(c.s.Footprints, func(id queue.ChangeID, _ *queue.Footprint) bool {
		ch := c.s.Changes[id]
		switch {
		case ch == nil:
			return true
		case !ch.Phase.Final() || c.facts.Links.AssumedBy[id] > 0:
			return false
		case ch.Phase != queue.Landed || ch.Line.Epoch != c.s.Main.Line.Epoch:
			return true
		case c.facts.Now.Sub(ch.Decided) <= keepFootprint:
			return false
		}
		if oldest < 0 {
			oldest = c.oldest()
		}
		return ch.Line.Seq <= oldest
	}) {
		c.tidyAll = c.tidyAll || c.facts.Links.AssumedBy[id] > 0 // the links on top of it tell nothing any more
		delete(c.s.Footprints, id)
		c.touch(queue.KindFootprint, string(id))
		c.facts.Futures.Forget(id)
		c.facts.Links.Lose(id)
		c.facts.Links.Untidied(id)
		c.facts.Decided()
	}
	for id := range c.s.Beliefs {
		if ch := c.s.Changes[id]; ch == nil || ch.Phase.Final() {
			delete(c.s.Beliefs, id)
			c.touch(queue.KindBelief, string(id))
			continue
		}
		for _, other := range derived.SortedIf(c.s.Beliefs[id].Pairs, func(other queue.ChangeID, _ float64) bool {
			ch := c.s.Changes[other]
			return ch == nil || ch.Phase.Final() && (ch.Phase != queue.Landed || c.s.Footprints[other] == nil)
		}) { // rounding depends on the order
			c.forgetPair(c.s.Beliefs[id], other, c.s.Changes[other])
			c.touch(queue.KindBelief, string(id))
			c.facts.Beliefs.Rethink(id)
		}
	}
	c.blaming.forgetOutcomes()
	if c.facts.Now >= c.dated {
		c.tidyDated()
	}
}

// oldest is the first place on the line where the chain of some link begins.
func (c *upkeep) oldest() int {
	at := c.s.Main.Line.Seq
	for l, i := range c.facts.Links.Infos {
		if l.Since.Epoch == c.s.Main.Line.Epoch && (i.Change != nil && !i.Change.Phase.Final() || i.Tells()) {
			at = min(at, l.Since.Seq)
		}
	}
	return at
}

// tidyDated forgets what is kept for a time, and notes when the next of it is due.
func (c *upkeep) tidyDated() {
	c.dated = c.facts.Now.Add(keepVerdict) // nothing that is new until then is due before
	due := func(at queue.Instant, keep time.Duration) bool {
		if c.facts.Now.Sub(at) > keep {
			return true
		}
		c.dated = min(c.dated, at.Add(keep)+1)
		return false
	}
	forgotten := 0
	for _, id := range derived.SortedIf(c.s.Changes, func(_ queue.ChangeID, ch *queue.Change) bool {
		return ch.Phase.Final() && due(ch.Decided, keepVerdict)
	}) {
		ch := c.s.Changes[id]
		if ch.Phase == queue.Landed && ch.Line.Epoch == c.s.Main.Line.Epoch {
			forgotten = max(forgotten, ch.Line.Seq)
		}
		c.leaveShown(ch)
		delete(c.s.Changes, id)
		c.facts.Links.Lose(id)
		c.touchChange(ch)
		c.facts.Links.Untidied(id)
		c.facts.Beliefs.RethinkAll()
	}
	c.dropBefore(forgotten)
	c.tidyHistory(due)
	for n, p := range c.s.Pulls {
		switch {
		case !due(p.At, keepPull):
		case p.Active != "" || p.Try != "" || len(p.Trusted) > 0 && c.facts.Now.Sub(p.At) <= keepTrust || c.foot(p):
			c.dated = c.facts.Now // when its change is decided, and its delegations end, no time says
		default:
			delete(c.s.Pulls, n)
			delete(c.telling.told, n)
			c.touchPull(p)
		}
	}
}

// dropBefore drops the links with chains that begin before a place on the line, where a change has landed
// that is forgotten: which of their targets that one affects is not known any more. So they are those of
// changes that have waited for long.
func (c *upkeep) dropBefore(seq int) {
	if seq == 0 {
		return
	}
	for _, id := range derived.SortedIf(c.s.Links, func(_ queue.LinkID, l *queue.Link) bool {
		return l.Change != "" && l.Since.Seq < seq && l.Since.Epoch == c.s.Main.Line.Epoch &&
			!c.builtOn(l) && !c.evidence(c.s.Changes[l.Change], l) && !c.hunting.probed(l)
	}) {
		c.dropLink(c.s.Links[id])
	}
}

// foot reports whether a change still asks for the branch of a pull request that has landed: only
// the record of that one says that the queue's branch is meant (LandedBranch).
func (c *upkeep) foot(p *queue.Pull) bool {
	if !p.Landed || p.Branch == "" {
		return false
	}
	for _, ch := range c.facts.Open {
		if ch.Base == p.Branch {
			return true
		}
	}
	return false
}

// leaveShown leaves the comment of a pull request as it is when its change is
// forgotten: the answer to a command that the comment also shows is forgotten, too.
func (c *upkeep) leaveShown(ch *queue.Change) {
	p := c.s.Pulls[ch.Number]
	if p == nil || p.Notice.Code == "" || c.settling.shownOf(p) != ch {
		return
	}
	if digest.Of("facts1", c.telling.factsOf(p)) == p.Shown {
		p.Notice, p.NoticeTo = queue.Reason{}, ""
	}
	c.touchPull(p) // an answer that is not shown yet will be shown
}

// forgetPair forgets the chance of a pair. If the other change has landed and its
// footprint is forgotten, the possible fault of the pair, and its blame, pass to this
// change. If the other was turned down, there is no fault left.
func (c *upkeep) forgetPair(b *queue.Belief, other queue.ChangeID, ch *queue.Change) {
	if ch != nil && ch.Phase == queue.Landed {
		b.Good = derived.ClampChance(b.Good * (1 - b.Pairs[other]))
		takeOver(b, other)
	} else {
		b.Doubts = slices.DeleteFunc(b.Doubts, func(d queue.Doubt) bool { return d.Pair == other })
	}
	delete(b.Pairs, other)
	delete(b.Met, other)
}

// Of the paths of a change that do not begin at main's tip, the latest are kept. Of the
// others those are kept that are the only ones with a result of some target. A change
// is verified bit by bit, and most results of a path stay true when some changes on it
// are turned down.
const (
	maxPaths  = 12
	maxProofs = 64
)

// tidyLinks drops the links of a change that are of no use. For a change without a
// verdict it keeps the links on a chain from main, and others that can still tell
// something of its targets. For any change it keeps the links that builds run on. For a
// rejected change it keeps the failed links while the failures count, so that a retry
// can discard them.
func (c *upkeep) tidyLinks(id queue.ChangeID) {
	ch := c.s.Changes[id]
	var good []*queue.Link
	for l := range c.facts.Links.LinksOf[id] {
		if c.s.Footprints[id] == nil || c.facts.Links.Footing(l).Lost {
			c.facts.Futures.Unassume(l) // the assumptions of this link are no longer known
		}
		switch {
		case l.ID == c.s.Main.Root || l.ID == c.s.Main.Control || l.ID == c.s.Main.Watch || l == c.facts.NextRoot() || c.evidence(ch, l) || c.hunting.probed(l):
		case ch != nil && ch.Phase == queue.Trying && l.Parent == ch.On:
		case ch == nil || ch.Phase.Final() || id == "" || !c.counts(l):
			if !c.builtOn(l) {
				c.dropLink(l)
			}
		case !c.facts.Links.Reached(l):
			good = append(good, l)
		}
	}
	slices.SortFunc(good, func(a, b *queue.Link) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID)) })
	paths, proofs := 0, 0
	for _, l := range good {
		switch {
		case paths < maxPaths && !c.facts.Links.Footing(l).Down:
			paths++
		case c.builtOn(l):
		case proofs < maxProofs && c.proves(l):
			proofs++
		default:
			c.dropLink(l)
		}
	}
}

func (c *upkeep) dropLink(l *queue.Link) {
	c.facts.Links.ForgetLink(l)
	delete(c.s.Links, l.ID)
	c.touch(queue.KindLink, string(l.ID))
}

func (c *upkeep) builtOn(l *queue.Link) bool {
	return slices.ContainsFunc(c.facts.Builds.Building, func(b *derived.LiveBuild) bool { return b.Link == l.ID })
}

// proves reports whether a link is the only one with a result of some target.
func (c *upkeep) proves(l *queue.Link) bool {
	return slices.ContainsFunc(c.facts.Links.Info(l).Sources, func(s derived.Source) bool {
		return s.Known != nil && s.Known.Status != derived.Unknown && len(s.Known.From) == 1
	})
}

// counts reports whether it is still known which commits a link was made on.
func (c *upkeep) counts(l *queue.Link) bool {
	return l.Since.Epoch == c.s.Main.Line.Epoch && !c.facts.Links.Footing(l).Lost
}

func (c *upkeep) evidence(ch *queue.Change, l *queue.Link) bool {
	return ch != nil && (ch.Phase == queue.Rejected || ch.Phase == queue.Tried) && ch.Verdict != nil && l.Commit != "" && l.Commit == ch.Verdict.Commit &&
		c.facts.Now.Sub(ch.Decided) < queue.FailureExpiry
}

func (c *upkeep) tidySteps() {
	if len(c.s.Steps) < 2 {
		return
	}
	used := map[queue.Digest]bool{}
	for l := range c.facts.Links.Infos {
		used[l.Steps] = true
		for _, p := range l.Parts {
			used[p.Steps] = true
		}
	}
	for _, h := range c.s.Hunts {
		for _, x := range h.Line {
			used[x.Steps] = used[x.Steps] || h.Over == 0
		}
	}
	for _, id := range derived.Sorted(c.s.Steps) {
		if !used[id] {
			delete(c.s.Steps, id)
			c.facts.ForgetSteps(id)
			c.touch(queue.KindSteps, string(id))
		}
	}
}

// tidyLedger drops entries that are not in use. It keeps passes for a while, since they
// may soon be used again, and failures as long as they count.
func (c *upkeep) tidyLedger() {
	for id := range c.facts.Ledger.Spare() {
		e := c.s.Ledger[id]
		switch {
		case e == nil, !e.IsSet() && c.facts.Ledger.Keys[id] != nil:
			c.facts.Ledger.InUse(id)
			continue
		case e.IsSet() && slices.ContainsFunc(e.Keys, func(k queue.Key) bool { return c.facts.Ledger.Keys[k.ID()] != nil }):
			continue
		}
		until := e.Good().Add(keepPass)
		if e.Passed == 0 {
			until = e.Expires(c.facts.Now) // 0 if it has expired
		}
		if until > c.facts.Now {
			c.facts.Ledger.Keep(id, until)
			continue
		}
		c.judging.dropEntry(id)
	}
}
