package bazel

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// layout is a tree's files as Bazel sees them.
type layout struct {
	files    []conflict.Entry // sorted by path
	byPath   map[string]conflict.Entry
	goals    map[string]string // link → where it leads, "" if that is nowhere in the tree
	packages map[string]*place // by folder
	repos    map[string]string // repositories that are folders of the tree, by name
	apart    map[string]bool   // their folders
	given    map[string]string // repositories that new_local_repository makes of folders, by name
}

// place is where a package is.
type place struct {
	dir      string
	build    string         // path of its BUILD file
	dirs     []string       // its folders that are no packages
	inner    []string       // the folders below that are packages
	listing  []string       // names of all its files
	names    queue.Digest   // digest of listing
	border   []string       // what else could be a package inside: BUILD files of no package, those behind links
	boundary queue.Digest   // digest of inner and border
	entry    conflict.Entry // the BUILD file
}

func newLayout(ctx context.Context, t conflict.Tree, files []conflict.Entry) (*layout, error) {
	l := &layout{files: files, byPath: make(map[string]conflict.Entry, len(files)), goals: map[string]string{}, packages: map[string]*place{}, apart: map[string]bool{}, given: map[string]string{}}
	for _, e := range files {
		l.byPath[e.Path] = e
	}
	for _, e := range files {
		if e.Mode != conflict.ModeLink {
			continue
		}
		goal, err := t.Blob(ctx, e.OID)
		if err != nil {
			return nil, err
		}
		l.goals[e.Path] = inside(path.Dir(e.Path), string(goal))
	}
	ignored, err := l.ignored(ctx, t)
	if err != nil {
		return nil, err
	}
	if l.repos, err = l.innerRepos(ctx, t); err != nil {
		return nil, err
	}
	for _, dir := range l.repos {
		l.apart[dir] = true
	}
	for _, e := range files {
		if !isBuild(e.Path) {
			continue
		}
		dir := folder(e.Path)
		if to, ok := l.resolve(e.Path); !ok || to.Mode == conflict.ModeSubmodule || !askable(dir) || below(dir, ignored) || below(dir, l.apart) {
			continue
		}
		if p := l.packages[dir]; p == nil || path.Base(e.Path) == "BUILD.bazel" {
			l.packages[dir] = &place{dir: dir, build: e.Path, entry: e}
		}
	}
	return l, l.fill()
}

// ignored returns the folders that .bazelignore names.
func (l *layout) ignored(ctx context.Context, t conflict.Tree) (map[string]bool, error) {
	out := map[string]bool{}
	e, ok := l.resolve(".bazelignore")
	if !ok || e.Mode == conflict.ModeSubmodule {
		return out, nil
	}
	src, err := t.Blob(ctx, e.OID)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(src)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out[path.Clean(line)] = true
		}
	}
	return out, nil
}

// isBuild reports whether a file's name is that of a BUILD file.
func isBuild(file string) bool {
	name := path.Base(file)
	return name == "BUILD" || name == "BUILD.bazel"
}

// isScript reports whether a file's name is that of a file that can be loaded.
func isScript(file string) bool {
	return strings.HasSuffix(file, ".bzl") || strings.HasSuffix(file, ".scl")
}

// below reports whether a folder is one of a set, or in one.
func below(dir string, set map[string]bool) bool {
	for ; dir != ""; dir = folder(dir) {
		if set[dir] {
			return true
		}
	}
	return false
}

// folder returns the folder of a path, "" for the root.
func folder(file string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i]
	}
	return ""
}

// fill finds the folders and the listing of each package.
func (l *layout) fill() error {
	behind, ignored := 0, l.state(".bazelignore") // no glob looks into the folders that it names
	owners := map[string]*place{}                 // folder → the package that it is in
	var owner func(dir string) *place
	owner = func(dir string) *place {
		if p, ok := owners[dir]; ok {
			return p
		}
		p := l.packages[dir]
		if dir != "" {
			up := owner(folder(dir))
			if p == nil {
				p = up
			} else if up != nil {
				up.inner = append(up.inner, dir)
			}
		}
		if p != nil {
			p.dirs = append(p.dirs, dir)
		}
		owners[dir] = p
		return p
	}
	for _, e := range l.files {
		p := owner(folder(e.Path))
		if p == nil {
			continue
		}
		l.list(p, e)
		if e.Mode == conflict.ModeLink {
			if behind += l.listBehind(p, e.Path); behind > maxBehind {
				return fmt.Errorf("the links of its packages lead to more than %d files", maxBehind)
			}
		}
	}
	for _, p := range l.packages {
		slices.Sort(p.inner)
		slices.Sort(p.dirs)
		p.dirs = slices.Compact(p.dirs)
		p.boundary = digest.Of(string(digest.Of(p.inner...)), string(digest.Of(p.border...)))
		p.names = digest.Of(append(p.listing, ignored)...)
		p.listing, p.border = nil, nil
	}
	return nil
}

// list adds a file to a package's listing and border.
func (l *layout) list(p *place, e conflict.Entry) {
	p.listing = append(p.listing, e.Path, l.kind(e))
	if isBuild(e.Path) {
		p.border = append(p.border, e.Path, l.kind(e))
	}
}

// kind is the part of a listing about a file beside its name.
func (l *layout) kind(e conflict.Entry) string {
	if e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule {
		return e.Mode + e.OID
	}
	return ""
}

// under returns the files below a folder, "." being the root.
func (l *layout) under(dir string) []conflict.Entry {
	if dir == "." {
		return l.files
	}
	dir += "/"
	from := sort.Search(len(l.files), func(i int) bool { return l.files[i].Path >= dir })
	to := from
	for to < len(l.files) && strings.HasPrefix(l.files[to].Path, dir) {
		to++
	}
	return l.files[from:to]
}

// owner returns the folder of the package that a file would belong to.
func (l *layout) owner(file string) (string, bool) {
	for dir := folder(file); ; dir = folder(dir) {
		if _, ok := l.packages[dir]; ok || dir == "" {
			return dir, ok
		}
	}
}

// missingMode marks a file that a target names and the tree does not have.
const missingMode = "missing"

// entries returns the entries at a path that a target names: a file, with the
// link that leads to it, or all files of a folder; nil if there is nothing.
func (l *layout) entries(file string) []conflict.Entry {
	if e, ok := l.byPath[file]; ok && e.Mode != conflict.ModeLink {
		return []conflict.Entry{e}
	}
	var out []conflict.Entry
	if e, ok := l.byPath[file]; ok {
		out = append(out, e)
	}
	to, ok := l.follow(file)
	if !ok {
		return out
	}
	if e, there := l.byPath[to]; there && to != file {
		return append(out, e)
	}
	return append(out, l.under(to)...)
}

// content is a digest of all entries at some paths.
func (l *layout) content(files []string) queue.Digest {
	var all []string
	for _, file := range files {
		all = append(all, file)
		for _, e := range l.entries(file) {
			all = append(all, e.Path, e.Mode, e.OID)
		}
	}
	return digest.Of(all...)
}

// state describes the entry at a path: equal states mean equal content.
func (l *layout) state(file string) string {
	e, ok := l.byPath[file]
	if ok && e.Mode != conflict.ModeLink {
		return e.Mode + e.OID
	}
	to, there := l.resolve(file)
	return e.Mode + e.OID + " " + to.Path + " " + to.Mode + to.OID + map[bool]string{true: "", false: missingMode}[there]
}
