package cargo

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// crate is a package that at least one workspace is built of.
type crate struct {
	dir    string
	src    source
	home   *workspace   // from which it inherits; nil if from none
	in     []*workspace // that it takes part in
	member bool         // of one of those
	named  []string     // patterns of its home that stand for it
	deps   []dependency // with the parts that they inherit
	edges  []edge
	lib    half // the part that dependents build
	test   half // the part that only its own tests are built of
}

// edge is a dependency on a directory of the tree.
type edge struct {
	dir string
	dev bool
}

// half is one of the two nodes of a crate.
type half struct {
	sources []conflict.Entry
	inputs  []conflict.Entry
	deps    []string
	reads   []string
	attrs   []string
}

// crate returns the crate of a directory, which has a manifest of a package.
func (l *loader) crate(ctx context.Context, dir string) (*crate, error) {
	if c := l.crates[dir]; c != nil {
		return c, nil
	}
	c := &crate{dir: dir, src: l.manifests[dir], home: l.root(dir)}
	for _, d := range c.src.deps {
		d, base := c.written(d)
		c.deps = append(c.deps, d)
		if d.path == "" {
			continue
		}
		to, inputs, err := l.lead(ctx, base, d.path)
		if err != nil {
			return nil, err
		}
		h := &c.lib
		if d.dev {
			h = &c.test
		}
		h.inputs = append(h.inputs, inputs...)
		if to == nowhere {
			h.attrs = append(h.attrs, "outside", d.name, path.Join(base, d.path))
			continue
		}
		c.edges = append(c.edges, edge{to, d.dev})
		h.deps = append(h.deps, libName(to))
		h.reads = append(h.reads, manifestOf(to))
	}
	l.crates[dir] = c
	return c, nil
}

// nowhere stands for the goal of a path that leaves the tree.
const nowhere = ".."

// lead returns the directory that a path means, with the links on the way.
func (l *loader) lead(ctx context.Context, base, to string) (dir string, via []conflict.Entry, err error) {
	p, ok := layout.Join(base, to)
	if !ok {
		return nowhere, nil, nil
	}
	p, via, ok, err = l.layout.Resolve(p, l.link(ctx))
	if !ok {
		return nowhere, via, err
	}
	return p, via, err
}

// written returns a dependency with the parts that it inherits, and the
// directory at which its path begins.
func (c *crate) written(d dependency) (dependency, string) {
	if !d.inherit || c.home == nil || c.home.m.workspace == nil {
		return d, c.dir
	}
	if w, ok := c.home.m.workspace.deps[d.key]; ok {
		d.name, d.path = w.name, w.path
	}
	return d, c.home.dir
}

// top reports whether a crate shares its directory with a whole repository or
// workspace: it owns only its sources there, not all other files.
func (c *crate) top() bool {
	return c.dir == "" || c.home != nil && c.home.dir == c.dir && len(c.home.members) > 1
}

// testDirs hold files that Cargo builds for tests, benchmarks and examples only.
var testDirs = []string{"tests", "benches", "examples"}

// own gives each crate the files of its directory, without those of crates in
// it.
func (l *loader) own() {
	for _, e := range l.layout.Sorted {
		for d := layout.Dir(e.Path); ; d = layout.Dir(d) {
			if c := l.crates[d]; c != nil {
				c.take(l.layout, e)
				break
			}
			if d == "" {
				break
			}
		}
	}
}

// take puts a file of the crate's directory into one of its halves, or leaves
// it without an owner.
func (c *crate) take(l *folders, e conflict.Entry) {
	sub := e.Path
	if c.dir != "" {
		sub = sub[len(c.dir)+1:]
	}
	first, _, deeper := strings.Cut(sub, "/")
	listed := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return path.Clean(p) == sub })
	}
	switch {
	case sub == manifestName:
		if c.src.workspace == nil {
			c.test.sources = append(c.test.sources, e)
		}
	case sub == lockName, setting(e.Path):
	case listed(c.src.lib):
		c.lib.sources = append(c.lib.sources, e)
	case deeper && slices.Contains(testDirs, first) && !c.builds(first), listed(c.src.test) && !c.beside(sub):
		c.test.sources = append(c.test.sources, e)
	case c.top() && !c.atTop(l, sub):
		if _, script := l.ByPath[file(c.dir, "build.rs")]; (script || c.src.build != "") && (deeper || !aboutOnly(sub)) && first[0] != '.' {
			c.lib.inputs = append(c.lib.inputs, e) // its build script may read all of them, and so may other crates
		}
	case !deeper && aboutOnly(sub):
		c.test.sources = append(c.test.sources, e)
	default:
		c.lib.sources = append(c.lib.sources, e)
	}
}

// builds reports whether the library, a program or the build script has its
// root file in a directory that is for tests otherwise.
func (c *crate) builds(first string) bool {
	return slices.ContainsFunc(c.src.lib, func(p string) bool { return within(path.Clean(p), first) })
}

// beside reports whether a file may be a module of the library or a program:
// its root file is in the directory, or further up.
func (c *crate) beside(sub string) bool {
	return within(sub, "src") || slices.ContainsFunc(c.src.lib, func(p string) bool { return within(sub, layout.Dir(path.Clean(p))) })
}

// atTop reports whether a crate owns a file though it does not own all of its
// directory: modules of its root files, and the files that well-known macros
// read by default.
func (c *crate) atTop(l *folders, sub string) bool {
	first, _, deeper := strings.Cut(sub, "/")
	if !deeper {
		return path.Ext(sub) == ".rs"
	}
	switch first {
	case "src", "templates", "migrations", "locales":
		return true
	}
	_, rooted := l.ByPath[file(c.dir, "build.rs")]
	rooted = rooted || slices.ContainsFunc(c.src.lib, func(p string) bool { return !strings.Contains(path.Clean(p), "/") })
	return rooted && l.modules(c.dir, first) || slices.ContainsFunc(c.src.lib, func(p string) bool {
		dir := layout.Dir(path.Clean(p))
		return dir != "" && within(sub, dir)
	})
}

// aboutOnly reports whether a file beside the manifest is only for readers:
// code that compiles it in names it, and that is noticed.
func aboutOnly(name string) bool {
	return strings.EqualFold(path.Ext(name), ".md") || strings.HasPrefix(name, "LICENSE") || name == ".gitignore"
}

// outside adds the sources that a manifest names beyond the crate's directory:
// all files beside them, as modules are files there.
func (l *loader) outside(c *crate) {
	add := func(h *half, paths []string) {
		for _, p := range paths {
			at, ok := layout.Join(c.dir, p)
			if !ok || within(at, c.dir) {
				continue
			}
			dir := layout.Dir(at)
			h.sources = append(h.sources, l.layout.At(at)...)
			h.reads = append(h.reads, conflict.ListingOf(dir))
			if dir == "" {
				for _, e := range l.layout.Sorted {
					first, _, deeper := strings.Cut(e.Path, "/")
					if first == "src" || deeper && l.layout.modules("", first) || !deeper && path.Ext(first) == ".rs" {
						h.sources = append(h.sources, e)
					}
				}
				continue
			}
			h.sources = append(h.sources, l.layout.Under(dir)...)
		}
	}
	add(&c.lib, c.src.lib)
	add(&c.test, c.src.test)
}
