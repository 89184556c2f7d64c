package golang

import (
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// layout is the tree by path and by directory. The root is "".
type layout struct {
	sorted []conflict.Entry
	byPath map[string]conflict.Entry
	byDir  map[string][]conflict.Entry // the entries directly in a directory
}

func newLayout(files []conflict.Entry) *layout {
	l := &layout{sorted: files, byPath: make(map[string]conflict.Entry, len(files)), byDir: map[string][]conflict.Entry{}}
	for _, e := range files {
		l.byPath[e.Path] = e
		dir := dirOf(e.Path)
		l.byDir[dir] = append(l.byDir[dir], e)
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
		if path.IsAbs(goal) {
			return nil, nil
		}
		to := path.Join(dirOf(at.Path), goal)
		if e, ok := l.byPath[to]; !ok {
			if to == "." {
				to = ""
			}
			return l.under(to), nil
		} else if e.Mode != conflict.ModeLink {
			return []conflict.Entry{e}, nil
		} else {
			at = e
		}
	}
	return nil, nil
}

// across returns the link or submodule that a path leads through or to.
func (l *layout) across(dir string) (conflict.Entry, bool) {
	for d := dir; d != ""; d = dirOf(d) {
		if e, ok := l.byPath[d]; ok && (e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule) {
			return e, true
		}
	}
	return conflict.Entry{}, false
}

// hasGo reports whether a directory has Go files of its own.
func (l *layout) hasGo(dir string) bool { return slices.ContainsFunc(l.byDir[dir], isGo) }

// isGo reports whether the go command takes the entry for a Go file.
func isGo(e conflict.Entry) bool {
	base := path.Base(e.Path)
	return strings.HasSuffix(base, ".go") && base[0] != '_' && base[0] != '.' && e.Mode != conflict.ModeSubmodule
}

// hidden reports whether `./...` skips the directory: its files are no
// packages, though they can be imported by name.
func hidden(dir string) bool {
	for dir != "" {
		if skipped(path.Base(dir)) {
			return true
		}
		dir = dirOf(dir)
	}
	return false
}

func skipped(elem string) bool {
	return elem == "testdata" || elem == "vendor" || elem[0] == '_' || elem[0] == '.'
}

// native reports whether the file is compiled into a package beside its Go
// files, by the endings that go/build knows.
func native(file string) bool {
	switch path.Ext(file) {
	case ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90",
		".s", ".S", ".sx", ".swig", ".swigcxx", ".syso":
		return true
	}
	return false
}

// linkable reports whether a package with cgo or assembly may read the file
// from any directory.
func linkable(file string) bool {
	switch path.Ext(file) {
	case ".a", ".o", ".so", ".dylib", ".lib", ".dll", ".inc", ".def", ".pc":
		return true
	}
	return native(file)
}

// nodeName returns the name of a directory's node of a kind: "lib:./x".
func nodeName(prefix, dir string) string { return prefix + dotted(dir) }

// dotted returns a directory as the go command takes it: ".", "./x".
func dotted(dir string) string {
	if dir == "" {
		return "."
	}
	return "./" + dir
}
