package speculation

import (
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// branchOf is the head branch of a pull request of the world.
func branchOf(p *pull) string { return fmt.Sprintf("b%d", p.number) }

// stack is what the forge shows below a pull request.
func (w *world) stack(p *pull) queue.Stack {
	out := queue.Stack{Foot: p.base, Native: p.native}
	for out.Foot != "main" {
		next := (*pull)(nil)
		for _, n := range derived.Sorted(w.pulls) {
			if x := w.pulls[n]; x.open && branchOf(x) == out.Foot {
				next = x
			}
		}
		if next == nil {
			if p.native != 0 {
				out.Foot = "main"
			}
			return out
		}
		out.Circle = next == p || slices.Contains(out.Below, next.number)
		out.Below, out.Foot = append(out.Below, next.number), next.base
		if out.Deep = len(out.Below) > queue.MaxStack; out.Circle || out.Deep {
			return out
		}
	}
	return out
}

// openOn opens a pull request on top of another.
func (w *world) openOn(low *pull, e edit) *pull {
	p := w.open(low.head, e)
	p.base = branchOf(low)
	w.logf("## it is on top of pull %d", low.number)
	return p
}

// restack has the forge make a pull request's edit anew on main, or on top of another.
func (w *world) restack(p, low *pull, e edit) {
	from := w.main
	if p.base = "main"; low != nil {
		from, p.base = low.head, branchOf(low)
	}
	w.movesTo(p, w.put(commit{parent: from, tree: w.commits[from].tree.with(e)}).id)
}

// movesTo has the forge show a pull request at a head that is the same commits on others.
func (w *world) movesTo(p *pull, head queue.CommitID) {
	if w.same == nil {
		w.same = map[queue.CommitID][]queue.CommitID{}
	}
	if head != p.head {
		w.same[head] = append(slices.Clone(w.same[p.head]), p.head)
		p.head = head
	}
}

// rebased has the forge show what a push is about to land against main, as the
// performer does, and tell of it.
func (w *world) rebased(push *queue.Push) {
	for _, id := range push.Changes {
		ch := w.core.State().Changes[id]
		if ch.Pinned() {
			w.Fatalf("%s lands, and asks for %s, which only the forge can change", id, ch.Base)
		}
		if ch.Base != "" && w.pulls[ch.Number].open {
			w.pulls[ch.Number].base = "main"
			w.mail = append(w.mail, w.event(queue.Retargeted{Number: ch.Number}))
		}
	}
}

// stacks checks that whoever is on top of another is in the order only with it and
// behind it, and that no build has the one without the other.
func (a *audit) stacks(t Turn) {
	w, c := a.w, a.w.core
	w.Helper()
	for _, id := range derived.Sorted(c.s.Changes) {
		ch := c.s.Changes[id]
		if ch.Parent == 0 || ch.Phase.Final() {
			continue
		}
		a.on[id] = ch.Parent
		low := c.facts.Order.ParentOf(ch)
		switch {
		case len(c.facts.Order.Beneath(ch)) > queue.MaxStack:
			w.Fatalf("%s is in a circle", id)
		case !derived.InOrder(ch):
		case low == nil || !derived.InOrder(low):
			w.Fatalf("%s is %s, and pull %d, which it is on top of, is not in the order: %+v", id, ch.Phase, ch.Parent, low)
		case ch.Phase == queue.Landing && low.Phase != queue.Landing:
			w.Fatalf("%s is landing before %s, which it is on top of", id, low.ID)
		case ch.Phase == queue.Pending && low.Phase == queue.Pending && c.facts.Order.Rank[id] <= c.facts.Order.Rank[low.ID]:
			w.Fatalf("%s comes before %s, which it is on top of", id, low.ID)
		case ch.Phase == queue.Pending && low.Phase == queue.Pending && !slices.Contains(c.facts.Order.Ahead(id), low.ID):
			w.Fatalf("%s does not wait for %s, which it is on top of", id, low.ID)
		}
	}
	for _, x := range t.Actions {
		switch task := x.Task.(type) {
		case queue.Run:
			a.whole(c.s.Builds[task.Build].Commit, nil, x.Key)
		case queue.Resolve:
			if x.Attempt == 1 { // else it may be out of date
				a.whole(task.Base, task.Picks, x.Key)
			}
		}
	}
}

// whole demands that a path has all changes below each of its changes, except those that bring
// nothing there: the commits up to one, and what is to be merged onto it.
func (a *audit) whole(at queue.CommitID, picks []queue.Pick, what string) {
	w, c := a.w, a.w.core
	w.Helper()
	missing := func(id queue.ChangeID) *queue.Change {
		high := c.s.Changes[id]
		if low := c.facts.Order.ParentOf(high); low != nil && low.Phase == queue.Pending && high.Phase == queue.Pending {
			return low
		}
		return nil
	}
	empty := func(at queue.CommitID, low *queue.Change) bool { // there, or where its place was
		for _, c := range w.line(at) {
			if made, conflicts := w.merge(c.id, pickOf(low)); len(conflicts) == 0 && made.id == c.id {
				return true
			}
			if c.id == w.main {
				break
			}
		}
		return false
	}
	for _, step := range w.line(at) {
		for i, x := range step.carries() {
			before := append(a.before(step.parent), carried(step)[:len(step.stands)+i]...)
			if low := missing(x.Change); low != nil && !slices.Contains(before, low.ID) && !empty(step.parent, low) {
				w.Fatalf("%s: %s has %s without %s, which it is on top of", what, step.id, x.Change, low.ID)
			}
		}
	}
	on := a.before(at)
	for _, p := range picks {
		if low := missing(p.Change); low != nil && !slices.Contains(on, low.ID) && !empty(at, low) {
			w.Fatalf("%s: %s is to be merged onto %s without %s, which it is on top of", what, p.Change, at, low.ID)
		}
		on = append(on, p.Change)
	}
}

// carried returns the changes that a commit has and its parent has not: those that
// land as it is, and those that it merges.
func carried(c *commit) []queue.ChangeID {
	out := slices.Clone(c.stands)
	for _, x := range c.carries() {
		out = append(out, x.Change)
	}
	return out
}

// before returns the changes of the commits from main up to one, in order.
func (a *audit) before(at queue.CommitID) []queue.ChangeID {
	var out []queue.ChangeID
	for _, c := range slices.Backward(a.w.line(at)) {
		out = append(out, carried(c)...)
	}
	return out
}

// lands demands that what changes were on top of has landed before them, by the
// world's own line.
func (a *audit) lands(at queue.CommitID, changes []queue.ChangeID) {
	w, s := a.w, a.w.core.State()
	w.Helper()
	for _, id := range changes {
		n, stacked := a.on[id]
		if !stacked || a.moved[s.Changes[id].Number] || a.lossy || w.pulls[n].merged {
			continue
		}
		p := s.Pulls[n]
		if p != nil && p.Active == "" && s.Changes[p.Last] != nil && s.Changes[p.Last].Phase == queue.NothingToLand {
			continue
		}
		if p != nil && p.Active == "" && a.removed[p.Last] {
			continue // it had landed, and a forced push has taken it out: people were asked, and let the queue go on
		}
		if !slices.ContainsFunc(a.before(at), func(x queue.ChangeID) bool { return s.Changes[x] != nil && s.Changes[x].Number == n }) {
			w.Fatalf("%s lands before pull %d, which it is on top of", id, n)
		}
	}
}
