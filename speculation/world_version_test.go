package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// version is the version that a server judges by when it is asked for one.
func (w *world) version(asked string) string {
	if len(w.versions) == 0 || slices.Contains(w.versions, asked) {
		return asked
	}
	return w.versions[0]
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
	by := w.version(t.Analyzer)
	defer w.under(by)()
	c := w.commits[t.Commit]
	out := queue.Surveyed{Action: key, Commit: t.Commit, Tree: c.tree.id(), Steps: queue.NewStepSet(stepsOf(c.tree)), Analyzer: by}
	keys := w.keysOf(c.tree)
	out.Total = len(keys)
	out.Passed = w.translate(t.Former, keys)
	for _, k := range keys {
		if !w.store.archived(k) && !slices.ContainsFunc(out.Passed, func(e queue.Entry) bool { return e.ID == k.ID() }) {
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
		for _, id := range sorted(w.store.archive) {
			e := w.store.archive[id]
			same := func(o queue.Key) bool { return o == k }
			if c := w.commits[e.Commit]; !w.store.archived(k) && e.Keys[0].Step == k.Step && e.Keys[0].Target == k.Target && slices.ContainsFunc(w.keysOf(c.tree), same) {
				e.ID, e.Keys = k.ID(), []queue.Key{k}
				out = append(out, e)
				break
			}
		}
	}
	return out
}

// anyKeysOf returns the keys of a tree under each version that a server may have had.
func (w *world) anyKeysOf(t tree) []queue.Key {
	keys := w.keysOf(t)
	if len(w.versions) == 0 {
		return keys
	}
	for _, v := range []string{"go/1", "go/2", "go/3"} {
		back := w.under(v)
		keys = append(keys, w.keysOf(t)...)
		back()
	}
	return keys
}
