package conflict

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Keys returns what a commit asks to be verified that its parent does not: the
// keys of the commit under its own steps without those of the parent under the
// parent's, in the order of the steps and then of the targets' names. Without
// a parent (nil) they are all keys of the commit.
func Keys(parent, commit *Snapshot, parentSteps, steps []queue.Step) []queue.Key {
	if parent == nil {
		parent = &Snapshot{}
		parentSteps = nil
	}
	had := make(map[queue.Digest]bool, len(parentSteps))
	for _, s := range parentSteps {
		had[s.Digest()] = true
	}
	changed := changedTargets(parent.Targets(), commit.Targets())
	var keys []queue.Key
	for _, s := range steps {
		targets := commit.Targets()
		if had[s.Digest()] {
			targets = changed
			if s.Scope == queue.ScopeRepository && parent.Tree == commit.Tree {
				continue
			}
		}
		keys = append(keys, s.Keys(commit.Tree, targets)...)
	}
	return keys
}

// changedTargets returns the targets of `to` that `from` has not at the same
// hash. Both are sorted by name.
func changedTargets(from, to []queue.TargetHash) []queue.TargetHash {
	var changed []queue.TargetHash
	i := 0
	for _, t := range to {
		for i < len(from) && strings.Compare(from[i].Target, t.Target) < 0 {
			i++
		}
		if i == len(from) || from[i] != t {
			changed = append(changed, t)
		}
	}
	return changed
}

// Gone returns the targets of a parent that a commit does not have, sorted: a
// build of the commit can tell nothing of them, whatever their keys.
func Gone(parent, commit *Snapshot) []string {
	var gone []string
	i := 0
	for _, t := range parent.Targets() {
		for i < len(commit.Targets()) && commit.Targets()[i].Target < t.Target {
			i++
		}
		if i == len(commit.Targets()) || commit.Targets()[i].Target != t.Target {
			gone = append(gone, t.Target)
		}
	}
	return gone
}
