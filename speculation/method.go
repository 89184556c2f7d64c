package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The way in which a change lands is fixed when it comes into the order: its method and the
// words of its commits, so that the same merge always makes the same commit. A command with
// another method makes another change, which stands where the old one stood and
// keeps its passes, since keys know no methods. The gate treats all links alike: it looks
// at the keys that a commit has and its parent has not.

// methodRefused says why a command may not use the method that it names, if so.
func (c *entering) methodRefused(r *queue.Request) queue.Reason {
	if r.Command.Method == "" || c.s.Main.Config == nil {
		return queue.Reason{}
	}
	if _, ok := c.facts.Rules().MethodFor(r.Command.Method); ok {
		return queue.Reason{}
	}
	names := []string{r.Command.Method}
	for _, m := range c.facts.Rules().Allowed() {
		names = append(names, string(m))
	}
	return queue.Reason{Code: queue.ReasonNoMethod, Names: names}
}

// MethodOf returns how the pull request of a request is to land, and whether it
// may: as the command says, or else, for a retry, as it was to land before.
func (c *Core) MethodOf(r *queue.Request) (config.Method, bool) {
	p := c.s.Pulls[r.Number]
	if r.Command.Verb == queue.CommandRetry && r.Command.Method == "" && p != nil {
		last := c.s.Changes[p.Last]
		if try := c.settling.tryToRetry(r.Number); try != nil {
			last = try
		}
		if last != nil {
			if m, ok := c.facts.Rules().MethodFor(cmp.Or(string(last.Method), string(config.MethodMerge))); ok {
				return m, true
			}
		}
	}
	return c.facts.Rules().MethodFor(r.Command.Method)
}

// Prospect returns how the pull request of a request would land at a head, and whether it
// may: as its change does that is in the queue at that head, unless the command names
// another method. unmade says that there is such a change, and that its words are still
// open (reword).
func (c *Core) Prospect(r *queue.Request, head queue.CommitID) (m config.Method, allowed, unmade bool) {
	if ch := c.facts.Links.Active(r.Number); ch != nil && ch.Head == head && !c.entering.anotherMethod(ch, r) {
		return ch.Method, true, c.entering.unmade(ch)
	}
	m, allowed = c.MethodOf(r)
	return m, allowed, false
}

// unmade reports whether a change waits outside and no merge of it was made.
func (c *entering) unmade(ch *queue.Change) bool {
	return waitsOutside(ch) && len(c.facts.Links.LinksOf[ch.ID]) == 0
}

// reword has a change that waits outside land with the words that its pull request has by
// now: people correct a title that a check refuses, and GitLab's drafts say so in theirs.
func (c *entering) reword(ch *queue.Change, b queue.Inspected) {
	if !c.unmade(ch) || ch.Head != b.Head || b.Wording == (queue.Wording{}) && ch.Wording != b.Wording {
		return
	}
	if ch.Title != b.Title || ch.Wording != b.Wording {
		ch.Title, ch.Wording = b.Title, b.Wording
		c.touchChange(ch)
	}
}

// ByCommit reports whether the pull request of a request may land commit by commit,
// either as the command asks or as its change in the queue lands.
func (c *Core) ByCommit(r *queue.Request) bool {
	ch := c.facts.Links.Active(r.Number)
	m, _ := c.MethodOf(r)
	return m.ByCommit() || ch != nil && ch.Method.ByCommit()
}

// anotherMethod reports whether a command asks a change to land in another way.
func (c *entering) anotherMethod(ch *queue.Change, r *queue.Request) bool {
	m, ok := c.facts.Rules().MethodFor(r.Command.Method)
	return ok && r.Command.Method != "" && m != ch.Method
}

// standOn notes the head of the change that this one is on top of, if that change
// lands, or has landed, as other commits than its own. This change brings what it adds
// to that head, and git cannot see that from the branch.
func (c *entering) standOn(ch *queue.Change) {
	if ch.Parent == 0 {
		return
	}
	low := c.facts.Links.Active(ch.Parent)
	if pull := c.s.Pulls[ch.Parent]; low == nil && pull != nil && pull.Landed {
		if low = c.s.Changes[pull.Last]; low != nil && low.Phase != queue.Landed {
			low = nil
		}
	}
	if low == nil || low.Number != ch.Parent {
		return
	}
	below := low.Head
	if low.Method.Keeps() {
		below = ""
	}
	if ch.Below != below {
		ch.Below = below
		c.touchChange(ch)
	}
}

// made reports whether a commit is one that we made of a change, as far as the
// state knows.
func (c *entering) made(commit queue.CommitID, id queue.ChangeID) bool {
	for l := range c.facts.Links.LinksOf[id] {
		if l.Commit == commit && l.Outcome == queue.Merged {
			return true
		}
	}
	return false
}

// taken reports whether a commit on main's line is, by a push of ours, a commit of a
// change that lands as several commits or under the names that its author has given
// them. If it is the change's last commit, the change has landed. Such commits need not
// name their change, so their texts do not count.
func (c *entering) taken(l queue.LineCommit) bool {
	p := c.s.Push
	if p == nil {
		return false
	}
	for i, commit := range p.Commits {
		for _, id := range p.Of(i) {
			ch := c.s.Changes[id]
			if ch == nil || !ch.Method.ByCommit() {
				continue
			}
			if commit == l.Commit {
				c.settling.landed(ch, commit)
				return true
			}
			for link := range c.facts.Links.LinksOf[id] {
				if link.Commit == commit && slices.Contains(link.Between, l.Commit) {
					return true
				}
			}
		}
	}
	return false
}
