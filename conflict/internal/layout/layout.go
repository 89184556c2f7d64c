// Package layout finds things in a tree by path, and where its symbolic links
// lead. The root is the directory "".
package layout

import (
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// Layout is the files of a tree by path. It never changes.
type Layout struct {
	Sorted []conflict.Entry
	ByPath map[string]conflict.Entry
}

// New returns the layout of all files of a tree, which are sorted by path.
func New(files []conflict.Entry) *Layout {
	l := &Layout{Sorted: files, ByPath: make(map[string]conflict.Entry, len(files))}
	for _, e := range files {
		l.ByPath[e.Path] = e
	}
	return l
}

// Dir is path.Dir with "" for the root.
func Dir(file string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i]
	}
	return ""
}

// Join is path.Join with "" for the root. It reports whether the result is
// within the tree.
func Join(dir, to string) (string, bool) {
	p := path.Join(dir, to)
	if p == "." {
		p = ""
	}
	return p, p != ".." && !strings.HasPrefix(p, "../") && !path.IsAbs(to)
}

// Dotted returns a directory as build systems take it: ".", "./x".
func Dotted(dir string) string {
	if dir == "" {
		return "."
	}
	return "./" + dir
}

// Under returns all entries below a directory, sorted.
func (l *Layout) Under(dir string) []conflict.Entry {
	if dir == "" {
		return l.Sorted
	}
	from := sort.Search(len(l.Sorted), func(i int) bool { return l.Sorted[i].Path >= dir+"/" })
	to := from + sort.Search(len(l.Sorted)-from, func(i int) bool { return !strings.HasPrefix(l.Sorted[from+i].Path, dir+"/") })
	return l.Sorted[from:to]
}

// At returns the entries at a path: a file, or all files below a directory.
func (l *Layout) At(p string) []conflict.Entry {
	if e, ok := l.ByPath[p]; ok {
		return []conflict.Entry{e}
	}
	return l.Under(p)
}

// Across returns the link or submodule that a path leads through or to.
func (l *Layout) Across(p string) (conflict.Entry, bool) {
	for ; p != ""; p = Dir(p) {
		if e, ok := l.ByPath[p]; ok && (e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule) {
			return e, true
		}
	}
	return conflict.Entry{}, false
}

// mostLinks is how many symbolic links a path may lead through.
const mostLinks = 40

// Resolve returns where a path leads once its links are followed, and the links
// and the submodule that it leads through; read returns the path that is
// written in a link. A link out of the tree, into a submodule or in a circle
// leads nowhere: ok is false.
func (l *Layout) Resolve(p string, read func(conflict.Entry) (string, error)) (goal string, via []conflict.Entry, ok bool, err error) {
	for {
		e, found := l.Across(p)
		if !found {
			return p, via, true, nil
		}
		via = append(via, e)
		if e.Mode == conflict.ModeSubmodule || len(via) > mostLinks {
			return "", via, false, nil
		}
		to, err := read(e)
		if err != nil {
			return "", via, false, err
		}
		base, inside := Join(Dir(e.Path), to)
		if !inside {
			return "", via, false, nil
		}
		if p, inside = Join(base, strings.TrimPrefix(p[len(e.Path):], "/")); !inside {
			return "", via, false, nil
		}
	}
}

// Behind returns the entries that a list of entries leads to through links. It
// follows each entry that is a link, and each that is not in the tree because
// its path leads through one. It returns the links on the way and the entries
// at the end, and follows links among these, too.
func (l *Layout) Behind(list []conflict.Entry, read func(conflict.Entry) (string, error)) ([]conflict.Entry, error) {
	var found []conflict.Entry
	known, walked, goals := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range list {
		known[list[i].Path] = true
	}
	add := func(entries []conflict.Entry) {
		for _, e := range entries {
			if !known[e.Path] {
				known[e.Path] = true
				found = append(found, e)
			}
		}
	}
	for todo := list; len(todo) > 0; todo = todo[1:] {
		e := todo[0]
		if _, there := l.ByPath[e.Path]; there && e.Mode != conflict.ModeLink || walked[e.Path] {
			continue
		}
		walked[e.Path] = true
		goal, via, ok, err := l.Resolve(e.Path, read)
		if err != nil {
			return nil, err
		}
		add(via)
		if ok && len(via) > 0 && !goals[goal] { // many links may lead to one large folder
			goals[goal] = true
			at := l.At(goal)
			add(at)
			todo = slices.Concat(todo, at)
		}
	}
	return found, nil
}
