package conflict

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Keys returns the keys that a commit adds to its parent: the keys of the commit under its
// own steps without those of the parent under the parent's, in the order of the steps and
// then of the targets' names. Without a parent (nil) they are all keys of the commit. A
// target that the parent does not have is asked for under the runs of a step that is strict
// with it (config.WithRepeats), and not under the step itself. A tree that could not be
// divided has no new targets.
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
	var fresh []queue.TargetHash // new targets, by name
	if parent != nil && slices.ContainsFunc(steps, config.Step.Strict) {
		fresh = newTargets(parent, commit)
	}
	isNew := func(t queue.TargetHash) bool {
		_, found := slices.BinarySearchFunc(fresh, t, func(a, b queue.TargetHash) int { return strings.Compare(a.Target, b.Target) })
		return found
	}
	var keys []queue.Key
	for _, s := range steps {
		if s.Repeat > 0 {
			keys = append(keys, queue.KeysOf(s, commit.Tree, fresh)...)
			continue
		}
		asked := changed
		if !had[s.Digest()] {
			asked = all
		}
		if s.Strict() && len(fresh) > 0 {
			asked = slices.DeleteFunc(slices.Clone(asked), isNew)
		}
		if !had[s.Digest()] {
			keys = append(keys, queue.KeysOf(s, commit.Tree, asked)...)
			continue
		}
		if s.Scope == config.ScopeRepository && parent.Tree == commit.Tree {
			continue
		}
		keys = append(keys, queue.KeysOf(s, commit.Tree, asked)...)
	}
	return keys
}

// newTargets returns the targets of a commit that its parent does not have, by name: none
// where one of the two, or a part of the parent, could not be divided. Targets that stand
// for unowned files, or for a part that could not be read, are left out.
func newTargets(parent, commit *Snapshot) []queue.TargetHash {
	if parent.whole || commit.whole || len(parent.Unread) > 0 {
		return nil
	}
	d := compare(parent, commit)
	return slices.DeleteFunc(d.change.targetsOf(slices.DeleteFunc(d.altered(), d.main.verifiable)), func(t queue.TargetHash) bool {
		_, part := config.WholePart(t.Target)
		return part || t.Target == config.TargetUnowned
	})
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
