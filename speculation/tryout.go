package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// A try builds a pull request on main, made as it would land (by the same method, with
// each commit on the way that landing would verify), and tells the outcome. It has no place in
// the order, is on no path and in no train, so no change waits for it and it cannot land. Its
// builds take free slots, and the caps on builds count them. Their passes count (the ledger
// knows no tries), so landing the same content later builds less.

// tryOut begins a try of a pull request at its present head.
func (c *settling) tryOut(r *queue.Request, b queue.Inspected) {
	b.Draft = false    // drafts may be tried
	b.Requires = false // a try waits for nothing
	if why := c.entering.unmet(r.Number, b); why.Code != "" {
		c.entering.refuse(r, why)
		return
	}
	if c.facts.Links.Active(r.Number) != nil {
		c.entering.refuse(r, queue.Reason{Code: queue.ReasonInQueue})
		return
	}
	id := queue.NewChangeID(r.Number, b.Head, r.ID)
	if c.s.Changes[id] != nil {
		c.entering.forget(r)
		return
	}
	method, _ := c.MethodOf(r)
	if old := c.tryOf(r.Number); old != nil {
		if old.Head == b.Head && old.Method == method && old.Would == nil {
			c.entering.askedAt(old, r, b)
			c.entering.accept(r)
			return
		}
		c.endTry(old, queue.Cancelled, queue.Reason{Code: queue.ReasonSuperseded, Names: []string{r.User}}, nil)
	}
	ch := &queue.Change{
		ID: id, Number: r.Number, Head: b.Head, HeadRef: b.HeadRef, Branch: b.Branch, Title: b.Title, Author: b.Author,
		Requester: r.User, Made: r.Made, URL: b.URL, Arrival: r.At,
		On: c.s.Main.Tip,
	}
	c.move(ch, queue.Trying, queue.Reason{Code: queue.ReasonTrying})
	c.asItWouldLand(ch, method, b)
	c.s.Changes[id] = ch
	c.touchChange(ch)
	c.pull(r.Number).Try = id
	c.note(queue.Note{Change: id, Number: r.Number, What: "try", Commit: b.Head, Reason: queue.Reason{Names: []string{r.User}}})
	c.entering.accept(r)
}

// asItWouldLand has a try made as landing would make it.
func (c *settling) asItWouldLand(ch *queue.Change, method config.Method, b queue.Inspected) {
	ch.Method, ch.Wording, ch.Below = method, b.Wording, b.Below
	ch.Approved, ch.Vouched = b.Approved, b.Vouched
	ch.Skip = c.facts.Rules().Intermediate == config.IntermediateSkip && method.ByCommit()
}

// tryOf returns the try of a pull request that is under way, or nil.
func (c *settling) tryOf(number int) *queue.Change {
	if p := c.s.Pulls[number]; p != nil {
		return c.s.Changes[p.Try]
	}
	return nil
}

// endTry ends a try: as Tried with its outcome, or as Cancelled.
func (c *settling) endTry(ch *queue.Change, phase queue.Phase, why queue.Reason, v *queue.Verdict) {
	if ch == nil || ch.Phase != queue.Trying {
		return
	}
	c.facts.Links.Left()
	c.facts.Links.Untidied(ch.ID)
	c.facts.Decided()
	c.move(ch, phase, why)
	ch.Decided, ch.Verdict = c.facts.Now, v
	c.touchChange(ch)
	if ch.Revert != "" {
		return // no pull request has it; the culprit's is told (revert.go)
	}
	p := c.pull(ch.Number)
	if p.Tried = ch.ID; p.Try == ch.ID {
		p.Try = ""
	}
	n := queue.Note{Change: ch.ID, Number: ch.Number, What: string(phase), Reason: why}
	if v != nil {
		n.Commit = v.Commit
	}
	if ch.Would != nil && phase == queue.Tried {
		n.What = "explained"
	}
	c.note(n)
}

// tryAgain forgets the failures that a try has shown and tries once more.
func (c *settling) tryAgain(r *queue.Request, b queue.Inspected, of queue.ChangeID) {
	c.entering.forgetFailures(of)
	c.tryOut(r, b)
}

// lastTry returns the latest try of a pull request that was not asked to land
// since.
func (c *settling) lastTry(number int) *queue.Change {
	p := c.s.Pulls[number]
	if p == nil {
		return nil
	}
	tried, last := c.s.Changes[p.Tried], c.s.Changes[p.Last]
	if tried == nil || last != nil && last.Decided > tried.Decided {
		return nil
	}
	return tried
}

// tryToRetry is lastTry if a retry is about it: it was built, and the pull request is
// not in the queue.
func (c *settling) tryToRetry(number int) *queue.Change {
	if try := c.lastTry(number); try != nil && try.Would == nil && c.facts.Links.Active(number) == nil {
		return try
	}
	return nil
}

// shownOf returns the change that a pull request's comment is about, or nil.
func (c *settling) shownOf(p *queue.Pull) *queue.Change {
	for _, id := range []queue.ChangeID{p.Active, p.Try} {
		if ch := c.s.Changes[id]; ch != nil {
			return ch
		}
	}
	if ch := c.lastTry(p.Number); ch != nil {
		return ch
	}
	return c.s.Changes[p.Last]
}

// tryLink returns the merge that a try is about. A merge that cannot be made any more
// because main has moved on is made on main as it is. A revert waits until it is known what is
// red there: that is to pass with it, too.
func (c *settling) tryLink(ch *queue.Change) *queue.Link {
	l := c.s.Links[queue.LinkOf(ch.On, ch.ID)]
	if m := &c.s.Main; l == nil && ch.On != m.Tip && (ch.Revert == "" || m.Surveyed == m.Tip) {
		ch.On = m.Tip
		c.touchChange(ch)
		l = c.s.Links[queue.LinkOf(ch.On, ch.ID)]
	}
	return l
}

// settleTries ends the tries with a known outcome.
func (c *settling) settleTries() {
	for _, ch := range c.facts.Tries() {
		if ch.Would != nil {
			continue // explained by its analysis
		}
		l := c.tryLink(ch)
		if l == nil {
			continue
		}
		switch st := c.facts.Links.State(l); st.Status {
		case derived.Conflicting:
			c.endTry(ch, queue.Tried, queue.Reason{Code: queue.ReasonMergeConflict, Names: l.Conflicts, Detail: l.Refused}, &queue.Verdict{Commit: l.Parent, Conflicts: l.Conflicts})
		case derived.Empty:
			c.endTry(ch, queue.Tried, queue.Reason{Code: queue.ReasonAlready}, &queue.Verdict{Commit: l.Parent})
		case derived.Verified:
			v := &queue.Verdict{Commit: l.Commit, Keys: len(l.Keys), Commits: commitsOf(l)}
			for _, f := range c.facts.Links.Info(l).Facts {
				switch {
				case f.Entry == nil:
				case f.Entry.Head:
					v.Heads++
				case f.Entry.Change != ch.ID:
					v.Reused++
				}
				v.Tested = v.Tested || f.Entry != nil && f.Entry.Commit == l.Commit
			}
			c.endTry(ch, queue.Tried, queue.Reason{Code: queue.ReasonTried}, v)
		case derived.Failed:
			c.failTry(ch, l, st)
		}
	}
}

func (c *settling) failTry(ch *queue.Change, l *queue.Link, st *derived.LinkState) {
	if m := c.s.Main; m.Surveyed != m.Tip {
		return // whether main is to blame is not known yet
	}
	own, red := c.blame(l, st.Broken)
	if own == nil {
		c.endTry(ch, queue.Tried, c.restsOnMain(red), nil)
		return
	}
	if own = slices.DeleteFunc(own, func(e *queue.Entry) bool { return !c.judging.mainCleared(l, e) }); len(own) == 0 {
		return
	}
	if ch.On != c.s.Main.Tip && slices.ContainsFunc(own, func(e *queue.Entry) bool {
		return !c.facts.Ledger.Decides(derived.Filtered(e, func(f queue.Failure) bool { return !f.Clouded }))
	}) {
		ch.On = c.s.Main.Tip // main was not proven when it failed, and is another one by now
		c.touchChange(ch)
		return
	}
	v := &queue.Verdict{Commit: l.Commit, Keys: len(l.Keys), Commits: commitsOf(l), Failures: c.failures(l, own)}
	var names []string
	for _, f := range v.Failures {
		names = append(names, f.Step)
	}
	slices.Sort(names)
	c.endTry(ch, queue.Tried, queue.Reason{Code: queue.ReasonFailed, Names: slices.Compact(names)}, v)
}
