package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// between returns the changes that a landing commit stands on and that the latest
// of its change's own passing builds did not have below it. They share nothing
// with what was built, or the keys would be others.
func (c *Core) between(ch *queue.Change, l *queue.Link) []queue.ChangeID {
	var built *queue.Link
	var at queue.Instant
	for _, f := range c.info(l).facts {
		if e := f.entry; e != nil && e.Change == ch.ID && e.Passed > at {
			if x := c.linkTo(e.Commit); x != nil {
				built, at = x, e.Passed
			}
		}
	}
	if built == nil || built == l || built.Since.Epoch != l.Since.Epoch {
		return nil
	}
	had := map[queue.ChangeID]bool{ch.ID: true}
	for _, id := range c.standsOn(built) {
		had[id] = true
	}
	return slices.DeleteFunc(c.standsOn(l), func(id queue.ChangeID) bool { return had[id] })
}

// standsOn returns the changes below a link since main's line began to be ours.
func (c *Core) standsOn(l *queue.Link) []queue.ChangeID {
	return append(slices.Clone(c.assumed.line[:min(l.Since.Seq, len(c.assumed.line))]), l.Chain...)
}
