package cargo

import (
	"path"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// layout is the tree by path and by directory. The root is "".
type layout struct {
	sorted []conflict.Entry
	byPath map[string]conflict.Entry
	dirs   map[string]map[string]bool // the directories directly in a directory
	links  map[string][]string        // the links and submodules there
}

func newLayout(files []conflict.Entry) *layout {
	l := &layout{sorted: files, byPath: make(map[string]conflict.Entry, len(files)), dirs: map[string]map[string]bool{"": {}}, links: map[string][]string{}}
	for _, e := range files {
		l.byPath[e.Path] = e
		if e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule {
			l.links[dirOf(e.Path)] = append(l.links[dirOf(e.Path)], path.Base(e.Path))
		}
		for d := dirOf(e.Path); l.dirs[d] == nil; d = dirOf(d) {
			l.dirs[d] = map[string]bool{}
		}
	}
	for d := range l.dirs {
		if d != "" {
			l.dirs[dirOf(d)][path.Base(d)] = true
		}
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

// join is path.Join with "" for the root. It reports whether the path stays
// within the tree.
func join(dir, to string) (string, bool) {
	p := path.Join(dir, to)
	if p == "." {
		p = ""
	}
	return p, p != ".." && !strings.HasPrefix(p, "../") && !path.IsAbs(to)
}

// within reports whether a path is a directory or below it.
func within(file, dir string) bool {
	return dir == "" || file == dir || strings.HasPrefix(file, dir) && file[len(dir)] == '/'
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
	if l.dirs[p] == nil {
		return nil
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

// resolve returns where a path leads once its links are followed, with the
// links. What leads out of the tree or in a circle leads nowhere: ok is false.
func (l *layout) resolve(p string, read func(conflict.Entry) (string, error)) (goal string, via []conflict.Entry, ok bool, err error) {
	for {
		e, found := l.across(p)
		if !found {
			return p, via, true, nil
		}
		via = append(via, e)
		if e.Mode == conflict.ModeSubmodule || len(via) > mostLinks {
			return p, via, false, nil
		}
		to, err := read(e)
		if err != nil {
			return "", via, false, err
		}
		base, inside := join(dirOf(e.Path), to)
		if !inside {
			return p, via, false, nil
		}
		if p, inside = join(base, strings.TrimPrefix(p[len(e.Path):], "/")); !inside {
			return p, via, false, nil
		}
	}
}

// modules reports whether a folder of a directory holds modules of a root file
// that lies beside the folder, as build.rs does: "mod help;" is help.rs, with
// help/, or help/mod.rs.
func (l *layout) modules(dir, folder string) bool {
	_, inside := l.byPath[file(dir, folder+"/mod.rs")]
	_, beside := l.byPath[file(dir, folder+".rs")]
	return inside || beside
}

// dotted returns a directory as people write it: ".", "./x".
func dotted(dir string) string {
	if dir == "" {
		return "."
	}
	return "./" + dir
}

// file returns the path of a file in a directory.
func file(dir, name string) string { return strings.TrimPrefix(dir+"/"+name, "/") }
