package speculation

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// How long what nobody needs is kept.
const (
	keepVerdict = 24 * time.Hour
	keepPull    = 7 * 24 * time.Hour
	keepPass    = 10 * time.Minute // then the archive has it
)

// tidy removes what no future can need: links that do not start from main,
// ledger entries that no link has, changes long decided. It runs in turns
// after which something may be left over.
func (c *Core) tidy() {
	if !c.sweep {
		return
	}
	c.tidyChanges()
	used := c.tidyLinks()
	c.tidyLedger(used)
}

func (c *Core) tidyChanges() {
	oldest := c.s.Main.Line.Seq // place on the line where the chain of some link begins
	for _, l := range c.s.Links {
		if ch := c.s.Changes[l.Change]; ch != nil && !ch.Phase.Final() && l.Since.Epoch == c.s.Main.Line.Epoch {
			oldest = min(oldest, l.Since.Seq)
		}
	}
	for id := range c.s.Footprints {
		ch := c.s.Changes[id]
		if ch != nil && (!ch.Phase.Final() || ch.Phase == queue.Landed && ch.Line.Epoch == c.s.Main.Line.Epoch && ch.Line.Seq > oldest) {
			continue
		}
		delete(c.s.Footprints, id)
		c.touch(queue.KindFootprint, string(id))
		delete(c.verified, id)
		delete(c.assumed.by, id)
	}
	for _, id := range sorted(c.s.Beliefs) {
		if ch := c.s.Changes[id]; ch == nil || ch.Phase.Final() {
			delete(c.s.Beliefs, id)
			c.touch(queue.KindBelief, string(id))
			continue
		}
		for other := range c.s.Beliefs[id].Pairs {
			if ch := c.s.Changes[other]; ch == nil || ch.Phase.Final() && (ch.Phase != queue.Landed || c.s.Footprints[other] == nil) {
				delete(c.s.Beliefs[id].Pairs, other)
				c.touch(queue.KindBelief, string(id))
			}
		}
	}
	for _, id := range sorted(c.s.Changes) {
		if ch := c.s.Changes[id]; ch.Phase.Final() && c.now.Sub(ch.Decided) > keepVerdict {
			delete(c.s.Changes, id)
			c.touchChange(ch)
		}
	}
	for _, n := range sorted(c.s.Pulls) {
		if p := c.s.Pulls[n]; p.Active == "" && c.now.Sub(p.At) > keepPull {
			delete(c.s.Pulls, n)
			delete(c.told, n)
			c.touchPull(p)
		}
	}
}

// tidyLinks keeps the links that lie on a chain from main (or from where it is
// about to be) of changes without a verdict, and those that builds run on. It
// returns the ids of the keys and step sets in use.
func (c *Core) tidyLinks() map[queue.Digest]bool {
	byParent := map[queue.CommitID][]*queue.Link{}
	for _, l := range c.s.Links {
		byParent[l.Parent] = append(byParent[l.Parent], l)
	}
	keep := map[queue.LinkID]bool{c.s.Main.Root: true}
	for _, b := range c.s.Builds {
		keep[b.Link] = true
	}
	for _, l := range c.evidence() {
		keep[l] = true
	}
	reach := []queue.CommitID{c.s.Main.Tip}
	seen := map[queue.CommitID]bool{c.s.Main.Tip: true}
	for len(reach) > 0 {
		at := reach[0]
		reach = reach[1:]
		for _, l := range byParent[at] {
			ch := c.s.Changes[l.Change]
			if ch == nil || ch.Phase.Final() {
				continue
			}
			keep[l.ID] = true
			if l.Commit != "" && !seen[l.Commit] {
				seen[l.Commit] = true
				reach = append(reach, l.Commit)
			}
		}
	}
	c.keepPaths(keep)
	used := make(map[queue.Digest]bool, len(c.s.Ledger)+len(c.s.Steps))
	for id, l := range c.s.Links {
		if !keep[id] {
			c.unassume(l)
			if c.assumed.commit[l.Commit] == l {
				delete(c.assumed.commit, l.Commit)
			}
			delete(c.s.Links, id)
			delete(c.keyIDs, id)
			c.touch(queue.KindLink, string(id))
			continue
		}
		if slices.ContainsFunc(l.Chain, func(x queue.ChangeID) bool { return c.s.Footprints[x] == nil }) {
			c.unassume(l) // what was assumed there is not known any more
		}
		used[l.Steps] = true
		for _, k := range c.ids(id) {
			used[k] = true
		}
	}
	for _, id := range sorted(c.s.Steps) {
		if !used[id] {
			delete(c.s.Steps, id)
			delete(c.stepSets, id)
			c.touch(queue.KindSteps, string(id))
		}
	}
	c.noteVerified()
	return used
}

// evidence returns the links of rejected changes that are kept: what failed,
// while that counts, so that a retry can discard it.
func (c *Core) evidence() []queue.LinkID {
	var out []queue.LinkID
	for id, l := range c.s.Links {
		if ch := c.s.Changes[l.Change]; ch != nil && ch.Phase == queue.Rejected {
			if v := ch.Verdict; v != nil && l.Commit != "" && l.Commit == v.Commit && c.now.Sub(ch.Decided) < queue.FailureExpiry {
				out = append(out, id)
			}
		}
	}
	return out
}

// maxPaths bounds the paths of a change beyond main's reach that are kept for
// what they tell of its targets.
const maxPaths = 12

// keepPaths keeps the latest paths of each change without a verdict that can
// still tell something of its targets: nobody on them has been turned down.
func (c *Core) keepPaths(keep map[queue.LinkID]bool) {
	of := map[queue.ChangeID][]*queue.Link{}
	for _, l := range c.s.Links {
		ch := c.s.Changes[l.Change]
		if ch == nil || ch.Phase.Final() || l.Since.Epoch != c.s.Main.Line.Epoch {
			continue
		}
		if !slices.ContainsFunc(l.Chain, func(id queue.ChangeID) bool { return c.s.Footprints[id] == nil || c.turnedDown(id) }) {
			of[l.Change] = append(of[l.Change], l)
		}
	}
	for _, links := range of {
		slices.SortFunc(links, func(a, b *queue.Link) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID)) })
		for _, l := range links[:min(len(links), maxPaths)] {
			keep[l.ID] = true
		}
	}
}

func (c *Core) turnedDown(id queue.ChangeID) bool {
	ch := c.s.Changes[id]
	return ch == nil || ch.Phase.Final() && ch.Phase != queue.Landed
}

func (c *Core) tidyLedger(used map[queue.Digest]bool) {
	for id, e := range c.s.Ledger {
		wanted := used[id]
		if len(e.Keys) > 1 {
			wanted = slices.ContainsFunc(e.Keys, func(k queue.Key) bool { return used[k.ID()] })
		}
		if wanted || e.Passed != 0 && c.now.Sub(e.Passed) < keepPass || e.Passed == 0 && e.Expires(c.now) != 0 {
			continue
		}
		c.dropEntry(id)
	}
}
