package speculation

import "github.com/submitqueue/submitqueue/queue"

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
// red is green with it.
func (a *audit) reverts() {
	w := a.w
	w.Helper()
	if a.flaky || a.drifting || a.trusting || a.lossy {
		return
	}
	for _, id := range sorted(w.core.s.Hunts) {
		h := w.core.s.Hunts[id]
		for _, x := range h.Culprits {
			r := x.Revert
			if r == nil || r.State != queue.RevertProven {
				continue
			}
			t := w.commits[r.Commit].tree
			for _, k := range w.keysOf(t) {
				st, _ := queue.NewStepSet(stepsOf(t)).Step(k.Step)
				if w.core.accused(x.Commit, st.Name, k.Target) && !w.green(t, k) {
					w.Fatalf("hunt %s: the revert of %s is called proven, and %s on %s is red with it", id, x.Commit, st.Name, k.Target)
				}
			}
		}
	}
}
