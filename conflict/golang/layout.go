package golang

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// layout is the tree by directory. The root is "".
type layout struct{ dirs shards[*folder] }

// folder is one directory. It never changes: a change makes another.
type folder struct {
	files []conflict.Entry // directly in it, by path
	subs  []string         // the directories directly in it, by path
}

func newLayout(files []conflict.Entry) *layout {
	l := &layout{}
	l.dirs.set("", &folder{})
	for len(files) > 0 {
		dir, n := run(files, entryPath)
		f := l.make(dir)
		f.files = append(f.files, files[:n]...)
		files = files[n:]
	}
	for _, f := range l.dirs.all() {
		slices.Sort(f.subs)
	}
	return l
}

// make returns a directory of a layout that is being made.
func (l *layout) make(dir string) *folder {
	f := l.dirs.get(dir)
	if f == nil {
		f = &folder{}
		l.dirs.set(dir, f)
		up := l.make(dirOf(dir))
		up.subs = append(up.subs, dir)
	}
	return f
}

// run returns the directory of the first entry of a list, and how many entries
// at the beginning of the list are in it.
func run[T any](list []T, pathOf func(T) string) (dir string, n int) {
	dir = dirOf(pathOf(list[0]))
	for n = 1; n < len(list) && dirOf(pathOf(list[n])) == dir; n++ {
	}
	return dir, n
}

func entryPath(e conflict.Entry) string       { return e.Path }
func changePath(c conflict.FileChange) string { return c.Path }

// apply changes the layout to that of another tree. It returns false if the
// changes do not fit the layout.
func (l *layout) apply(changes []conflict.FileChange) bool {
	for len(changes) > 0 {
		dir, n := run(changes, changePath)
		next := &folder{}
		if f := l.dirs.get(dir); f != nil {
			next.subs, next.files = f.subs, slices.Clone(f.files)
		}
		for _, c := range changes[:n] {
			if !next.apply(c) {
				return false
			}
		}
		l.put(dir, next)
		changes = changes[n:]
	}
	return true
}

func (f *folder) apply(c conflict.FileChange) bool {
	i, found := f.find(c.Path)
	if found != (c.From.Path != "") || found && f.files[i] != c.From || c.To.Path != "" && c.To.Path != c.Path {
		return false
	}
	switch {
	case found && c.To.Path != "":
		f.files[i] = c.To
	case found:
		f.files = slices.Delete(f.files, i, i+1)
	case c.To.Path != "":
		f.files = slices.Insert(f.files, i, c.To)
	}
	return true
}

// put replaces a directory. An empty one is removed.
func (l *layout) put(dir string, f *folder) {
	was := l.dirs.get(dir)
	if len(f.files)+len(f.subs) > 0 || dir == "" {
		l.dirs.set(dir, f)
		if was == nil {
			l.list(dir, true)
		}
	} else if was != nil {
		l.dirs.remove(dir)
		l.list(dir, false)
	}
}

// list adds a directory to the one above it, or removes it there.
func (l *layout) list(dir string, there bool) {
	up := &folder{}
	if f := l.dirs.get(dirOf(dir)); f != nil {
		*up = *f
	}
	i, _ := slices.BinarySearch(up.subs, dir)
	if up.subs = slices.Clone(up.subs); there {
		up.subs = slices.Insert(up.subs, i, dir)
	} else {
		up.subs = slices.Delete(up.subs, i, i+1)
	}
	l.put(dirOf(dir), up)
}

// dirOf is path.Dir with "" for the root.
func dirOf(file string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i]
	}
	return ""
}

// below returns the path of a name in a directory.
func below(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func (f *folder) find(path string) (int, bool) {
	return slices.BinarySearchFunc(f.files, path, func(e conflict.Entry, path string) int { return strings.Compare(e.Path, path) })
}

// files returns the entries directly in a directory.
func (l *layout) files(dir string) []conflict.Entry {
	if f := l.dirs.get(dir); f != nil {
		return f.files
	}
	return nil
}

// subs returns the directories directly in a directory.
func (l *layout) subs(dir string) []string {
	if f := l.dirs.get(dir); f != nil {
		return f.subs
	}
	return nil
}

// entry returns the entry at a path; false if there is none, or a directory.
func (l *layout) entry(path string) (conflict.Entry, bool) {
	if f := l.dirs.get(dirOf(path)); f != nil {
		if i, ok := f.find(path); ok {
			return f.files[i], true
		}
	}
	return conflict.Entry{}, false
}

// under returns all entries below a directory, in no order.
func (l *layout) under(dir string) iter.Seq[conflict.Entry] {
	return func(yield func(conflict.Entry) bool) { l.walk(dir, yield) }
}

func (l *layout) walk(dir string, yield func(conflict.Entry) bool) bool {
	f := l.dirs.get(dir)
	if f == nil {
		return true
	}
	for _, e := range f.files {
		if !yield(e) {
			return false
		}
	}
	for _, sub := range f.subs {
		if !l.walk(sub, yield) {
			return false
		}
	}
	return true
}

// follow returns the entries that a symbolic link leads to within the tree: a
// file, or all entries below a directory, with what the links among these lead
// to. A link out of the tree, or in a circle, leads to nothing. The answer holds
// as long as nothing changes at or below the paths that look was called with,
// and no link or submodule above them comes or goes. Goals are left out, and those of the
// link added to them: many links may lead to one large directory.
func (l *layout) follow(link conflict.Entry, read func(conflict.Entry) (string, error), look func(path string), goals map[string]bool) ([]conflict.Entry, error) {
	var found []conflict.Entry
	walked := map[string]bool{}
	for todo := []conflict.Entry{link}; len(todo) > 0; todo = todo[1:] {
		if walked[todo[0].Path] {
			continue
		}
		walked[todo[0].Path] = true
		goal, ok, err := l.goal(todo[0].Path, read, look)
		if err != nil {
			return nil, err
		}
		if !ok || goals[goal] {
			continue
		}
		goals[goal] = true
		if e, ok := l.entry(goal); ok {
			found = append(found, e)
			continue
		}
		for e := range l.under(goal) {
			found = append(found, e)
			if e.Mode == conflict.ModeLink {
				todo = append(todo, e)
			}
		}
	}
	return found, nil
}

// goal returns where a path leads, through all links at it and above it; false
// if that is not in the tree.
func (l *layout) goal(at string, read func(conflict.Entry) (string, error), look func(path string)) (string, bool, error) {
	const most = 40
	for range most {
		e, ok := l.across(at)
		switch {
		case !ok:
			return at, true, nil
		case e.Mode == conflict.ModeSubmodule:
			return e.Path, true, nil
		}
		to, err := read(e)
		if err != nil {
			return "", false, err
		}
		if path.IsAbs(to) {
			return "", false, nil
		}
		at = path.Join(dirOf(e.Path), to, at[len(e.Path):])
		if at == "." {
			at = ""
		}
		look(at)
	}
	return "", false, nil
}

// there reports whether a file or directory is at a path.
func (l *layout) there(path string) bool {
	_, ok := l.entry(path)
	return ok || l.dirs.get(path) != nil
}

// across returns the link or submodule that a path leads through or to.
func (l *layout) across(dir string) (conflict.Entry, bool) {
	for d := dir; d != ""; d = dirOf(d) {
		if e, ok := l.entry(d); ok && crossing(e) {
			return e, true
		}
	}
	return conflict.Entry{}, false
}

// crossing reports whether the files below the entry's path are elsewhere.
func crossing(e conflict.Entry) bool {
	return e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule
}

// hasGo reports whether Go files are directly in a directory.
func (l *layout) hasGo(dir string) bool { return slices.ContainsFunc(l.files(dir), isGo) }

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
	case ".a", ".o", ".so", ".dylib", ".lib", ".dll", ".inc", ".def", ".pc",
		".inl", ".ipp", ".ixx", ".icc", ".tcc", ".tpp", ".txx", ".h++", ".c++", ".C", ".H", ".tbl": // included by a C or C++ file
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
