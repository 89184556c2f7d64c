package speculation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// partners returns the landed changes that break a link's failed keys together with its
// change. An earlier link of the change without them has passed these keys, and main
// passes them without the change. Each partner affects a failed target. Of several links
// that have passed the keys, the one counts that the fewest changes have landed after.
// partners returns none where that is not known, or where they are more than
// queue.MostPartners.
func (c *settling) partners(l *queue.Link, e *queue.Entry) []queue.ChangeID {
	var best []queue.ChangeID
	if l.Change == "" || len(l.With) > 0 {
		return nil
	}
	byID := func(a, b *queue.Link) int { return cmp.Compare(a.ID, b.ID) }
	for _, old := range slices.SortedFunc(maps.Keys(c.facts.Links.LinksOf[l.Change]), byID) {
		if old == l || !c.passedAll(old, e.Keys) {
			continue
		}
		if with, known := c.landedAfter(old, e.Keys); known && len(with) > 0 && (best == nil || len(with) < len(best)) {
			best = with
		}
	}
	if len(best) > queue.MostPartners {
		return nil
	}
	return best
}

// passedAll reports whether a link has passed the step and target of each key.
func (c *settling) passedAll(l *queue.Link, keys []queue.Key) bool {
	facts := c.facts.Links.Info(l).Facts
	return !slices.ContainsFunc(keys, func(k queue.Key) bool {
		at := slices.IndexFunc(l.Keys, func(x queue.Key) bool { return x.Step == k.Step && x.Target == k.Target })
		return at < 0 || !facts[at].Passed()
	})
}

// landedAfter returns the changes on main that are not below a link and affect a target of
// the keys, in order. known is false if a change below the link is not on main, or if the
// targets of a landed change are forgotten.
func (c *settling) landedAfter(l *queue.Link, keys []queue.Key) (out []queue.ChangeID, known bool) {
	line := c.facts.Futures.Assumed.Line
	if l.Since.Epoch != c.s.Main.Line.Epoch || l.Since.Seq > len(line) {
		return nil, false
	}
	since := line[l.Since.Seq:]
	for _, id := range l.Chain {
		if !slices.Contains(since, id) {
			return nil, false
		}
	}
	for _, id := range since {
		x := c.facts.Futures.AffectedBy(id)
		if x == nil {
			return nil, false
		}
		if slices.Contains(l.Chain, id) {
			continue
		}
		if x.All || slices.ContainsFunc(keys, func(k queue.Key) bool {
			t, ok := c.facts.Futures.Assumed.Numbers[k.Target]
			return ok && x.Touches(t)
		}) {
			out = append(out, id)
		}
	}
	return out, true
}
