package node

import (
	"path"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// layout is the tree by path. The root is "".
type layout struct {
	sorted []conflict.Entry
	byPath map[string]conflict.Entry
}

func newLayout(files []conflict.Entry) *layout {
	l := &layout{sorted: files, byPath: make(map[string]conflict.Entry, len(files))}
	for _, e := range files {
		l.byPath[e.Path] = e
	}
	return l
}

// dirOf is path.Dir with "" for the root.
func dirOf(file string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i]
	}
	return ""
}

// join is path.Join with "" for the root. It reports whether the result is
// within the tree.
func join(dir, rel string) (string, bool) {
	p := path.Join(dir, rel)
	if p == "." {
		return "", true
	}
	return p, p != ".." && !strings.HasPrefix(p, "../") && !path.IsAbs(rel)
}

// below returns a file as seen from a directory, and whether it is below it.
func below(dir, file string) (string, bool) {
	if dir == "" {
		return file, true
	}
	rest, ok := strings.CutPrefix(file, dir)
	if !ok || len(rest) < 2 || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}

// under returns all entries below a directory.
func (l *layout) under(dir string) []conflict.Entry {
	if dir == "" {
		return l.sorted
	}
	from := sort.Search(len(l.sorted), func(i int) bool { return l.sorted[i].Path >= dir+"/" })
	to := from + sort.Search(len(l.sorted)-from, func(i int) bool { return !strings.HasPrefix(l.sorted[from+i].Path, dir+"/") })
	return l.sorted[from:to]
}

// at returns what is at a path: a file, or all that is below a directory.
func (l *layout) at(p string) []conflict.Entry {
	if e, ok := l.byPath[p]; ok {
		return []conflict.Entry{e}
	}
	return l.under(p)
}

// across returns the link or submodule that a path leads through or to.
func (l *layout) across(p string) (conflict.Entry, bool) {
	for ; p != ""; p = dirOf(p) {
		if e, ok := l.byPath[p]; ok && (e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule) {
			return e, true
		}
	}
	return conflict.Entry{}, false
}

// mostLinks is how many symbolic links a path may lead through.
const mostLinks = 40

// resolve returns where a path leads once its links are followed, and what it
// leads through; read returns the goal of one. What leads out of the tree, into
// a submodule or in a circle leads nowhere: ok is false.
func (l *layout) resolve(p string, read func(conflict.Entry) (string, error)) (goal string, via []conflict.Entry, ok bool, err error) {
	for {
		e, found := l.across(p)
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
		base, inside := join(dirOf(e.Path), to)
		if !inside {
			return "", via, false, nil
		}
		if p, inside = join(base, strings.TrimPrefix(p[len(e.Path):], "/")); !inside {
			return "", via, false, nil
		}
	}
}

// installed reports whether a path is in a folder of installed packages.
func installed(file string) bool {
	return strings.HasPrefix(file, "node_modules/") || strings.Contains(file, "/node_modules/")
}

// dotted returns a directory as package managers take it: ".", "./x".
func dotted(dir string) string {
	if dir == "" {
		return "."
	}
	return "./" + dir
}
