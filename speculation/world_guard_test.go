package speculation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// A file of the world that is at a protected place or elsewhere: changes edit it where
// it is, and move it. Git takes an edit along to where the other side has moved the
// file (merge3).
const (
	elsewhere = "s/ci"
	guarded   = "p/ci" // an administrator must approve what changes it
)

// follow gives two sides of a merge and their base one place for the file, where one
// side has moved it: the edits of the other are taken along.
func follow(base, ours, theirs tree) (b, o, t tree) {
	for _, x := range [][2]string{{elsewhere, guarded}, {guarded, elsewhere}} {
		from, to := x[0], x[1]
		moved := func(side tree) bool { return side[from] == "" && side[to] != "" }
		if base[from] == "" || base[to] != "" || moved(ours) == moved(theirs) && !moved(ours) {
			continue
		}
		carry := func(t tree) tree {
			if t[from] == "" || t[to] != "" {
				return t
			}
			t = maps.Clone(t)
			t[to], t[from] = t[from], ""
			return t
		}
		return carry(base), carry(ours), carry(theirs)
	}
	return base, ours, theirs
}

// guard has the protected path be edited and moved in a history, by changes of which an
// administrator approves some.
func (h *history) guard() {
	h.guards, h.sanctioned = true, map[queue.CommitID]bool{}
	h.permissions.Protected = []string{"p/**"}
}

// shift adds an edit or a move of the file to an edit of a tree, at times.
func (h *history) shift(t tree, e edit) edit {
	if !h.guards || !h.chance(45, "guarded") {
		return e
	}
	at, to := elsewhere, guarded
	if t[at] == "" {
		at, to = to, at
	}
	h.shifts++
	out := edit{}
	if h.chance(50, "with the rest") {
		out = maps.Clone(e)
	}
	out[at] = fmt.Sprintf("e%d", h.shifts)
	if h.chance(50, "moves") && t[at] != "" {
		out[at] = "-" + strings.Join(tokens(t[at]), " -")
		if out[to] = t[at]; h.chance(30, "edits it, too") {
			out[to] += fmt.Sprintf(" e%d", h.shifts)
		}
	}
	return out
}

// approve has an administrator approve the head of a pull request, and the queue hear
// of it or not.
func (h *history) approve(p *pull) {
	h.Helper()
	if p == nil {
		return
	}
	h.sanctioned[p.head] = true
	h.logf("## an administrator approves pull %d at %s", p.number, p.head)
	if h.chance(80, "heard") {
		h.tell(queue.Stirred{Number: p.number})
	}
}

// cross has two changes of the same commit asked for, in any order, of which one moves the
// file and the other edits it; an administrator approves one of them, or none.
func (h *history) cross() {
	h.Helper()
	t := h.commits[h.main].tree
	at, to := elsewhere, guarded
	if t[at] == "" {
		at, to = to, at
	}
	if t[at] == "" {
		return // it is nowhere
	}
	h.shifts++
	edits := []edit{{at: "-" + strings.Join(tokens(t[at]), " -"), to: t[at]}, {at: fmt.Sprintf("e%d", h.shifts)}}
	first, approved := h.pick(2, "which first"), h.pick(3, "which is approved")
	for i := range edits {
		n := (first + i) % 2
		if h.chance(50, "with a target") {
			edits[n][fileOf(h.targets[h.pick(4, "target")])] = "fine"
		}
		p := h.open(h.main, edits[n])
		if n == approved {
			h.approve(p)
		}
		h.step(h.say(p, "dev", "/land"+h.method()))
		if h.chance(50, "it goes on") {
			h.quiesce()
		}
	}
}

// protects fills in what the forge says of a pull request and protected paths.
func (w *world) protects(p *pull, t queue.Inspect, level string, out *queue.Inspected) {
	if !w.guards {
		return
	}
	main, head := w.commits[w.main], w.shows(p)
	on := w.commits[head]
	if c, conflicts := w.merge(main.id, queue.Pick{Head: head}); len(conflicts) == 0 {
		on = c
	}
	differs := on.tree[guarded] != main.tree[guarded]
	if len(w.rules.Methods) > 0 {
		for _, c := range w.own(w.main, head) {
			differs = differs || c.parent != "" && c.tree[guarded] != w.commits[c.parent].tree[guarded]
		}
	}
	if differs {
		out.Protected = []string{guarded}
	}
	out.Guarded = w.core.Protected(p.number)
	if level == "admin" && !strings.HasPrefix(t.Request, "recheck/") {
		out.Vouched, w.sanctioned[head] = true, true
	}
	out.Approved = w.sanctioned[head]
}

// guardLink says what the commits of a link do to the protected path.
func (w *world) guardLink(l *queue.Link, globs []string, picks ...queue.Pick) {
	if !w.guards || len(globs) == 0 || l.Outcome != queue.Merged {
		return
	}
	at := w.commits[l.Parent]
	for _, id := range append(slices.Clone(l.Between), l.Commit) {
		c := w.commits[id]
		was, is := at.tree[guarded], c.tree[guarded]
		if was != is {
			l.Protected = []string{guarded}
		}
		holds := func(p queue.Pick) bool {
			return slices.ContainsFunc(w.own(l.Parent, p.Head), func(c *commit) bool { return c.tree[guarded] == is })
		}
		if was == "" && is != "" && !slices.ContainsFunc(picks, holds) {
			l.Taken = []string{guarded}
		}
		at = c
	}
}

// approvals demands of commits on top of one another, which changes make together, that
// an administrator has approved what they do to the protected path: each token that is
// new there is in a head that was approved.
func (a *audit) approvals(what string, at *commit, way []*commit, changes []queue.ChangeID) {
	w := a.w
	w.Helper()
	if !w.guards {
		return
	}
	seen, approved := map[string]bool{}, false
	for _, id := range changes {
		ch := w.core.State().Changes[id]
		if ch == nil {
			return // it is forgotten, a day after its end, and with it the head that was approved
		}
		if w.sanctioned[ch.Head] {
			approved = true
			for _, c := range w.own(at.id, ch.Head) {
				maps.Copy(seen, setOf(c.tree[guarded]))
				maps.Copy(seen, setOf(c.tree[elsewhere]))
			}
		}
	}
	for _, c := range way {
		was := setOf(at.tree[guarded])
		for tok := range setOf(c.tree[guarded]) {
			if !was[tok] && !seen[tok] {
				w.Fatalf("%s: %s of %v brings %s to a protected path, which no administrator has approved", what, c.id, changes, tok)
			}
		}
		if c.tree[guarded] != at.tree[guarded] && !approved {
			w.Fatalf("%s: %s of %v changes a protected path, and no administrator has approved it", what, c.id, changes)
		}
		at = c
	}
}

// built demands so of what a build runs and is not on main, nor on what main was when the
// queue last looked, or asked for the build: a forced push may have taken that out since,
// unheard.
func (a *audit) built(b *queue.Build) {
	w := a.w
	w.Helper()
	if !w.guards {
		return
	}
	main := slices.Concat(w.line(w.main), w.line(w.core.State().Main.Tip), w.line(b.Main))
	line := w.line(b.Commit)
	at := slices.IndexFunc(line, func(c *commit) bool { return slices.Contains(main, c) })
	var way []*commit
	from := line[at]
	for i, c := range slices.Backward(line[:at]) {
		way = append(way, c)
		changes := carried(c)
		if i == 0 && len(changes) == 0 && b.Change != "" {
			changes = []queue.ChangeID{b.Change}
		}
		if len(changes) > 0 {
			a.approvals("build "+string(b.ID), from, way, changes)
			from, way = c, nil
		}
	}
}

func (w *world) made(ids []queue.CommitID) []*commit {
	out := make([]*commit, len(ids))
	for i, id := range ids {
		out[i] = w.commits[id]
	}
	return out
}
