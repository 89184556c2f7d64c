package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// known is what is known of an assumption key: the keys behind it, as the links
// that have it say, the latest first. Where footprints are right they agree.
type known struct {
	mark   mark
	target int
	from   []*source
	agreed bool           // all of them have the same keys; not set again when they come to
	status status         // verified where by one of them every key has passed; else as the latest has it
	asked  bool           // busy and idle are up to date
	busy   []*queue.Build // live builds that verify some of its open keys
	idle   bool           // some open key is verified by none
}

// source is one target of a link: the keys that the link has of it.
type source struct {
	link   *queue.Link
	of     queue.ChangeID // one of the link's
	known  *known         // nil: somebody below who affects the target has been turned down, so it will never be like this
	target int
	place  int     // among the targets of that change
	facts  []*fact // of its keys
}

// sighting counts, for each target of a change, its paths where that has passed.
type sighting struct {
	passed []int
	left   int // targets that have passed on no path
}

// add takes in a source, in an order that does not depend on when they came. To
// hear again what is known is no news.
func (c *Core) add(s *source) {
	k := s.known
	first, at := len(k.from) == 0, 0
	if !first && k.from[0].link.At >= s.link.At {
		at, _ = slices.BinarySearchFunc(k.from, s, func(a, b *source) int {
			return cmp.Or(cmp.Compare(b.link.At, a.link.At), cmp.Compare(a.link.ID, b.link.ID), cmp.Compare(a.of, b.of))
		})
	}
	k.agreed = first || k.agreed && slices.Equal(s.facts, k.from[0].facts)
	k.from = slices.Insert(k.from, at, s)
	for _, f := range s.facts {
		f.bear(k, 1)
	}
	if k.status == verified {
		c.sight(s, 1)
	}
	if first || !k.agreed {
		c.refresh(k)
		c.stir(s.target)
	}
}

// remove gives a source up.
func (c *Core) remove(s *source) {
	k := s.known
	for _, f := range s.facts {
		f.bear(k, -1)
	}
	if k.status == verified {
		c.sight(s, -1)
	}
	at := slices.Index(k.from, s)
	k.from = slices.Delete(k.from, at, at+1)
	last := len(k.from) == 0
	if last {
		delete(c.assumed.known, k.mark)
	}
	if last || !k.agreed {
		c.refresh(k)
		c.stir(s.target)
	}
	s.known = nil
}

// disprove forgets what links told of targets that one affects who has been turned
// down and is in them or below.
func (c *Core) disprove(id queue.ChangeID) {
	x := c.affectedBy(id)
	if x == nil {
		return
	}
	for l, i := range c.links {
		if l.Change != id && !slices.Contains(l.With, id) && !slices.Contains(l.Chain, id) {
			continue
		}
		for j := range i.sources {
			if s := &i.sources[j]; s.known != nil && x.touches(s.target) {
				c.remove(s)
			}
		}
		for _, of := range linksTo(l) {
			c.untidy[of] = true
		}
	}
}

// refresh brings the status of an assumption key up to date.
func (c *Core) refresh(k *known) {
	st := unknown
	for i, s := range k.from {
		got := s.judge()
		if i == 0 || got == verified {
			st = got
		}
		if got == verified || k.agreed {
			break
		}
	}
	was := k.status
	if k.asked = false; st == was {
		return
	}
	k.status = st
	c.news++
	for _, s := range k.from {
		switch {
		case st == verified:
			c.sight(s, 1)
		case was == verified:
			c.sight(s, -1)
		}
	}
}

// judge says what is known of the keys behind one source.
func (s *source) judge() status {
	st := verified
	for _, f := range s.facts {
		switch {
		case f.passed():
		case f.decisive:
			return failed
		default:
			st = unknown
		}
	}
	return st
}

// sight counts a path of a change where one of its targets has passed, or no
// longer has. While a new footprint waits to be taken in, sources and targets do
// not belong together, and all is counted again afterwards.
func (c *Core) sight(s *source, by int) {
	if c.assumed.stale {
		return
	}
	id := s.of
	x := c.affectedBy(id)
	if x == nil {
		return
	}
	got := c.assumed.seen[id]
	if got == nil {
		got = &sighting{passed: make([]int, len(x.targets)), left: len(x.targets)}
		c.assumed.seen[id] = got
	}
	before := got.passed[s.place] > 0
	got.passed[s.place] += by
	if after := got.passed[s.place] > 0; after != before {
		if got.left++; after {
			got.left -= 2
		}
		c.noteVerified(id)
	}
}

// noteVerified remembers whether a change may be landable: each of its targets
// has passed on some path.
func (c *Core) noteVerified(id queue.ChangeID) {
	ch, x := c.s.Changes[id], c.affectedBy(id)
	if ch == nil || x == nil || !inOrder(ch) {
		delete(c.verified, id)
		return
	}
	left := len(x.targets)
	if s := c.assumed.seen[id]; s != nil {
		left = s.left
	}
	if left == 0 {
		c.verified[id] = true
	} else {
		delete(c.verified, id)
	}
}

// unassume forgets what a link told.
func (c *Core) unassume(l *queue.Link) {
	i := c.links[l]
	if i == nil {
		return
	}
	for j := range i.sources {
		if s := &i.sources[j]; s.known != nil {
			c.remove(s)
		}
	}
	i.sources = nil
}

// look says what is known of an assumption key: unknown with no source where
// nothing is.
func (c *Core) look(m mark) (status, *known) {
	k := c.assumed.known[m]
	if k == nil {
		return unknown, nil
	}
	return k.status, k
}

// work says which live builds verify the open keys of what is not known yet,
// and whether some key is left.
func (k *known) work() (busy []*queue.Build, idle bool) {
	if k.asked {
		return k.busy, k.idle
	}
	k.asked, k.busy, k.idle = true, nil, false
	for _, f := range k.from[0].facts {
		switch {
		case f.passed():
		case f.build == nil:
			k.idle = true
		case !slices.Contains(k.busy, f.build):
			k.busy = append(k.busy, f.build)
		}
	}
	return k.busy, k.idle
}
