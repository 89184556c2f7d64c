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

// follow returns what a symbolic link leads to within the tree: a file, or all
// that is below a directory. What leads out of the tree, or in a circle, leads
// to nothing.
func (l *layout) follow(link conflict.Entry, read func(conflict.Entry) (string, error)) ([]conflict.Entry, error) {
	const most = 8
	at := link
	for range most {
		goal, err := read(at)
		if err != nil {
			return nil, err
		}
		to, ok := join(dirOf(at.Path), goal)
		if !ok {
			return nil, nil
		}
		e, ok := l.byPath[to]
		if !ok {
			return l.under(to), nil
		}
		if e.Mode != conflict.ModeLink {
			return []conflict.Entry{e}, nil
		}
		at = e
	}
	return nil, nil
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
