package speculation

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A push in stages. GitHub judges a push of main by the head that it has recorded of each
// pull request. So the branches of pull requests that land as another commit than their
// head move first (queue.PushingHeads). The queue waits for a while until the forge shows
// the moved heads (AwaitingSeen), and then main moves (PushingMain). The stage is part of
// the state: the next owner of the queue goes on where it is. When a push does not move
// main, the branches are put back by an action that holds all the data it needs; until that
// is done its changes board no train.
//
// A move of a head in between is ours and not its author's (movedByUs, asItWas), and the
// approvals that it takes away because of our own push were given to the
// head that is there again (queue.Consent.Kept).

const (
	moveWithin = time.Minute     // main moves after this time even if the result of the heads' moves is not known
	seenAfter  = 2 * time.Second // the forge is asked for a moved head after this; then after twice that, and so on
	backLooks  = 7               // the forge shows a head that was put back within so many looks, which take two minutes
)

// beginPush has the heads of a push moved, or main if there are none.
func (c *mainline) beginPush(p *queue.Push) {
	if p.ByForge = c.byForge(p); p.ByForge {
		c.pushMain(p)
		return
	}
	c.beginMoves(p)
}

// beginMoves begins a push that the forge does not merge itself.
func (c *mainline) beginMoves(p *queue.Push) {
	p.Heads = c.headsOf(p)
	if len(p.Heads) == 0 {
		c.pushMain(p)
		return
	}
	for _, h := range p.Heads {
		pull := c.pull(h.Number)
		moved := append(slices.Clone(pull.Moved), h.To)
		pull.Moved = moved[max(0, len(moved)-queue.MostMoved):]
	}
	p.Stage, p.Until = queue.PushingHeads, c.facts.Now.Add(moveWithin)
	c.touch(queue.KindMeta, queue.MetaPush)
	c.upkeep.ask(queue.MoveHeads{Push: p.ID})
}

// byForge reports whether the forge can be asked to merge a push's pull request itself. It
// must be the only one, land by squash, ask for the queue's branch, and bring all commits
// of its branch. No waiting change may be on top of it.
func (c *mainline) byForge(p *queue.Push) bool {
	if c.facts.Rules().MergeAPI != config.MergeAPIOn || len(p.Changes) != 1 || len(p.Commits) != 1 {
		return false
	}
	ch := c.s.Changes[p.Changes[0]]
	if ch.Method != config.MethodSquash || ch.Base != "" || ch.Below != "" || ch.Revert != "" {
		return false
	}
	for _, o := range c.facts.Open {
		if o.Parent == ch.Number {
			return false
		}
	}
	return true
}

// declined goes on with a push when the forge does not merge its pull request itself.
func (c *mainline) declined(p *queue.Push, why string) {
	p.ByForge = false
	c.note(queue.Note{What: "declined", Change: p.Changes[0], Number: c.s.Changes[p.Changes[0]].Number, Commit: p.Tip(), Reason: queue.Reason{Code: queue.ReasonLanding, Detail: why}})
	c.endPush(p)
	c.touch(queue.KindMeta, queue.MetaPush)
	c.beginMoves(p)
}

// headsOf returns the branches that are to move before main, as far as the state knows.
func (c *mainline) headsOf(p *queue.Push) []queue.HeadMove {
	if c.facts.Rules().Head == config.HeadLeave {
		return nil
	}
	var out []queue.HeadMove
	for i, commit := range p.Commits {
		for _, id := range p.Of(i) {
			ch := c.s.Changes[id]
			if pull := c.s.Pulls[ch.Number]; !ch.Method.Keeps() && pull != nil && pull.Branch != "" && pull.Head == ch.Head {
				out = append(out, queue.HeadMove{Change: id, Number: ch.Number, Branch: pull.Branch, From: ch.Head, To: commit})
			}
		}
	}
	return out
}

// pushing reports whether a push is under way and at a stage.
func (c *mainline) pushing(id string, stage queue.PushStage) bool {
	p := c.s.Push
	return p != nil && p.ID == id && p.Stage == stage && !p.Unsure
}

// endPush gives up the actions of a push.
func (c *mainline) endPush(p *queue.Push) {
	c.upkeep.drop(queue.MoveHeads{Push: p.ID})
	c.upkeep.drop(queue.SeeHeads{Push: p.ID})
	c.upkeep.drop(queue.Land{Push: p.ID})
}

func (c *mainline) headsMoved(b queue.HeadsMoved) {
	c.upkeep.done(b.Action)
	p := c.s.Push
	if !c.pushing(b.Push, queue.PushingHeads) {
		return
	}
	p.Heads = slices.DeleteFunc(slices.Clone(p.Heads), func(h queue.HeadMove) bool { return !slices.Contains(b.Moved, h.Change) })
	for _, h := range p.Heads {
		c.verdictOf(h.Change, func(v *queue.Verdict) { v.Along = true })
	}
	p.Stage, p.Until = queue.AwaitingSeen, c.facts.Now.Add(cmp.Or(c.facts.Rules().HeadWait, config.DefaultHeadWait))
	c.touch(queue.KindMeta, queue.MetaPush)
	c.proceed()
}

func (c *mainline) headsSeen(b queue.HeadsSeen) {
	a := c.upkeep.done(b.Action)
	if a == nil || !c.pushing(b.Push, queue.AwaitingSeen) {
		return
	}
	for _, id := range b.Seen {
		c.seeHead(func(h queue.HeadMove) bool { return h.Change == id })
	}
	if !c.s.Push.AllSeen() {
		c.upkeep.reissue(a, seenAfter<<min(a.Renewed+1, 6), "")
	}
	c.proceed()
}

// seeHead notes that the forge shows some heads of the push.
func (c *mainline) seeHead(which func(queue.HeadMove) bool) {
	p := c.s.Push
	p.Heads = slices.Clone(p.Heads) // copies of the push share them
	for i := range p.Heads {
		p.Heads[i].Seen = p.Heads[i].Seen || which(p.Heads[i])
	}
	c.touch(queue.KindMeta, queue.MetaPush)
}

// proceed takes the push to its next stage when it is time.
func (c *mainline) proceed() {
	p := c.s.Push
	switch {
	case p.Stage == queue.PushingHeads:
		if c.facts.Asked(queue.MoveHeads{Push: p.ID}) == "" || c.facts.Now >= p.Until {
			c.pushMain(p)
			return
		}
		c.wakeAt(p.Until)
	case p.Stage == queue.PushingMain:
		if c.facts.Asked(queue.Land{Push: p.ID}) == "" {
			c.unsure(p.ID)
		}
	case p.AllSeen() || c.facts.Now >= p.Until:
		c.pushMain(p)
	default:
		c.wakeAt(p.Until)
		if see := (queue.SeeHeads{Push: p.ID}); c.facts.Asked(see) == "" {
			c.upkeep.askAttempt(see, 1, seenAfter, "")
		}
	}
}

// pushMain has main moved, with the heads moved or not. The forge will not show a pull
// request as merged if it has not shown the moved head by now.
func (c *mainline) pushMain(p *queue.Push) {
	c.endPush(p)
	for _, h := range p.Heads {
		if p.Stage == queue.AwaitingSeen && !h.Seen {
			c.verdictOf(h.Change, func(v *queue.Verdict) { v.Closed = true })
		}
	}
	p.Stage, p.Until = queue.PushingMain, 0
	c.touch(queue.KindMeta, queue.MetaPush)
	c.upkeep.ask(queue.Land{Push: p.ID})
}

// verdictOf writes to a copy of a change's verdict, since views that were taken before
// share the old one.
func (c *mainline) verdictOf(id queue.ChangeID, write func(*queue.Verdict)) {
	if ch := c.s.Changes[id]; ch != nil && ch.Verdict != nil {
		v := *ch.Verdict
		write(&v)
		ch.Verdict = &v
		c.touchChange(ch)
	}
}

// putBack asks to take back the changes that a push has made to pull requests when it
// has not moved main.
func (c *mainline) putBack(p *queue.Push) {
	t := queue.ReturnHeads{Push: p.ID, Heads: p.Heads}
	for _, id := range p.Changes {
		if ch := c.s.Changes[id]; ch != nil && ch.Base != "" {
			t.Based = append(t.Based, id)
		}
	}
	if len(t.Heads) == 0 && len(t.Based) == 0 {
		return
	}
	for _, h := range p.Heads {
		c.entering.wasSeen(h)
		if ch := c.s.Changes[h.Change]; ch != nil && ch.Met != 0 {
			ch.Kept, ch.KeptAt = true, c.facts.Now
			c.touchChange(ch)
		}
	}
	c.upkeep.ask(t)
}

// wasSeen notes that putting a head back is no push by a person: the authors of the commands about that
// head have seen it.
func (c *entering) wasSeen(h queue.HeadMove) {
	if ch := c.s.Changes[h.Change]; ch != nil && ch.Made != 0 {
		ch.Made = 0
		c.touchChange(ch)
	}
	if p := c.s.Pulls[h.Number]; p != nil && len(p.Trusted) > 0 {
		p = c.pull(h.Number)
		p.Trusted = slices.Clone(p.Trusted)
		for i := range p.Trusted {
			p.Trusted[i].Made = 0
		}
	}
}

// changesOf returns the changes of the pull requests that a task puts back as they were.
func changesOf(t queue.ReturnHeads) []queue.ChangeID {
	out := slices.Clone(t.Based)
	for _, h := range t.Heads {
		out = append(out, h.Change)
	}
	return out
}

func (c *mainline) headsReturned(b queue.HeadsReturned) {
	a := c.upkeep.done(b.Action)
	if a == nil {
		return
	}
	t, _ := a.Task.(queue.ReturnHeads)
	for _, h := range t.Heads {
		if ch := c.s.Changes[h.Change]; ch != nil && ch.Kept && !ch.Phase.Final() {
			ch.KeptAt = c.facts.Now
			c.touchChange(ch)
		}
	}
	for _, id := range b.Left {
		ch := c.s.Changes[id]
		if ch == nil || ch.Phase.Final() || ch.Phase == queue.Landing {
			continue
		}
		now := queue.CommitID("")
		if at := slices.IndexFunc(t.Heads, func(h queue.HeadMove) bool { return h.Change == id }); at >= 0 {
			now = t.Heads[at].To
		}
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonPushed, Detail: queue.DetailOurs, Names: []string{string(ch.Head), string(now)}}, nil)
	}
}

// shownClosed notes that the forge shows a pull request as closed where it should show it
// as merged.
func (c *mainline) shownClosed(number int) {
	pull := c.s.Pulls[number]
	if pull == nil {
		return
	}
	ch := c.s.Changes[cmp.Or(pull.Active, pull.Last)]
	if ch != nil && (ch.Phase == queue.Landed || ch.Phase == queue.Landing) && ch.Verdict != nil && ch.Verdict.Along && !ch.Verdict.Closed {
		c.verdictOf(ch.ID, func(v *queue.Verdict) { v.Closed = true })
	}
}

// movedByUs reports whether a pull request's head is where a push of ours has moved it.
// The event may come before the push has its answer, and even after the head was put
// back.
func (c *entering) movedByUs(b queue.HeadMoved) bool {
	pull := c.s.Pulls[b.Number]
	if pull == nil || !c.ours(pull, b.Head) {
		return false
	}
	if p := c.s.Push; p != nil && slices.ContainsFunc(p.Heads, func(h queue.HeadMove) bool { return h.Number == b.Number && h.To == b.Head }) {
		c.mainline.seeHead(func(h queue.HeadMove) bool { return h.Number == b.Number })
	}
	ch := c.s.Changes[cmp.Or(pull.Active, pull.Last)]
	if ch != nil && ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == b.Head && !ch.Verdict.Along { // the event of its move is still to come
		c.mainline.verdictOf(ch.ID, func(v *queue.Verdict) { v.Along = true })
	}
	c.strayed(pull, b.Head)
	return true
}

// ours reports whether a head of a pull request is where a push of ours has moved it.
// Either the state says so, or the state has lost its memory of that push and the commit
// is one that we made of the pull request's change.
func (c *entering) ours(pull *queue.Pull, head queue.CommitID) bool {
	ch := c.s.Changes[cmp.Or(pull.Active, pull.Last)]
	return pull.WasMoved(head) || ch != nil && !ch.Method.Keeps() && ch.Head != head && c.made(head, ch.ID)
}

// strayed has a head put back that a push of ours has moved although no push is under
// way. Either the push came late, from a server that owned the queue before, or the state
// has lost its memory of it.
func (c *entering) strayed(pull *queue.Pull, head queue.CommitID) {
	ch := c.s.Changes[cmp.Or(pull.Active, pull.Last)]
	if ch == nil || ch.Phase == queue.Landing || ch.Phase == queue.Landed || ch.Head == head || pull.Branch == "" || c.returning[ch.ID] {
		return
	}
	c.upkeep.ask(queue.ReturnHeads{Push: "stray/" + string(head), Heads: []queue.HeadMove{{Change: ch.ID, Number: pull.Number, Branch: pull.Branch, From: ch.Head, To: head}}})
}

// asItWas replaces a head that we have moved, in the forge's answer about a change's pull
// request, by the change's own head. late says that the forge is to be asked again,
// because the head is being put back.
func (c *entering) asItWas(a *queue.Action, r *queue.Request, b queue.Inspected) (_ queue.Inspected, late bool) {
	ch, pull := c.facts.Links.Active(r.Number), c.s.Pulls[r.Number]
	if ch == nil || ch.Head == b.Head || pull == nil || !c.ours(pull, b.Head) {
		return b, false
	}
	if ch.Phase == queue.Landing {
		b.Head = ch.Head
		return b, false
	}
	if a.Renewed == 0 {
		c.strayed(pull, b.Head)
	}
	return b, c.returning[ch.ID] || a.Renewed < backLooks
}
