package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Changes that touch a common path and share no target may still fail to merge.
// Until git has been asked they count as in conflict. Of each such pair the later
// change asks and lands only after the answer. It is then no longer in conflict with
// the changes that it merges with, and goes behind the others. If two do not merge, the
// first that lands has the other turned down, and being quicker is no merit there.
//
// Say that a edits docs/intro.md and code that takes an hour to test, and b the
// same lines of docs/intro.md and nothing else. b waits for a; if a lands, b is
// told that it does not merge with a, and if a fails, b lands.

// maxMeetings bounds the pairs that one change has git asked about: beyond it
// they count as in conflict.
const maxMeetings = 50

// askPairs asks about the pairs of the changes that are marked.
func (c *settling) askPairs() {
	if len(c.unasked) == 0 || c.s.Main.Tip == "" {
		return
	}
	for _, id := range derived.Sorted(c.unasked) {
		if ch := c.s.Changes[id]; ch != nil && ch.Phase == queue.Landing {
			continue // its push may be lost; the change then stands in the order again
		}
		delete(c.unasked, id)
		c.askPairsOf(c.s.Changes[id])
	}
}

func (c *settling) askPairsOf(ch *queue.Change) {
	if ch == nil || ch.Phase != queue.Pending || c.asking[ch.ID] {
		return
	}
	f := c.s.Footprints[ch.ID]
	if f == nil {
		return
	}
	task := queue.Meet{Change: ch.ID, Main: c.s.Main.Tip, Pick: pickOf(ch)}
	room := maxMeetings - len(c.undecided(f.Merges)) - len(c.undecided(f.Clashes))
	// Pairs in conflict by a path alone come first: an answer may set them free. The
	// others stay in conflict, and people are told at once if they will not merge.
	pairs := c.facts.Order.Index.Textual(ch.ID)
	for _, id := range c.facts.Order.Index.Touching(ch.ID) {
		if !slices.Contains(pairs, id) {
			pairs = append(pairs, id)
		}
	}
	for _, id := range pairs {
		other := c.s.Changes[id]
		switch {
		case other.Arrival > ch.Arrival || other.Arrival == ch.Arrival && id > ch.ID:
			continue // the other asks
		case slices.Contains(f.Clashes, id):
			continue
		case len(task.With) < room:
			task.With = append(task.With, pickOf(other))
		}
	}
	if len(task.With) > 0 {
		c.upkeep.ask(task)
	}
}

// met takes in which other changes a change merges with.
func (c *settling) met(b queue.Met) {
	a := c.upkeep.done(b.Action)
	if a == nil {
		return
	}
	if t, ok := a.Task.(queue.Meet); ok {
		c.writePairs(t, b.Merges)
	}
}

func (c *settling) writePairs(t queue.Meet, merges []queue.ChangeID) {
	ch, old := c.s.Changes[t.Change], c.s.Footprints[t.Change]
	if ch == nil || ch.Phase.Final() || old == nil {
		return
	}
	f := *old
	f.Merges, f.Clashes = c.undecided(old.Merges), c.undecided(old.Clashes)
	for _, p := range t.With {
		if o := c.s.Changes[p.Change]; o == nil || o.Phase.Final() {
			continue
		}
		if slices.Contains(merges, p.Change) {
			f.Merges = append(f.Merges, p.Change)
		} else {
			f.Clashes = append(f.Clashes, p.Change)
			c.entering.yield(ch, c.s.Changes[p.Change], 1)
		}
	}
	if derived.InOrder(ch) {
		c.landing.leave(ch.ID)
	}
	c.s.Footprints[ch.ID] = &f
	c.touch(queue.KindFootprint, string(ch.ID))
	c.touchChange(ch)
	if derived.InOrder(ch) {
		c.landing.join(ch.ID, &f)
	}
}

// undecided returns the changes that have no verdict.
func (c *settling) undecided(ids []queue.ChangeID) []queue.ChangeID {
	var out []queue.ChangeID
	for _, id := range ids {
		if ch := c.s.Changes[id]; ch != nil && !ch.Phase.Final() {
			out = append(out, id)
		}
	}
	return out
}

// markPairs marks a change and the changes that touch a path in common with it: they
// may have pairs without an answer.
func (c *settling) markPairs(id queue.ChangeID, f *queue.Footprint) {
	if len(f.Edges) > 0 {
		c.markAllPairs()
	}
	if len(f.Paths) == 0 {
		return
	}
	c.unasked[id] = true
	for _, other := range c.facts.Order.Index.Touching(id) {
		c.unasked[other] = true
	}
}

// clashes marks a change's conflicts with changes that git could not merge with it,
// with the paths, and puts them first.
func (c *settling) clashes(id queue.ChangeID, conflicts []queue.Conflict) {
	for i, k := range conflicts {
		if c.clash(id, k.With) {
			conflicts[i].Kind, conflicts[i].Witnesses = queue.ConflictClash, c.facts.Order.Index.Common(id, k.With)
		}
	}
	slices.SortStableFunc(conflicts, func(a, b queue.Conflict) int {
		first := func(k queue.Conflict) bool { return k.Kind == queue.ConflictClash }
		switch {
		case first(a) == first(b):
			return 0
		case first(a):
			return -1
		}
		return 1
	})
}

// clash reports whether git has not been able to merge two changes.
func (c *settling) clash(a, b queue.ChangeID) bool {
	has := func(a, b queue.ChangeID) bool {
		f := c.s.Footprints[a]
		return f != nil && slices.Contains(f.Clashes, b)
	}
	return has(a, b) || has(b, a)
}

func (c *settling) markAllPairs() {
	for id := range c.facts.Open {
		if f := c.s.Footprints[id]; f != nil && len(f.Paths) > 0 {
			c.unasked[id] = true
		}
	}
}

// mayPass reports whether a change may land before the changes ahead of it that a train
// does not hold. It must merge with each of them, or its landing would have that one
// turned down.
func (c *settling) mayPass(id queue.ChangeID, in map[queue.ChangeID]bool) bool {
	if f := c.s.Footprints[id]; f == nil || len(f.Paths) == 0 {
		return true
	}
	return !slices.ContainsFunc(c.facts.Order.FirstAhead(id), func(a queue.ChangeID) bool { return !in[a] && c.facts.Order.Index.OnlyTextual(a, id) })
}

// landedOver returns landed changes that have touched one of the paths in which
// a change does not merge, the latest first, at most three. Changes that git has
// merged with it are not to blame.
func (c *settling) landedOver(ch queue.ChangeID, paths []string) []queue.ChangeID {
	var out, merges []queue.ChangeID
	if f := c.s.Footprints[ch]; f != nil {
		merges = f.Merges
	}
	for _, id := range slices.Backward(c.facts.Futures.Assumed.Line) {
		f := c.s.Footprints[id]
		if f == nil || len(f.Paths) == 0 || c.s.Changes[id] == nil || c.s.Changes[id].Phase != queue.Landed ||
			slices.Contains(f.Merges, ch) || slices.Contains(merges, id) {
			continue
		}
		if slices.ContainsFunc(paths, func(p string) bool { return index.PathsMeet(f.Paths, p) }) {
			if out = append(out, id); len(out) == 3 {
				break
			}
		}
	}
	return out
}
