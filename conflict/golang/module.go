package golang

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/submitqueue/submitqueue/conflict"
)

// goModule is one go.mod of the tree.
type goModule struct {
	dir     string
	path    string
	file    *modfile.File
	locals  map[string]string   // module path → directory, as seen when this is the main module
	visible map[string][]string // the same joined over all main modules that this one is built in
	exts    []string            // the nodes of the external modules of these main modules
	require map[string]bool     // paths of the external modules of these main modules, and of those of the tree that they build from vendored copies
	copied  bool                // beside it are vendored copies of its requirements
}

// modules are all modules of the tree, with the additions of go.work.
type modules struct {
	byDir   map[string]*goModule
	barrier []conflict.Entry // go.work and its sum, and what `go work vendor` writes beside it, with what links in that lead to
	vendors []string         // the directories that it writes
	salt    []string

	copies  map[string][]conflict.Entry // what links among the vendored files of a module lead to
	watches []string                    // as of a pkg, of all of these links
	ways    []string                    // the same of the links to modules: they hold as long as no link on the way comes or goes
}

// readModules reads each go.mod outside of directories that the go command
// skips, and each go.work. A module that does not parse has no packages; at
// the top it is an error.
func readModules(ctx context.Context, t conflict.Tree, files []conflict.Entry) (*modules, error) {
	m := &modules{byDir: map[string]*goModule{}}
	broken := []string{}
	var works []conflict.Entry
	for _, e := range files {
		if !setsModules(e.Path) {
			continue
		}
		dir, base := dirOf(e.Path), path.Base(e.Path)
		if base != "go.mod" {
			m.barrier = append(m.barrier, e)
			if base == "go.work" {
				works = append(works, e)
				m.vendors = append(m.vendors, below(dir, "vendor"))
			}
			continue
		}
		if e.Mode == conflict.ModeLink { // a change of the file that it leads to would not be noticed
			return nil, fmt.Errorf("%s is a symbolic link: put the file itself there", e.Path)
		}
		data, err := t.Blob(ctx, e.OID)
		if err != nil {
			return nil, err
		}
		f, err := modfile.Parse(e.Path, data, anyVersion)
		switch {
		case err == nil && f.Module != nil:
			m.byDir[dir] = &goModule{dir: dir, path: f.Module.Mod.Path, file: f}
		case dir == "" && err != nil:
			return nil, err
		case dir == "":
			return nil, fmt.Errorf("%s has no module line", e.Path)
		default:
			m.byDir[dir] = nil
			broken = append(broken, dir)
		}
	}
	for _, e := range files {
		_, module := m.byDir[dirOf(e.Path)]
		if e.Mode == conflict.ModeLink && (module && besideModule(e.Path) || slices.Contains(m.vendors, e.Path)) {
			return nil, fmt.Errorf("%s is a symbolic link: put the file or folder itself there", e.Path)
		}
		if m.vendored(e.Path) {
			m.barrier = append(m.barrier, e)
		}
		if in := m.byDir[dirOf(dirOf(e.Path))]; in != nil && listsCopies(e.Path) {
			in.copied = true
		}
	}
	for _, d := range m.dirs() {
		m.byDir[d].locals = m.byDir[d].own()
	}
	for _, e := range works {
		data, err := t.Blob(ctx, e.OID)
		if err != nil {
			return nil, err
		}
		w, err := modfile.ParseWork(e.Path, data, anyVersion)
		if err != nil {
			return nil, err
		}
		m.use(dirOf(e.Path), w)
	}
	m.join()
	for _, d := range m.dirs() {
		m.salt = append(m.salt, m.byDir[d].salt()...)
	}
	m.salt = append(m.salt, broken...)
	return m, nil
}

// setsModules reports whether the modules of a tree may depend on a file.
func setsModules(file string) bool {
	base := file[strings.LastIndexByte(file, '/')+1:]
	return (base == "go.mod" || base == "go.work" || base == "go.work.sum") && !hidden(dirOf(file))
}

// besideModule reports whether a path is one that the go command reads beside a go.mod: the
// external modules' node has what is there, and not what a link there leads to.
func besideModule(file string) bool {
	base := file[strings.LastIndexByte(file, '/')+1:]
	return base == "go.sum" || base == "vendor"
}

// listsCopies reports whether a file tells the go command that there are vendored copies.
// It then builds these, also in the place of modules of the tree.
func listsCopies(file string) bool {
	return path.Base(file) == "modules.txt" && path.Base(dirOf(file)) == "vendor"
}

// followCopies finds what links among vendored files lead to. A module of the tree that a
// go.mod puts in the place of its requirement is a dependency already.
func (b *builder) followCopies(ctx context.Context) error {
	m, l := b.now.modules, b.now.layout
	m.copies = map[string][]conflict.Entry{}
	read := b.linkReader(ctx)
	look := func(path string) { m.watches = append(m.watches, path) }
	pass := func(path string) { m.ways = append(m.ways, path) }
	for _, dir := range m.dirs() {
		goals := map[string]bool{}
		for e := range l.under(below(dir, "vendor")) {
			if e.Mode != conflict.ModeLink {
				continue
			}
			goal, ok, err := l.goal(e.Path, read, pass)
			if err != nil {
				return err
			}
			if to := m.byDir[goal]; ok && to != nil && m.byDir[dir].locals[to.path] == goal {
				continue
			}
			found, err := l.follow(e, read, look, goals)
			if err != nil {
				return err
			}
			m.copies[dir] = append(m.copies[dir], found...)
		}
	}
	goals := map[string]bool{}
	for _, dir := range m.vendors { // of a workspace: its vendored files are in every hash
		for e := range l.under(dir) {
			if e.Mode != conflict.ModeLink {
				continue
			}
			found, err := l.follow(e, read, look, goals)
			if err != nil {
				return err
			}
			m.barrier = append(m.barrier, found...)
		}
	}
	return nil
}

// moveCopies reports whether changes may lead links among the vendored files of modules
// elsewhere, or to other files.
func (m *modules) moveCopies(files []conflict.FileChange) bool {
	crossings := crossingsOf(files)
	for _, dir := range m.dirs() {
		vendor := below(dir, "vendor") + "/"
		for at := range crossings {
			if strings.HasPrefix(at, vendor) {
				return true
			}
		}
	}
	return slices.ContainsFunc(m.watches, func(at string) bool { return touches(files, at) || crossings.cross(at) }) ||
		slices.ContainsFunc(m.ways, crossings.cross)
}

// vendored reports whether a file is a copy of an external module for all modules of
// a workspace. It may stand beside no go.mod, so no module's node has it.
func (m *modules) vendored(file string) bool {
	return slices.ContainsFunc(m.vendors, func(dir string) bool { return strings.HasPrefix(file, dir+"/") })
}

// same reports whether another go.mod differs only in the versions of external
// modules: it gives the same salt, and the same meaning of imports.
func (m *goModule) same(f *modfile.File) bool {
	alone := func(f *modfile.File) *goModule {
		a := &goModule{dir: m.dir, path: f.Module.Mod.Path, file: f}
		a.locals = a.own()
		return a
	}
	required := func(f *modfile.File) map[string]bool {
		paths := map[string]bool{}
		for _, r := range f.Require {
			paths[r.Mod.Path] = true
		}
		return paths
	}
	return f.Module != nil && slices.Equal(alone(m.file).salt(), alone(f).salt()) &&
		maps.Equal(replaced(m.dir, m.file.Replace), replaced(m.dir, f.Replace)) && maps.Equal(required(m.file), required(f))
}

// anyVersion keeps versions as they are written; the go command checks that
// they exist.
func anyVersion(_, version string) (string, error) { return version, nil }

// dirs returns the directories of the modules that could be read, sorted.
func (m *modules) dirs() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.byDir)), func(d string) bool { return m.byDir[d] == nil })
}

// of returns the module that a directory belongs to, or nil.
func (m *modules) of(dir string) *goModule {
	for {
		if mod, ok := m.byDir[dir]; ok || dir == "" {
			return mod
		}
		dir = dirOf(dir)
	}
}

// inTree returns where a relative replacement or use leads, if within the tree.
func inTree(from, to string) (string, bool) {
	dir := path.Join(from, to)
	if dir == "." {
		return "", true
	}
	return dir, dir != ".." && !strings.HasPrefix(dir, "../") && !path.IsAbs(to)
}

// own returns the module itself and its replacements by directories.
func (m *goModule) own() map[string]string {
	locals := map[string]string{m.path: m.dir}
	for path, dir := range replaced(m.dir, m.file.Replace) {
		locals[path] = dir
	}
	return locals
}

func replaced(from string, list []*modfile.Replace) map[string]string {
	locals := map[string]string{}
	for _, r := range list {
		if r.New.Version != "" {
			continue
		}
		if dir, ok := inTree(from, r.New.Path); ok {
			locals[r.Old.Path] = dir
		}
	}
	return locals
}

// use lets the modules of a workspace see one another.
func (m *modules) use(dir string, w *modfile.WorkFile) {
	all := replaced(dir, w.Replace)
	var used []*goModule
	for _, u := range w.Use {
		if d, ok := inTree(dir, u.Path); ok && m.byDir[d] != nil {
			used = append(used, m.byDir[d])
			all[m.byDir[d].path] = d
		}
	}
	for _, u := range used {
		maps.Copy(u.locals, all)
		for _, v := range used {
			maps.Copy(u.locals, replaced(v.dir, v.file.Replace))
		}
	}
}

// join gives each module the modules that it sees as part of any main module: a
// package is built in the context of its importers, and its hash must cover all
// of these contexts.
func (m *modules) join() {
	dirs := m.dirs()
	for _, d := range dirs {
		m.byDir[d].visible, m.byDir[d].require = map[string][]string{}, map[string]bool{}
	}
	for _, d := range dirs {
		main := m.byDir[d]
		for part := range main.parts() {
			if mod := m.byDir[part]; mod != nil {
				mod.join(main)
			}
		}
	}
}

// parts returns the directories of the modules that a main module is built of.
func (m *goModule) parts() map[string]bool {
	dirs := map[string]bool{m.dir: true}
	for _, d := range m.locals {
		dirs[d] = true
	}
	return dirs
}

// join adds the modules that a module sees where another one is the main module.
func (m *goModule) join(main *goModule) {
	m.exts = append(m.exts, nodeName(extPrefix, main.dir))
	for path, dir := range main.locals {
		if !slices.Contains(m.visible[path], dir) {
			m.visible[path] = append(m.visible[path], dir)
		}
	}
	for _, r := range main.file.Require {
		if _, ok := main.locals[r.Mod.Path]; !ok || main.copied {
			m.require[r.Mod.Path] = true
		}
	}
}

// salt returns the parts of a go.mod that change how every package is built or
// found: all but the external modules, on which only their users depend.
func (m *goModule) salt() []string {
	s := []string{"module", m.dir, m.path}
	if m.file.Go != nil {
		s = append(s, "go", m.file.Go.Version)
	}
	if m.file.Toolchain != nil {
		s = append(s, "toolchain", m.file.Toolchain.Name)
	}
	for _, g := range m.file.Godebug {
		s = append(s, "godebug", g.Key, g.Value)
	}
	for _, t := range m.file.Tool {
		s = append(s, "tool", t.Path)
	}
	for _, i := range m.file.Ignore {
		s = append(s, "ignore", i.Path)
	}
	for _, p := range slices.Sorted(maps.Keys(m.locals)) {
		s = append(s, "local", p, m.locals[p])
	}
	return s
}

// importPath returns the import path of a directory of the module.
func (m *goModule) importPath(dir string) string {
	return path.Join(m.path, strings.TrimPrefix(strings.TrimPrefix(dir, m.dir), "/"))
}

// goals are the packages that an import may mean.
type goals struct {
	dirs     []string // directories of the tree
	external bool
}

// resolve returns every directory of the tree that an import may mean, and
// whether it may mean an external module. The go command picks one; which one
// is not known without the external modules, and more inputs are safe.
func (m *goModule) resolve(imp string) goals {
	var g goals
	for prefix, rest := imp, ""; prefix != ""; {
		for _, dir := range m.visible[prefix] {
			g.dirs = append(g.dirs, strings.TrimPrefix(path.Join(dir, rest), "/"))
		}
		g.external = g.external || m.require[prefix]
		up := dirOf(prefix)
		rest = strings.TrimPrefix(imp[len(up):], "/")
		prefix = up
	}
	if first, _, _ := strings.Cut(imp, "/"); len(g.dirs) == 0 && strings.Contains(first, ".") {
		g.external = true
	}
	return g
}
