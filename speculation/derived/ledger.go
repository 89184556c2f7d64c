package derived

import (
	"iter"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Passed reports whether a key has passed: by the ledger alone.
func (fs *Ledger) Passed(k queue.Key) bool {
	e := fs.s.Ledger[k.ID()]
	return e != nil && e.Passed != 0
}

// IndexSet takes in an entry of a set.
func (fs *Ledger) IndexSet(id queue.Digest, e *queue.Entry) {
	if !e.IsSet() {
		return
	}
	fs.spare[id] = 0
	for _, k := range e.Keys {
		kid := k.ID()
		if at, known := slices.BinarySearch(fs.Sets[kid], id); !known {
			fs.setsOf(kid, slices.Insert(slices.Clone(fs.Sets[kid]), at, id))
		}
	}
}

// Unindex takes in that an entry is gone; e is the former entry, or nil.
func (fs *Ledger) Unindex(id queue.Digest, e *queue.Entry) {
	delete(fs.spare, id)
	if e == nil || !e.IsSet() {
		return
	}
	for _, k := range e.Keys {
		kid := k.ID()
		fs.setsOf(kid, slices.DeleteFunc(slices.Clone(fs.Sets[kid]), func(s queue.Digest) bool { return s == id }))
	}
}

// Spare yields, in no order, the entries that no link has, and all sets, without those that are
// kept for now.
func (fs *Ledger) Spare() iter.Seq[queue.Digest] {
	return func(yield func(queue.Digest) bool) {
		for id, until := range fs.spare {
			if until <= fs.Now && !yield(id) {
				return
			}
		}
	}
}

// Keep takes in that a spare entry is kept until a moment, unless something is learned of it or
// a link has it meanwhile.
func (fs *Ledger) Keep(id queue.Digest, until queue.Instant) { fs.spare[id] = until }

// InUse takes in that an entry is not spare: a link has it.
func (fs *Ledger) InUse(id queue.Digest) { delete(fs.spare, id) }

func (fs *Ledger) setsOf(key queue.Digest, sets []queue.Digest) {
	if fs.Sets[key] = sets; len(sets) == 0 {
		delete(fs.Sets, key)
	}
	if f := fs.Keys[key]; f != nil {
		f.Sets = sets
	}
}

// Forgotten reports whether a build's result for a key does not count, because passes
// of the key were forgotten after the build was asked for.
func (fs *Ledger) Forgotten(k queue.Key, b *queue.Build) bool {
	by := fs.s.Main.Forgotten
	return len(by) > 0 && queue.Covered(by, k, StepIn(b, k.Step).Name, b.At)
}

// StepName returns the name of the step that an entry's key is of.
func (fs *Ledger) StepName(e *queue.Entry) string {
	if e.Step != "" || len(e.Keys) == 0 {
		return e.Step
	}
	for _, id := range Sorted(fs.s.Steps) {
		if st, ok := fs.s.Steps[id].Step(e.Keys[0].Step); ok {
			return st.Name
		}
	}
	return ""
}

// StepIn returns the step with the given digest in a build.
func StepIn(b *queue.Build, digest queue.Digest) config.Step {
	for _, j := range b.Jobs {
		if j.Step.Digest() == digest {
			return j.Step
		}
	}
	return config.Step{}
}

// IsDrift reports whether a key of main has drifted.
func (fs *Ledger) IsDrift(k queue.Key) bool {
	if len(fs.s.Main.Drift) == 0 {
		return false
	}
	id := k.ID()
	return slices.ContainsFunc(fs.s.Main.Drift, func(d queue.Drift) bool { return d.Key == id })
}

// onlyDrift reports whether all unproven keys of a root link are drift: no commit has
// brought them.
func (fs *Ledger) onlyDrift(root *queue.Link) bool {
	facts := fs.Links.Info(root).Facts
	for i, k := range root.Keys {
		if !facts[i].Passed() && !fs.IsDrift(k) {
			return false
		}
	}
	return true
}

// Reds says which keys of a root link have decisively failed: a cache, because
// every look at a pending change in every turn needs it.
type Reds struct {
	root    *queue.Link
	version int // of the ledger
	Keys    []bool
	Targets []string       // sorted; without targets that are only in Unrun
	Unrun   []*queue.Entry // entries that have failed because no runner could run the command
	Failing []*queue.Entry // the other entries behind Keys
}

// RedOn returns which keys of a root link are red: alone, or in a set of which main
// has all keys.
func (fs *Ledger) RedOn(root *queue.Link) *Reds {
	if fs.red.root == root && fs.red.version == fs.version {
		return &fs.red
	}
	fs.red = Reds{root: root, version: fs.version, Keys: make([]bool, len(root.Keys))}
	facts, whole := fs.Links.Info(root).Facts, map[queue.Digest]bool{}
	seen := map[queue.Digest]bool{}
	for i, f := range facts {
		red, by := f.Decisive, f.Entry
		for _, sid := range f.Sets {
			if red || f.Passed() {
				break
			}
			held, known := whole[sid]
			if !known {
				e := fs.s.Ledger[sid]
				held = e != nil && HoldsAll(facts, e) && fs.Decides(fs.Weighed(e, root))
				whole[sid] = held
			}
			if red = held; red {
				by = fs.s.Ledger[sid]
			}
		}
		if fs.red.Keys[i] = red; !red {
			continue
		}
		list := &fs.red.Unrun
		if by == nil || !by.Unrun() {
			list = &fs.red.Failing
			fs.red.Targets = append(fs.red.Targets, root.Keys[i].Target)
		}
		if by != nil && !seen[by.ID] {
			seen[by.ID] = true
			*list = append(*list, by)
		}
	}
	slices.Sort(fs.red.Targets)
	fs.red.Targets = slices.Compact(fs.red.Targets)
	return &fs.red
}
