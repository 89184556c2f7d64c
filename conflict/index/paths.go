package index

import (
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// The textual layer: changes that touch a common path may fail to merge though
// they have no target in common. A path stands for itself and all below it, so
// that a change that removes a directory, or puts a file in its place, meets
// one that writes into it:
//
//	a moves docs/ to manual/     touches docs, docs/intro.md, manual/intro.md
//	b adds docs/setup.md         touches docs/setup.md, which is below docs
//	c edits manual.md            touches manual.md: it meets neither
//
// Git tells whether they do fail (Footprint.Merges). Until then they count as
// in conflict, which costs a moment.

// touched is an index of changes by the paths that they touch.
type touched struct {
	changes map[queue.ChangeID]*toucher
	at      map[string][]*toucher // the changes that touch exactly this path
	below   map[string][]*toucher // the changes that touch something below it, each once
}

type toucher struct {
	id     queue.ChangeID
	paths  []string
	merges map[queue.ChangeID]bool
}

func newTouched() touched {
	return touched{changes: map[queue.ChangeID]*toucher{}, at: map[string][]*toucher{}, below: map[string][]*toucher{}}
}

// put adds a change that is not there.
func (x *touched) put(id queue.ChangeID, f *queue.Footprint) {
	if len(f.Paths) == 0 {
		return
	}
	c := &toucher{id: id, paths: f.Paths, merges: map[queue.ChangeID]bool{}}
	for _, other := range f.Merges {
		c.merges[other] = true
	}
	x.changes[id] = c
	for _, p := range c.paths {
		x.at[p] = append(x.at[p], c)
		for _, dir := range upward(p) {
			list := x.below[dir]
			if len(list) > 0 && list[len(list)-1] == c {
				break // so it is in the lists of all directories above
			}
			x.below[dir] = append(list, c)
		}
	}
}

func (x *touched) remove(id queue.ChangeID) {
	c := x.changes[id]
	if c == nil {
		return
	}
	delete(x.changes, id)
	drop := func(m map[string][]*toucher, path string) {
		if m[path] = slices.DeleteFunc(m[path], func(o *toucher) bool { return o == c }); len(m[path]) == 0 {
			delete(m, path)
		}
	}
	left := map[string]bool{} // a list may have all changes: each list is gone through once
	for _, p := range c.paths {
		drop(x.at, p)
		for _, dir := range upward(p) {
			if left[dir] {
				break
			}
			left[dir] = true
			drop(x.below, dir)
		}
	}
}

// upward returns the directories that a path is in, "" for the root included.
func upward(path string) []string {
	var dirs []string
	for path != "" {
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
		dirs = append(dirs, path)
	}
	return dirs
}

// clashes returns the changes that may not merge with one, each with the first
// paths that both touch.
func (x *touched) clashes(id queue.ChangeID) map[queue.ChangeID][]string {
	c := x.changes[id]
	if c == nil {
		return nil
	}
	found := map[queue.ChangeID][]string{}
	note := func(list []*toucher, path string) {
		for _, o := range list {
			if w := found[o.id]; o != c && !c.merged(o) && len(w) < conflict.MaxWitnesses && !slices.Contains(w, path) {
				found[o.id] = append(w, path)
			}
		}
	}
	for _, p := range c.paths {
		note(x.at[p], p)
		note(x.below[p], p)
		for _, dir := range upward(p) {
			note(x.at[dir], p)
		}
	}
	return found
}

// mayClash reports whether two changes may not merge.
func (x *touched) mayClash(a, b queue.ChangeID) bool {
	c, d := x.changes[a], x.changes[b]
	return c != nil && d != nil && c != d && !c.merged(d) && common(c.paths, d.paths)
}

// merged reports whether one of two was seen to merge with the other.
func (c *toucher) merged(o *toucher) bool { return c.merges[o.id] || o.merges[c.id] }

// common reports whether a path of one sorted list is equal to, above or below
// one of the other.
func common(a, b []string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return slices.ContainsFunc(a, func(p string) bool { return PathsMeet(b, p) })
}

// PathsMeet reports whether a path is one of the sorted ones, or above or below
// one of them.
func PathsMeet(paths []string, path string) bool {
	has := func(p string) bool {
		_, ok := slices.BinarySearch(paths, p)
		return ok
	}
	if has(path) || slices.ContainsFunc(upward(path), has) || path == "" && len(paths) > 0 {
		return true
	}
	at, _ := slices.BinarySearch(paths, path+"/")
	return at < len(paths) && strings.HasPrefix(paths[at], path+"/")
}

// Textual returns the changes that are in conflict with one by a common path
// only, sorted by id.
func (x *Index) Textual(id queue.ChangeID) []queue.ChangeID {
	c := x.changes[id]
	var out []queue.ChangeID
	for other := range x.touched.clashes(id) {
		if !x.influence(c, x.changes[other]) {
			out = append(out, other)
		}
	}
	slices.Sort(out)
	return out
}

// Touching returns the changes that may not merge with one, sorted by id: both
// touch a path, and were not seen to merge. They may conflict in other ways,
// too.
func (x *Index) Touching(id queue.ChangeID) []queue.ChangeID {
	return slices.Sorted(maps.Keys(x.touched.clashes(id)))
}

// Common returns the first paths that both of two changes touch, at most
// conflict.MaxWitnesses.
func (x *Index) Common(a, b queue.ChangeID) []string {
	return x.touched.clashes(a)[b]
}

// OnlyTextual reports whether two changes are in conflict by a common path only.
func (x *Index) OnlyTextual(a, b queue.ChangeID) bool {
	return x.touched.mayClash(a, b) && !x.influence(x.changes[a], x.changes[b])
}

// textual settles the changes that conflict by common paths alone, and returns
// these paths by slot.
func (x *Index) textual(c *entry) map[int][]string {
	clashes := x.touched.clashes(c.id)
	if len(clashes) == 0 {
		return nil
	}
	paths := map[int][]string{}
	for id, witnesses := range clashes {
		if slot := x.changes[id].slot; x.hits.of[slot].kind == kindOpen {
			x.hits.settle(slot, kindTextual)
			paths[slot] = witnesses
		}
	}
	return paths
}
