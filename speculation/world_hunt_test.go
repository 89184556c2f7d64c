package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// trace walks main's line back, as the performer does: to where each trail is known
// to have passed.
func (w *world) trace(key string, t queue.Trace) queue.Body {
	out := queue.Traced{Action: key, Hunt: t.Hunt, Commit: t.Commit, Analyzer: t.Analyzer, Trails: slices.Clone(t.Trails)}
	w.Helper()
	var line []*commit
	passed := make([]bool, len(t.Trails))
	for c := w.commits[t.Commit]; c != nil && len(line) < queue.MostTraced; c = w.commits[c.parent] {
		line = append(line, c)
		for i, x := range t.Trails {
			passed[i] = passed[i] || !slices.ContainsFunc(w.judgedKeys(t, c, x), func(k queue.Key) bool { return !w.knows(k) })
		}
		out.Whole = c.parent == ""
		if !slices.Contains(passed, false) {
			break
		}
	}
	slices.Reverse(line)
	for n, c := range line {
		set := queue.NewStepSet(stepsOf(c.tree))
		out.Line = append(out.Line, queue.HuntCommit{Commit: c.id, Tree: c.tree.id(), Steps: set.ID, Change: c.change})
		out.Steps = append(out.Steps, set)
		for i, x := range t.Trails {
			spots := out.Trails[i].Spots
			keys := w.judgedKeys(t, c, x)
			if !x.Opaque && len(spots) > 0 && slices.Equal(keys, spots[len(spots)-1].Keys) {
				continue
			}
			out.Trails[i].Spots = append(spots, queue.Spot{At: n, Keys: keys})
			for _, k := range keys {
				if e := w.store.archive[k.ID()]; w.knows(k) {
					out.Passed = append(out.Passed, e)
				}
			}
		}
	}
	return out
}

// judgedKeys returns the keys that a commit of the line has of a trail, under the
// version asked for where the commit's own settings have that.
func (w *world) judgedKeys(t queue.Trace, c *commit, x queue.Trail) []queue.Key {
	defer w.under(w.version(t.Analyzer, c.tree))()
	return w.trailKeys(c.tree, x)
}

// trailKeys returns the keys of a tree that a trail follows.
func (w *world) trailKeys(t tree, x queue.Trail) []queue.Key {
	set := queue.NewStepSet(stepsOf(t))
	return slices.DeleteFunc(w.keysOf(t), func(k queue.Key) bool {
		st, _ := set.Step(k.Step)
		return st.Name != x.Step || !slices.Contains(x.Targets, k.Target)
	})
}

// redAt is the truth about a trail on a commit: one of its keys is red there.
func (w *world) redAt(id queue.CommitID, step string, targets []string) bool {
	t := w.commits[id].tree
	return slices.ContainsFunc(w.trailKeys(t, queue.Trail{Step: step, Targets: targets}), func(k queue.Key) bool { return !w.green(t, k) })
}

// tellsTargets reports whether each part of a step says on a commit of which
// target it failed. A part that gives only its exit code fails for every target
// that is red, whichever it was asked for.
func (w *world) tellsTargets(id queue.CommitID, step string) bool {
	parts := 0
	for _, s := range stepsOf(w.commits[id].tree) {
		if s.Name != step {
			continue
		}
		if s.Report != config.ReportGoTestJSON {
			return false
		}
		parts++
	}
	return parts > 0
}

// culprits demands of each culprit that it is red where the commit before it is not.
func (a *audit) culprits() {
	w := a.w
	w.Helper()
	if a.flaky || a.drifting {
		return
	}
	for _, id := range derived.Sorted(w.core.s.Hunts) {
		h := w.core.s.Hunts[id]
		for i := range h.Trails {
			t := &h.Trails[i]
			x := h.CulpritOf(t)
			if x == nil || w.audit.trusting {
				continue
			}
			at := slices.IndexFunc(h.Line, func(c queue.HuntCommit) bool { return c.Commit == x.Commit })
			told := w.tellsTargets(x.Commit, t.Step)
			there := t.Targets
			if !told {
				there = nil // of which it was, nothing is said
				for _, k := range w.keysOf(w.commits[x.Commit].tree) {
					there = append(there, k.Target)
				}
			}
			if !w.redAt(x.Commit, t.Step, there) {
				w.Fatalf("hunt %s: %s is called the culprit of %s/%v, and is not red there", id, x.Commit, t.Step, t.Targets)
			}
			lies := w.everything && !w.core.hunting.runsAll(x.HuntCommit, t.Step) // a command that runs more than it is asked for
			if at > 0 && len(x.Among) == 0 && !told && !lies && !slices.ContainsFunc(there, func(n string) bool {
				return w.redAt(x.Commit, t.Step, []string{n}) && !w.redAt(h.Line[at-1].Commit, t.Step, []string{n})
			}) {
				w.Fatalf("hunt %s: %s is called the culprit of %s/%v, and turned no target of that step red", id, x.Commit, t.Step, t.Targets)
			}
			if at > 0 && len(x.Among) == 0 && w.redAt(h.Line[at-1].Commit, t.Step, t.Targets) {
				w.Fatalf("hunt %s: %s is called the culprit of %s/%v, which is red on %s before it", id, x.Commit, t.Step, t.Targets, h.Line[at-1].Commit)
			}
			if x.Failed.Build == "" || w.runs[x.Failed.Build] == nil && !a.lossy {
				w.Fatalf("hunt %s: %s is accused by no build: %+v", id, x.Commit, x.Failed)
			}
		}
	}
}
