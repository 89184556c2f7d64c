package conflict

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Keys returns what a commit asks to be verified that its parent does not: the
// keys of the commit under its own steps without those of the parent under the
// parent's, in the order of the steps and then of the targets' names. Without
// a parent (nil) they are all keys of the commit.
func Keys(parent, commit *Snapshot, parentSteps, steps []config.Step) []queue.Key {
	if parent == nil {
		parentSteps = nil
	}
	had := make(map[queue.Digest]bool, len(parentSteps))
	for _, s := range parentSteps {
		had[s.Digest()] = true
	}
	var all, changed []queue.TargetHash
	if slices.ContainsFunc(steps, func(s config.Step) bool { return !had[s.Digest()] }) {
		all = commit.Targets()
	}
	if len(had) > 0 {
		changed = changedTargets(parent, commit)
	}
	var keys []queue.Key
	for _, s := range steps {
		if !had[s.Digest()] {
			keys = append(keys, queue.KeysOf(s, commit.Tree, all)...)
			continue
		}
		if s.Scope == config.ScopeRepository && parent.Tree == commit.Tree {
			continue
		}
		keys = append(keys, queue.KeysOf(s, commit.Tree, changed)...)
	}
	return keys
}

// changedTargets returns the targets of `to` that `from` has not at the same
// hash, by name.
func changedTargets(from, to *Snapshot) []queue.TargetHash {
	d := compare(from, to)
	return d.change.targetsOf(d.altered())
}

// Gone returns the targets of a parent that a commit does not have, sorted: a
// build of the commit can tell nothing of them, whatever their keys.
func Gone(parent, commit *Snapshot) []string {
	d := compare(parent, commit)
	return d.main.names.texts(d.gone())
}
