package speculation

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// settingsFile names the analyzer that a tree asks for, by its last token.
const settingsFile = "settings"

// knownFor are the versions that a server has of the analyzer that a tree asks for,
// the newest first.
func (w *world) knownFor(t tree) []string {
	name := "go"
	for _, tok := range tokens(t[settingsFile]) {
		name = tok
	}
	return slices.DeleteFunc(slices.Clone(w.versions), func(v string) bool { return !strings.HasPrefix(v, name+"/") })
}

// version is the version that a server judges a tree by when it is asked for one.
func (w *world) version(asked string, t tree) string {
	known := w.knownFor(t)
	if len(known) == 0 || slices.Contains(known, asked) {
		return asked
	}
	return known[0]
}

// under has hashes be of a version until what it returns is called.
func (w *world) under(version string) (back func()) {
	before := w.by
	w.by = version
	return func() { w.by = before }
}

// serve starts a server that knows the given versions, on what is stored.
func (w *world) serve(known ...string) {
	w.Helper()
	w.versions = known
	w.mustRestart()
	w.tell(queue.MainMoved{Branch: "main"})
}

func (w *world) survey(key string, t queue.Survey) queue.Body {
	c := w.commits[t.Commit]
	by := w.version(t.Analyzer, c.tree)
	defer w.under(by)()
	out := queue.Surveyed{Action: key, Commit: t.Commit, Tree: c.tree.id(), Steps: queue.NewStepSet(stepsOf(c.tree)), Analyzer: by}
	keys := w.keysOf(c.tree)
	out.Total = len(keys)
	out.Passed = w.translate(t.Former, keys)
	for _, k := range keys {
		if !w.knows(k) && !slices.ContainsFunc(out.Passed, func(e queue.Entry) bool { return e.ID == k.ID() }) {
			out.Unproven = append(out.Unproven, k)
		}
	}
	return out
}

// translate returns those keys that are proven by what has passed under another
// version, on commits where the present one sees the same target.
func (w *world) translate(former string, keys []queue.Key) []queue.Entry {
	if former == "" {
		return nil
	}
	var out []queue.Entry
	for _, k := range keys {
		for _, id := range derived.Sorted(w.store.archive) {
			e := w.store.archive[id]
			if !w.knows(k) && w.valid(e) && e.Keys[0].Step == k.Step && e.Keys[0].Target == k.Target && w.hasKey(w.commits[e.Commit].tree, k) {
				e.ID, e.Keys = k.ID(), []queue.Key{k}
				out = append(out, e)
				break
			}
		}
	}
	return out
}

// knows reports whether the archive has a pass of a key that nobody has had
// forgotten; survey and resolve go by that.
func (w *world) knows(k queue.Key) bool {
	e, ok := w.store.archive[k.ID()]
	return ok && w.valid(e)
}

func (w *world) valid(e queue.Entry) bool {
	return !queue.Void(w.core.State().Main.Forgotten, &e, e.Step)
}

// hasKey reports whether a tree has a key, under the version of k where the tree
// asks for that.
func (w *world) hasKey(t tree, k queue.Key) bool {
	defer w.under(w.version(w.by, t))()
	return slices.Contains(w.keysOf(t), k)
}

// anyKeysOf returns the keys of a tree under each version of the analyzer that its
// settings ask for, that a server may have had.
func (w *world) anyKeysOf(t tree) []queue.Key {
	keys := w.keysOf(t)
	if len(w.versions) == 0 {
		return keys
	}
	before := w.versions
	defer func() { w.versions = before }()
	w.versions = []string{"go/3", "go/2", "go/1", "rs/2", "rs/1"}
	keys = nil
	if w.versionless {
		back := w.versions
		w.versions = nil
		keys = w.keysOf(t)
		w.versions = back
	}
	for _, v := range w.knownFor(t) {
		back := w.under(v)
		keys = append(keys, w.keysOf(t)...)
		back()
	}
	return keys
}

// crossKeys returns the keys that a tree has under a version and its parent has
// not under another.
func (w *world) crossKeys(parent tree, before string, t tree, by string) []queue.Key {
	if before == by {
		defer w.under(by)()
		return w.newKeys(parent, t)
	}
	back := w.under(before)
	had := w.keysOf(parent)
	back()
	defer w.under(by)()
	return slices.DeleteFunc(w.keysOf(t), func(k queue.Key) bool { return slices.Contains(had, k) })
}
