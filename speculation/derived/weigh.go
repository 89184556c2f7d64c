package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// A failure that names no target is a failure of the step on its commit, and not of any
// key: if CI runs everything on each push, the cause may be below the change. So the
// failure is kept under the set of keys that was asked for (an opaque entry), and
// counts against a link only
//
//   - if it ran on the link's own commit, or
//   - if the link has all keys of the set, all changes below them in the run are below
//     the link, too, or on main by now, and nothing else that the run may have failed of
//     (Beside) has become another key since;
//
// and only if main was proven in the step at that time, or is still unproven. In the
// latter case the failure only makes the change wait for main.

// Weighed returns an opaque entry with those of its failures that count against a link;
// nil if none does. A root link is red only by runs on main itself.
func (fs *Ledger) Weighed(e *queue.Entry, l *queue.Link) *queue.Entry {
	at := l.Commit
	if part := l.PartOf(e.Keys[0]); part != nil {
		at = part.Commit
	}
	there := func(id queue.Digest) bool { return fs.Links.holds(l, e.Step, id) }
	cloudy := -1
	return Filtered(e, func(f queue.Failure) bool {
		if l.Change == "" {
			return f.Ran.Change == "" && f.Since.Epoch == fs.s.Main.Line.Epoch
		}
		if f.Ran.Commit != at && !(fs.RestsOn(f, l.Chain) && fs.NotBeside(f, there)) {
			return false
		}
		if f.Clouded && cloudy < 0 {
			if cloudy = 0; fs.Clouded(e.Step) {
				cloudy = 1
			}
		}
		return !f.Clouded || cloudy == 1
	})
}

// Filtered returns an entry with some of its failures, or nil.
func Filtered(e *queue.Entry, keep func(queue.Failure) bool) *queue.Entry {
	n := 0
	for _, f := range e.Failures {
		if keep(f) {
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case len(e.Failures):
		return e
	}
	out := *e
	out.Failures = nil
	for _, f := range e.Failures {
		if keep(f) {
			out.Failures = append(out.Failures, f)
		}
	}
	return &out
}

// RestsOn reports whether all changes that a failing run assumed to land are on main by
// now, or are among the given changes. For a run from another epoch of main's line that
// is not known, and RestsOn returns false.
func (fs *Ledger) RestsOn(f queue.Failure, chain []queue.ChangeID) bool {
	if f.Since.Epoch != fs.s.Main.Line.Epoch {
		return false
	}
	return !slices.ContainsFunc(f.Ran.Chain, func(id queue.ChangeID) bool {
		if slices.Contains(chain, id) {
			return false
		}
		ch := fs.s.Changes[id]
		return ch == nil || ch.Phase != queue.Landed
	})
}

// Decides reports whether an entry's failures decide by now.
func (fs *Ledger) Decides(e *queue.Entry) bool {
	return e != nil && e.Decisive(fs.Now, fs.Rules().Retries)
}

// Clouded reports whether main itself is unproven in a step, by the step's name: a
// failure of the step that names no target may then be main's fault.
func (fs *Ledger) Clouded(step string) bool {
	if m := &fs.s.Main; m.Surveyed != m.Tip {
		return true
	}
	unproven, _ := fs.MainIn(step)
	return unproven
}

// MainIn reports whether main has unproven keys of a step, by its name, and which of
// their targets are red.
func (fs *Ledger) MainIn(step string) (unproven bool, red []string) {
	root := fs.Root()
	if root == nil {
		return false, nil
	}
	facts := fs.Links.Info(root).Facts
	for i, k := range root.Keys {
		if facts[i].Passed() {
			continue
		}
		if st, ok := fs.Links.Step(root, k); ok && st.Name == step {
			if unproven = true; fs.RedOn(root).Keys[i] {
				red = append(red, k.Target)
			}
		}
	}
	return unproven, red
}

// shaken returns the failing evidence against a link: entries of keys that have not
// passed, and opaque entries as they weigh, decisive or not, without expired ones.
func (fs *Ledger) shaken(l *queue.Link, facts []*Fact) []*queue.Entry {
	var out []*queue.Entry
	var seen []queue.Digest
	for _, f := range facts {
		if f.Passed() {
			continue
		}
		if f.Entry != nil && len(f.Entry.Failures) > 0 {
			out = append(out, f.Entry)
		}
		for _, id := range f.Sets {
			e := fs.s.Ledger[id]
			if e == nil || slices.Contains(seen, id) {
				continue
			}
			seen = append(seen, id)
			if !HoldsAll(facts, e) {
				continue
			}
			if e = fs.Weighed(e, l); e != nil {
				out = append(out, e)
			}
		}
	}
	return slices.DeleteFunc(out, func(e *queue.Entry) bool { return e.Expires(fs.Now) == 0 })
}
