package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// branches are where the queue has moved the branches of pull requests, and what the
// forge has taken note of: in a world that has none of them, no branch may be moved.
type branches struct {
	of      map[int]*branch
	refuses func(back bool) bool // a branch may not be moved; nil: all may
	notes   func() bool          // the forge takes note at once; nil: it does

	declines func() bool // the forge, which is asked to merge by itself, does not; nil: it is not asked
	byForge  int         // how many it has merged

	gitlab *afterwards // the forge takes note as GitLab does; nil: as GitHub

	merged, closed, returned, left int // how pull requests ended whose branches have moved
}

// branch is one that the queue has moved. It counts as long as its author has not pushed
// to it.
type branch struct {
	over    queue.CommitID // the author's head
	at      queue.CommitID
	shown   queue.CommitID // the forge's pull request
	since   queue.Instant  // it is at at
	refused bool           // it may not be put back, or the queue has lost all memory of it
}

// moved returns the branch of a pull request if the queue has moved it and its author has
// not since.
func (w *world) moved(p *pull) *branch {
	if w.branches == nil {
		return nil
	}
	b := w.branches.of[p.number]
	if b == nil || b.over != p.head {
		return nil
	}
	return b
}

// shows is the head that the forge shows of a pull request.
func (w *world) shows(p *pull) queue.CommitID {
	b := w.moved(p)
	if b == nil {
		return p.head
	}
	if w.now.Sub(b.since) > minute { // longer than heads are waited for
		w.note(p, b)
	}
	return b.shown
}

// note has the forge take note of where a branch is, and tell of it. It closes pull requests
// with nothing left to merge.
func (w *world) note(p *pull, b *branch) {
	if b.shown == b.at {
		return
	}
	b.shown = b.at
	w.logf("## pull %d is shown at %s", p.number, b.shown)
	w.mail = append(w.mail, w.event(queue.HeadMoved{Number: p.number, Head: b.shown, By: "submitqueue[bot]", Made: w.now}))
	if w.branches.gitlab != nil {
		w.branches.gitlab.reset(p)
		return
	}
	if p.open && slices.ContainsFunc(w.line(w.main), func(c *commit) bool { return c.id == b.at }) {
		p.open = false
		w.branches.closed++
		w.mail = append(w.mail, w.event(queue.Closed{Number: p.number}))
	}
}

// noteAll has the forge take note of everything.
func (w *world) noteAll() {
	if w.branches == nil {
		return
	}
	w.followAll()
	for _, n := range derived.Sorted(w.pulls) {
		if b := w.moved(w.pulls[n]); b != nil {
			w.note(w.pulls[n], b)
		}
	}
}

// moveHeads moves the branches of the push, before the deadline only.
func (w *world) moveHeads(a queue.Action, t queue.MoveHeads) queue.Body {
	w.Helper()
	p := w.core.State().Push
	switch {
	case p == nil || p.ID != t.Push || p.Stage != queue.PushingHeads || w.branches == nil:
		return queue.Done{Action: a.Key}
	case w.now >= a.Deadline:
		return queue.Failed{Action: a.Key, Error: "the deadline has passed"}
	}
	out := queue.HeadsMoved{Action: a.Key, Push: p.ID}
	for _, h := range p.Heads {
		if i := slices.Index(p.Commits, h.To); i < 0 || !slices.Contains(p.Of(i), h.Change) {
			w.Fatalf("the branch of %s is to move to %s, which does not land it", h.Change, h.To)
		}
		pull := w.pulls[h.Number]
		b := w.moved(pull)
		switch {
		case b != nil && b.at == h.To:
		case b != nil && b.at != h.From, pull.head != h.From, w.branches.refuses != nil && w.branches.refuses(false):
			continue
		default:
			w.move(pull, h.From, h.To)
		}
		out.Moved = append(out.Moved, h.Change)
	}
	return out
}

// move moves the branch of a pull request.
func (w *world) move(p *pull, from, to queue.CommitID) {
	b := w.moved(p)
	if b == nil {
		b = &branch{over: p.head, at: from, shown: from}
		w.branches.of[p.number] = b
	}
	b.at, b.since = to, w.now
	w.logf("## the branch of pull %d is moved from %s to %s", p.number, from, to)
	if w.branches.gitlab != nil {
		w.branches.gitlab.pushed(p.number)
		return
	}
	if w.branches.notes == nil || w.branches.notes() {
		w.note(p, b)
	}
}

func (w *world) seeHeads(a queue.Action, t queue.SeeHeads) queue.Body {
	p := w.core.State().Push
	if p == nil || p.ID != t.Push || p.Stage != queue.AwaitingSeen {
		return queue.Done{Action: a.Key}
	}
	w.now = max(w.now, a.NotBefore)
	out := queue.HeadsSeen{Action: a.Key, Push: p.ID}
	for _, h := range p.Heads {
		if w.shows(w.pulls[h.Number]) == h.To {
			out.Seen = append(out.Seen, h.Change)
		}
	}
	return out
}

// returnHeads puts branches back that are where the queue has moved them.
func (w *world) returnHeads(a queue.Action, t queue.ReturnHeads) queue.Body {
	out := queue.HeadsReturned{Action: a.Key}
	if w.branches == nil {
		return out
	}
	for _, h := range t.Heads {
		p := w.pulls[h.Number]
		b := w.moved(p)
		switch {
		case b == nil || b.at != h.To:
		case w.branches.refuses != nil && w.branches.refuses(true):
			b.refused = true
			w.branches.left++
			out.Left = append(out.Left, h.Change)
		default:
			w.branches.returned++
			w.move(p, h.To, h.From)
		}
	}
	return out
}

// mergedBy has the forge show as merged what a push of main has brought there, as far as
// it has taken note of it.
func (w *world) mergedBy(push *queue.Push) {
	if w.branches == nil {
		return
	}
	if w.branches.gitlab != nil {
		w.branches.gitlab.pushed(0)
		return
	}
	for i := range push.Commits {
		for _, id := range push.Of(i) {
			p := w.pulls[w.core.State().Changes[id].Number]
			if b := w.moved(p); b != nil && b.shown == push.Commits[i] && p.open {
				p.open, p.merged = false, true
				w.branches.merged++
				w.mail = append(w.mail, w.event(queue.Closed{Number: p.number, Merged: true}))
			}
		}
	}
}

// mergedByForge has the forge merge the pull request of a push itself, or decline.
func (w *world) mergedByForge(a queue.Action, p *queue.Push) queue.Body {
	out := queue.Pushed{Action: a.Key, Push: p.ID}
	if w.branches == nil || w.branches.declines == nil {
		w.Fatalf("the forge is asked to merge %v", p.Changes)
	}
	switch {
	case w.main != p.Expected:
		return out
	case w.branches.declines():
		out.Declined = "Pull Request is not mergeable"
		return out
	}
	w.arrived(p)
	made := *w.commits[p.Tip()]
	made.id = "forge" + made.id
	w.commits[made.id] = &made
	w.audit.ours[made.id] = p.Changes
	w.main = made.id
	w.logf("== main is %s, which the forge has made", w.main)
	w.branches.byForge++
	pull := w.pulls[w.core.State().Changes[p.Changes[0]].Number]
	pull.open, pull.merged = false, true
	w.mail = append(w.mail, w.event(queue.Closed{Number: pull.number, Merged: true}))
	return out
}

// standsFor returns the commit of the queue that equals a commit of the forge in everything but
// its maker.
func (w *world) standsFor(c *commit) queue.CommitID {
	ch := w.core.State().Changes[c.change]
	if !c.lone || ch == nil || ch.Head != c.head || ch.Method != config.MethodSquash {
		return ""
	}
	made, conflicts := w.merge(c.parent, pickOf(ch))
	if len(conflicts) > 0 || made.id == c.id || made.id == c.parent || made.tree.id() != c.tree.id() {
		return ""
	}
	return made.id
}

// forgottenBranches lets those branches be that the queue has lost all memory of.
func (w *world) forgottenBranches() {
	for _, n := range derived.Sorted(w.pulls) {
		b, pull := w.moved(w.pulls[n]), w.core.State().Pulls[n]
		if b == nil || b.at == b.over {
			continue
		}
		if pull == nil || !w.core.entering.ours(pull, b.at) {
			b.refused = true
		}
	}
}

// heads demands that no change is cancelled, or called too late, because of a push of our
// own.
func (a *audit) heads() {
	w, s := a.w, a.w.core.State()
	w.Helper()
	if w.branches == nil {
		return
	}
	for _, id := range derived.Sorted(s.Changes) {
		ch := s.Changes[id]
		p := w.pulls[ch.Number]
		if p == nil || p.head != ch.Head || ch.Phase != queue.Cancelled || ch.Reason.Code != queue.ReasonPushed {
			continue
		}
		if q := s.Pulls[ch.Number]; q != nil && q.Pushed.Head == ch.Head && q.Pushed.By != ch.Requester {
			continue // somebody else has, and nobody has seen it
		}
		if b := w.moved(p); b != nil && b.refused || w.wide != nil && w.wide.ended[ch.Number][queue.ReasonPushed] {
			continue // in the latter case the head may be there again
		}
		w.Fatalf("%s is cancelled because of %+v, and its author has not pushed", id, ch.Reason)
	}
	for _, n := range derived.Sorted(s.Pulls) {
		if b, why := w.branches.of[n], s.Pulls[n].Notice; b != nil && why.Code == queue.ReasonTooLate && slices.Contains(why.Names[1:], string(b.at)) && b.at != w.pulls[n].head {
			w.Fatalf("pull %d: our own push comes too late: %+v", n, why)
		}
	}
}

// returned demands, at the end, that the branches are on main or where their authors have
// them.
func (a *audit) returned() {
	w := a.w
	w.Helper()
	for _, n := range derived.Sorted(w.pulls) {
		b := w.moved(w.pulls[n])
		if b == nil || b.at == b.over || b.refused {
			continue
		}
		if !slices.ContainsFunc(w.line(w.main), func(c *commit) bool { return c.id == b.at }) && !a.removedAt(b.at) {
			w.Fatalf("the branch of pull %d is left at %s, which is not on main; its head is %s", n, b.at, b.over)
		}
	}
}

// removedAt reports whether a commit was on main and somebody has forced it away.
func (a *audit) removedAt(id queue.CommitID) bool {
	return slices.ContainsFunc(a.w.commits[id].carries(), func(x queue.Carried) bool { return a.removed[x.Change] })
}

// branched has the world's queue land by squash or rebase, and move branches.
func (h *history) branched() {
	h.branches = &branches{of: map[int]*branch{}}
	h.rules.Method = []config.Method{config.MethodSquash, config.MethodRebase}[h.pick(2, "how")]
	h.rules.Methods = []config.Method{config.MethodSquash, config.MethodRebase, config.MethodMerge}
	h.branches.notes = func() bool { return h.chance(50, "noted") }
	h.branches.refuses = func(back bool) bool {
		if back {
			return h.chance(5, "may not be put back")
		}
		return h.chance(15, "may not be moved")
	}
	if h.chance(40, "merge_api") {
		h.rules.MergeAPI = config.MergeAPIOn
		h.branches.declines = func() bool { return h.chance(30, "declined") }
	}
}
