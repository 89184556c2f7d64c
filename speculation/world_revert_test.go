package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// revert makes the commit that takes one of main's back.
func (r *repository) revert(parent queue.CommitID, p queue.Pick) (*commit, []string) {
	culprit, ours := r.commits[p.Revert], r.commits[parent]
	before := r.commits[culprit.parent]
	if before == nil {
		return nil, []string{"."}
	}
	tree, conflicts := merge3(culprit.tree, ours.tree, before.tree)
	if len(conflicts) > 0 {
		return nil, conflicts
	}
	if tree.id() == ours.tree.id() {
		return ours, nil
	}
	return r.put(commit{parent: parent, tree: tree}), nil
}

// propose opens the pull request of a revert, once for each culprit.
func (w *world) propose(key string, t queue.Propose) queue.Body {
	w.Helper()
	out := queue.Proposed{Action: key, Hunt: t.Hunt, Commit: t.Commit}
	if w.proposes != nil {
		if out.Refused = w.proposes(t); out.Refused != "" {
			return out
		}
	}
	made, conflicts := w.revert(t.On, t.Pick)
	if len(conflicts) > 0 || made.id != t.Head {
		w.Fatalf("the revert of %s on %s is not %s", t.Commit, t.On, t.Head)
	}
	p := w.pulls[w.proposed[t.Commit]]
	if p == nil || !p.open {
		p = &pull{number: len(w.pulls) + 1, open: true, base: "main", author: ourName, head: t.Head, lacks: w.lackAll}
		w.pulls[p.number] = p
		if w.proposed == nil {
			w.proposed = map[queue.CommitID]int{}
		}
		w.proposed[t.Commit] = p.number
		w.logf("## pull %d takes %s back", p.number, t.Commit)
	}
	out.Number, out.Head = p.number, p.head
	return out
}

// reverts demands of each revert that is called proven that what its culprit has turned
// red is green with it. One that has a pull request stays what it was proven to be: what
// its culprit is accused of since is not held against it.
func (a *audit) reverts() {
	w := a.w
	w.Helper()
	if a.flaky || a.drifting || a.trusting || a.lossy {
		return
	}
	for _, id := range derived.Sorted(w.core.s.Hunts) {
		h := w.core.s.Hunts[id]
		for _, x := range h.Culprits {
			r := x.Revert
			if r == nil || r.State != queue.RevertProven || r.Number != 0 && r.Of != w.core.hunting.accusations(x.Commit) {
				continue
			}
			t := w.commits[r.Commit].tree
			for _, k := range w.keysOf(t) {
				st, _ := queue.NewStepSet(stepsOf(t)).Step(k.Step)
				if w.core.hunting.isAccused(x.Commit, st.Name, k.Target) && !w.green(t, k) {
					w.Fatalf("hunt %s: the revert of %s is called proven, and %s on %s is red with it", id, x.Commit, st.Name, k.Target)
				}
			}
		}
	}
}

// weigh names the commits behind a culprit, as the performer does: those that touch a
// target that it touches, and those since which the revert does not merge.
func (w *world) weigh(key string, t queue.Weigh) queue.Body {
	w.Helper()
	defer w.under(w.version(t.Analyzer, w.commits[t.Tip].tree))()
	out := queue.Weighed{Action: key, Hunt: t.Hunt, Commit: t.Commit, Tip: t.Tip}
	touched := func(c *commit) map[string]bool {
		set := map[string]bool{}
		if parent := w.commits[c.parent]; parent != nil {
			for _, k := range w.newKeys(parent.tree, c.tree) {
				set[k.Target] = true
			}
		}
		return set
	}
	var behind []*commit
	for _, c := range w.line(t.Tip) {
		if c.id == t.Commit {
			break
		}
		behind = append(behind, c)
	}
	own, known := touched(w.commits[t.Commit]), map[string]bool{}
	for _, c := range slices.Backward(behind) {
		l := queue.Later{HuntCommit: queue.HuntCommit{Commit: c.id, Tree: c.tree.id(), Change: c.change}}
		for _, n := range derived.Sorted(touched(c)) {
			if own[n] {
				l.Targets = append(l.Targets, n)
			}
		}
		_, conflicts := w.revert(c.id, queue.Pick{Revert: t.Commit})
		for _, p := range conflicts {
			if !known[p] {
				known[p] = true
				l.Paths = append(l.Paths, p)
			}
		}
		if len(l.Targets)+len(l.Paths) > 0 {
			out.Later = append(out.Later, l)
		}
	}
	return out
}
