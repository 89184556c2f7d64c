package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// For a pull request in the queue, all is known that there is to explain. If it is not
// in the queue yet, /land explain has it analyzed, as entering would, and says what
// would happen: the reason that keeps it out, the pending changes that it conflicts
// with, and whether it was rejected before as it is. Nothing is built, and no change waits for it.

// mostWould bounds the conflicts that are listed.
const mostWould = 10

// explainTo answers /land explain.
func (c *entering) explainTo(r *queue.Request, b queue.Inspected) {
	if c.facts.Links.Active(r.Number) != nil {
		c.answer(r, queue.Reason{Code: queue.ReasonExplain})
		c.react(r, true)
		return
	}
	now := b
	now.Requires = false // an explanation waits for nothing
	why := c.unmet(r.Number, now)
	if lacks := append(wanting(b, b.Vouched), c.toRestack(b)...); why.Code == "" && len(lacks) > 0 {
		why = queue.Reason{Code: queue.ReasonRequirements, Unmet: lacks}
	}
	switch why.Code {
	case "", queue.ReasonDraft, queue.ReasonRequirements:
	default:
		c.refuse(r, why) // there is nothing to be analyzed, or it must not be yet
		return
	}
	asks := *r
	asks.Command.Verb = queue.CommandTry // its analysis may run code that it holds
	if why := c.notAllowed(&asks, b); why.Code != "" {
		c.refuse(r, why)
		return
	}
	id := queue.NewChangeID(r.Number, b.Head, r.ID)
	if c.s.Changes[id] != nil || c.settling.tryOf(r.Number) != nil {
		c.accept(r)
		return
	}
	ch := &queue.Change{
		ID: id, Number: r.Number, Head: b.Head, HeadRef: b.HeadRef, Branch: b.Branch, Title: b.Title, Author: b.Author,
		Requester: r.User, URL: b.URL, Arrival: r.At,
		On: c.s.Main.Tip, Would: &queue.Would{Unmet: why, Auto: c.rulings(r.Number, b)},
	}
	if i := slices.IndexFunc(b.Unmet, func(q queue.Requirement) bool { return q.Kind == queue.RequireMerge }); i >= 0 && why.Code == "" {
		ch.Would.Clashes = b.Unmet[i].Names
	}
	ch.Would.Already = b.Already && why.Code == ""
	method, _ := c.MethodOf(r)
	c.move(ch, queue.Trying, queue.Reason{Code: queue.ReasonAnalyzing})
	c.settling.asItWouldLand(ch, method, b)
	c.s.Changes[id] = ch
	c.touchChange(ch)
	c.pull(r.Number).Try = id
	c.upkeep.ask(c.settling.analysis(ch))
	c.accept(r)
}

// explainAll has all changes that are to be explained analyzed, whatever they have
// waited for.
func (c *entering) explainAll() {
	for _, ch := range c.facts.Tries() {
		if ch.Would != nil && c.analyzing[ch.ID] == 0 {
			c.upkeep.ask(c.settling.analysis(ch))
		}
	}
}

// explained ends the explanation of a change, now that its footprint is known.
func (c *entering) explained(ch *queue.Change, f queue.Footprint) {
	w := *ch.Would
	c.landing.sortOrder()
	c.facts.Order.Index.Put(ch.ID, f)
	w.Conflicts = c.facts.Order.Index.Conflicts(ch.ID)
	c.facts.Order.Index.Remove(ch.ID)
	w.Conflicts = slices.DeleteFunc(slices.Clone(w.Conflicts), func(k queue.Conflict) bool {
		_, pending := c.facts.Order.Rank[k.With]
		return !pending
	})
	slices.SortStableFunc(w.Conflicts, func(a, b queue.Conflict) int { return c.facts.Order.Rank[a.With] - c.facts.Order.Rank[b.With] })
	if n := len(w.Conflicts); n > mostWould {
		w.Conflicts, w.More = w.Conflicts[:mostWould], n-mostWould
	}
	w.Pending, w.Failed = len(c.facts.Order.IDs), c.failedBefore(ch.Head)
	ch.Would, ch.Touches = &w, c.settling.touches(&f)
	c.settling.endTry(ch, queue.Tried, queue.Reason{Code: queue.ReasonExplained}, nil)
}

// failedBefore returns the steps with the failures that a change with this head was rejected
// for last, while failures of that time may count.
func (c *entering) failedBefore(head queue.CommitID) []string {
	var last *queue.Change
	for _, id := range derived.SortedIf(c.s.Changes, func(_ queue.ChangeID, ch *queue.Change) bool {
		return ch.Head == head && ch.Phase == queue.Rejected && ch.Reason.Code == queue.ReasonFailed && c.facts.Now.Sub(ch.Decided) < queue.FailureExpiry
	}) {
		if ch := c.s.Changes[id]; last == nil || ch.Decided > last.Decided {
			last = ch
		}
	}
	if last == nil {
		return nil
	}
	return last.Reason.Names
}
