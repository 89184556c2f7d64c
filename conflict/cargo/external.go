package cargo

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// readLocks reads the lock file of each workspace that has one.
func (l *loader) readLocks(ctx context.Context) error {
	for _, w := range l.sorted() {
		e, ok := l.layout.ByPath[file(w.dir, lockName)]
		if !ok || len(w.members) == 0 {
			continue
		}
		at, err := l.goal(ctx, e)
		if err != nil {
			return err
		}
		if at.OID == "" || at.Mode == conflict.ModeSubmodule {
			return (&fault{1, "this is no file"}).at(e.Path)
		}
		k, ok := l.analyzer.locks.Get(at.OID)
		if !ok {
			src, err := l.tree.Blob(ctx, at.OID)
			if err != nil {
				return err
			}
			k = readLock(src)
			l.analyzer.locks.Add(at.OID, k)
		}
		if k.broken != nil {
			return k.broken.at(e.Path)
		}
		w.lock = k
	}
	return nil
}

// external are the packages of one lock file as nodes.
type external struct {
	l     *loader
	w     *workspace
	local map[int][]string // packages without a source → libraries of the tree
	used  []bool
}

// externals adds the nodes of a workspace's lock file: one for each package
// that its crates depend on, directly or not.
func (l *loader) externals(w *workspace, g *conflict.Graph) {
	x := &external{l: l, w: w, local: map[int][]string{}}
	if w.lock != nil {
		x.used = make([]bool, len(w.lock.packages))
		x.locals()
	}
	for _, dir := range slices.Sorted(maps.Keys(w.used)) {
		x.connect(l.crates[dir])
	}
	if w.lock != nil {
		x.nodes(g)
	}
}

// locals finds the packages of the tree among the locked ones.
func (x *external) locals() {
	for dir := range x.w.used {
		for _, i := range x.w.lock.byName[x.l.crates[dir].src.name] {
			if x.w.lock.packages[i].source == "" {
				x.local[i] = append(x.local[i], libName(dir))
			}
		}
	}
}

// connect adds the locked packages that a crate uses. A package that only its
// dev-dependencies name belongs to its tests; in doubt a package belongs to its
// library.
func (x *external) connect(c *crate) {
	named := map[string]bool{} // package → only by dev-dependencies
	for _, d := range c.deps {
		dev, ok := named[d.name]
		named[d.name] = d.dev && (dev || !ok)
		for _, dir := range x.w.patched[d.name] {
			h := c.half(d.dev)
			h.deps = append(h.deps, libName(dir))
		}
	}
	if x.w.lock == nil {
		// Nothing tells which external packages depend on a replaced one.
		for _, dirs := range x.w.patched {
			for _, dir := range dirs {
				c.test.deps = append(c.test.deps, libName(dir))
			}
		}
		return
	}
	found := false
	for _, i := range x.w.lock.byName[c.src.name] {
		p := &x.w.lock.packages[i]
		if p.source != "" {
			continue
		}
		found, x.used[i] = true, true
		for _, j := range p.deps {
			x.use(c.half(named[x.w.lock.packages[j].name]), j)
		}
	}
	if !found { // the lock file does not know it yet
		for _, d := range c.deps {
			for _, j := range x.w.lock.byName[d.name] {
				x.use(c.half(d.dev), j)
			}
		}
	}
	for _, d := range c.deps {
		if d.path == "" {
			h := c.half(d.dev)
			h.reads = append(h.reads, x.definition(d.name))
		}
	}
}

// half returns the half that a dependency belongs to.
func (c *crate) half(dev bool) *half {
	if dev {
		return &c.test
	}
	return &c.lib
}

// use makes a half depend on a locked package.
func (x *external) use(h *half, i int) { h.deps = append(h.deps, x.names(i)...) }

// names returns the nodes of a locked package.
func (x *external) names(i int) []string {
	if local := x.local[i]; len(local) > 0 {
		return local
	}
	for todo := []int{i}; len(todo) > 0; {
		j := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !x.used[j] {
			x.used[j] = true
			todo = append(todo, x.w.lock.packages[j].deps...)
		}
	}
	return []string{x.name(i)}
}

// name returns the name of an external package's node. If two sources give one
// version, the source is part of it.
func (x *external) name(i int) string {
	p := &x.w.lock.packages[i]
	name := extPrefix + layout.Dotted(x.w.dir) + ":" + p.name + "@" + p.version
	if x.w.lock.twice(i) {
		name += " " + p.source
	}
	return name
}

// definition names the versions that a lock file has of a package. A crate that
// depends on the package reads this definition.
func (x *external) definition(name string) string {
	return conflict.DefinitionPrefix + file(x.w.dir, lockName) + "#" + name
}

// nodes adds the packages that crates depend on, and the lock file's own node
// for the rest of it.
func (x *external) nodes(g *conflict.Graph) {
	k := x.w.lock
	e := x.l.layout.ByPath[file(x.w.dir, lockName)]
	rest := []string{"cargo lock1", string(k.header)}
	if !k.exact {
		rest = append(rest, e.Mode, e.OID)
	}
	twice := map[string]bool{}
	for i := range k.packages {
		p := &k.packages[i]
		if !x.used[i] {
			rest = append(rest, p.name, p.version, p.source, p.checksum, strings.Join(p.written, "\n"))
			continue
		}
		if len(x.local[i]) > 0 || twice[x.name(i)] {
			continue
		}
		twice[x.name(i)] = true
		t := conflict.Target{Name: x.name(i), Kind: "cargo package", Internal: true, Sources: x.l.vendor(p),
			Attrs: digest.Of("cargo package1", p.name, p.version, p.source, p.checksum, p.replace)}
		for _, j := range p.deps {
			t.Deps = append(t.Deps, x.names(j)...)
			t.Reads = append(t.Reads, x.definition(k.packages[j].name))
		}
		for _, dir := range x.w.patched[p.name] {
			t.Deps = append(t.Deps, libName(dir))
		}
		g.Targets = append(g.Targets, t)
	}
	for name, list := range k.byName {
		var versions []string
		for _, i := range list {
			versions = append(versions, k.packages[i].version, k.packages[i].source)
		}
		slices.Sort(versions)
		g.Definitions = append(g.Definitions, conflict.Definition{Name: x.definition(name), Digest: digest.Of(versions...)})
	}
	e.OID = string(digest.Of(rest...))
	g.Targets = append(g.Targets, conflict.Target{Name: lockNode + layout.Dotted(x.w.dir), Kind: "cargo lock", Internal: true,
		Sources: []conflict.Entry{e}})
}
