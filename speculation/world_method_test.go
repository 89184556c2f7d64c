package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The world's landings by squash, rebase, semi-linear and fast-forward.

// standing is the past that a parent and a head have in common: with the content
// of what the head is on top of on the parent, that one.
func (r *repository) standing(parent queue.CommitID, p queue.Pick) *commit {
	if p.Below != "" && slices.ContainsFunc(r.line(p.Head), func(c *commit) bool { return c.id == p.Below }) {
		return r.commits[p.Below]
	}
	return r.mergeBase(parent, p.Head)
}

// replay makes the commits of a head anew on a parent, one after the other. Merges among
// them are left out, and then what is made must be what merging the head makes.
func (r *repository) replay(parent queue.CommitID, p queue.Pick) (*commit, []string) {
	base := r.standing(parent, p)
	own := r.own(parent, p.Head)
	if i := slices.Index(own, base); i >= 0 {
		own = own[:i]
	}
	slices.Reverse(own)
	all := len(own)
	own = slices.DeleteFunc(own, func(c *commit) bool { return c.merges != "" })
	var trees []tree
	at := r.commits[parent].tree
	for _, c := range own {
		next, conflicts := merge3(r.commits[c.parent].tree, at, c.tree)
		if len(conflicts) > 0 {
			return nil, conflicts
		}
		if next.id() != at.id() {
			trees, at = append(trees, next), next
		}
	}
	if len(own) < all {
		if whole, conflicts := merge3(base.tree, r.commits[parent].tree, r.commits[p.Head].tree); len(conflicts) > 0 || whole.id() != at.id() {
			return nil, append(conflicts, "a merge holds more")
		}
	}
	if len(trees) == 0 || at.id() == r.commits[parent].tree.id() {
		return r.commits[parent], nil
	}
	on := parent
	var between []queue.CommitID
	for _, t := range trees[:len(trees)-1] {
		c := r.put(commit{parent: on, tree: t, lone: true})
		between, on = append(between, c.id), c.id
	}
	return r.put(commit{parent: on, tree: at, head: p.Head, change: p.Change, lone: true, between: between}), nil
}

// joined replays a head, and merges what that makes: one commit of main's line.
func (r *repository) joined(parent queue.CommitID, p queue.Pick) (*commit, []string) {
	c, conflicts := r.replay(parent, p)
	if c == nil || c.id == parent {
		return c, conflicts
	}
	return r.put(commit{parent: parent, tree: c.tree, head: p.Head, change: p.Change, lone: true, top: c.id}), nil
}

// forward takes a head as it is, where it stands on the parent.
func (r *repository) forward(parent queue.CommitID, p queue.Pick) (*commit, []string) {
	if slices.ContainsFunc(r.line(parent), func(c *commit) bool { return c.id == p.Head || slices.Contains(c.merged(), p.Head) }) {
		return r.commits[parent], nil
	}
	if !slices.ContainsFunc(r.line(p.Head), func(c *commit) bool { return c.id == parent }) {
		return nil, []string{"it does not stand on the branch"}
	}
	c := r.commits[p.Head]
	if !slices.Contains(c.stands, p.Change) {
		c.stands = append(c.stands, p.Change)
	}
	return c, nil
}

// way returns the commits from a parent to what a pick has made on it, in order.
func (r *repository) way(parent queue.CommitID, p queue.Pick, c *commit) []queue.CommitID {
	if p.Method != config.MethodFastForward {
		return c.between
	}
	var out []queue.CommitID
	for at := c.parent; at != parent && at != ""; at = r.commits[at].parent {
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

// forwarded returns the change that a commit of a push lands as it is, if one does.
func (w *world) forwarded(p *queue.Push, i int) *queue.Change {
	of := p.Of(i)
	if len(of) != 1 {
		return nil
	}
	if ch := w.core.State().Changes[of[0]]; ch != nil && ch.Method == config.MethodFastForward && ch.Head == p.Commits[i] {
		return ch
	}
	return nil
}

// partsOf fills in the keys that the commits on the way to a link's add.
func (w *world) partsOf(l *queue.Link, p queue.Pick, c *commit, out *queue.Resolved) {
	way := w.way(l.Parent, p, c)
	if len(way) == 0 {
		return
	}
	l.Between = way
	if p.Skip {
		return
	}
	known := map[queue.Key]bool{}
	for _, k := range l.Keys {
		known[k] = true
	}
	at, by := l.Parent, l.Before
	for _, id := range append(slices.Clone(way), c.id) {
		t := w.commits[id].tree
		on := w.version(l.Before, t)
		set := queue.NewStepSet(stepsOf(t))
		part := queue.Halfway{Commit: id, Steps: set.ID}
		for _, k := range w.crossKeys(w.commits[at].tree, by, t, on) {
			if !known[k] {
				known[k] = true
				l.Keys = append(l.Keys, k)
				part.Keys++
			}
		}
		if part.Keys > 0 {
			l.Parts = append(l.Parts, part)
			out.Steps = append(out.Steps, set)
		}
		at, by = id, on
	}
}

// holds reports whether a commit of main is what landing the change that it names
// makes, as far as the queue remembers that.
func (w *world) holds(c *commit) bool {
	ch := w.core.State().Changes[c.change]
	if !c.lone || ch == nil || ch.Head != c.head || ch.Method.Keeps() {
		return false
	}
	made, conflicts := w.merge(c.parent, pickOf(ch))
	return len(conflicts) == 0 && made.id == c.id
}

// below returns the latest commit that a head stands on whose content is on main in
// other commits.
func (w *world) below(head queue.CommitID) queue.CommitID {
	landed := map[queue.CommitID]bool{}
	for _, c := range w.line(w.main) {
		if c.lone {
			landed[c.head] = true
		}
	}
	for _, c := range w.line(head)[1:] {
		if landed[c.id] {
			return c.id
		}
	}
	return ""
}

// methods draws how changes land.
func (h *history) methods(r *config.Rules) {
	if !h.chance(50, "methods") {
		return
	}
	r.Methods = []config.Method{config.MethodSquash, config.MethodRebase, config.MethodSemiLinear, config.MethodFastForward}
	if h.chance(50, "method") {
		r.Method = r.Methods[h.pick(4, "method")]
		r.Methods = append(r.Methods, config.MethodMerge)
	}
	if h.chance(10, "skip") {
		r.Intermediate = config.IntermediateSkip
	}
}

// method draws what a command says of it.
func (h *history) method() string {
	if len(h.rules.Methods) == 0 || h.chance(40, "no method") {
		return ""
	}
	return " method=" + []string{"merge", "squash", "rebase", "semi-linear", "fast-forward", "octopus"}[h.pick(6, "method")]
}
