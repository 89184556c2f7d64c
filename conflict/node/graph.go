package node

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// The nodes that are no targets.
const (
	rootPrefix     = "root:" // the node that all packages of a workspace depend on
	usedPrefix     = "used:" // the packages that the root uses
	externalPrefix = "ext:"  // a package of a lock file
)

// graph makes the nodes of all packages.
func (b *builder) graph() *conflict.Graph {
	g := &conflict.Graph{}
	b.nest()
	b.cascade()
	for _, r := range b.roots {
		reached := b.reach(r)
		for _, p := range r.members {
			p.deps[rootPrefix+layout.Dotted(r.dir)] = true
			if len(r.deps) > 0 && !reached[p.name] {
				p.deps[usedPrefix+layout.Dotted(r.dir)] = true
			}
			g.Targets = append(g.Targets, b.target(p))
		}
		g.Targets = append(g.Targets, b.shared(r)...)
		if len(r.deps) > 0 {
			g.Targets = append(g.Targets, conflict.Target{Name: usedPrefix + layout.Dotted(r.dir), Kind: "node workspace", Internal: true,
				Attrs: digest.Of("node1"), Deps: slices.Sorted(maps.Keys(r.deps))})
		}
	}
	g.Barrier = b.barrier
	for _, name := range slices.Sorted(maps.Keys(b.defs)) {
		g.Definitions = append(g.Definitions, conflict.Definition{Name: name, Digest: b.defs[name]})
	}
	return g
}

// nest lets each package depend on the packages within its directory: a file of
// its own could be in their place.
func (b *builder) nest() {
	for dir, p := range b.pkgs {
		for d := dir; d != ""; {
			d = layout.Dir(d)
			if q := b.pkgs[d]; q != nil {
				b.depend(q, p)
				break
			}
		}
	}
}

// reach returns the packages that a root uses, with all their dependencies.
// These do not depend on the node of the packages that the root uses, or all of
// them would be one cycle.
func (b *builder) reach(r *root) map[string]bool {
	index := make(map[string]*pkg, len(b.pkgs))
	for _, p := range b.pkgs {
		index[p.name] = p
	}
	seen := map[string]bool{}
	for todo := slices.Collect(maps.Keys(r.deps)); len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p := index[name]; p != nil && !seen[name] {
			seen[name] = true
			todo = slices.AppendSeq(todo, maps.Keys(p.deps))
		}
	}
	return seen
}

// target is the node of a package.
func (b *builder) target(p *pkg) conflict.Target {
	t := conflict.Target{Name: p.name, Kind: "node package", Sources: p.sources, Inputs: p.inputs, Reads: p.reads}
	for _, n := range []string{p.nx.name, p.man.name} {
		if n != "" && n != p.name && len(b.byName[n]) == 1 {
			t.Alias = n
			break
		}
	}
	attrs := append([]string{"node1", layout.Dotted(p.dir)}, p.facts...)
	at, _ := below(p.root.dir, p.dir)
	for i, l := range p.root.locks {
		attrs = append(append(attrs, l.entry.Path), l.factsOf(at, p.man.deps)...)
		t.Deps = append(t.Deps, externals(l, p.uses[i])...)
	}
	if p.broken {
		attrs = append(attrs, string(b.tree.ID()))
	}
	t.Attrs = digest.Of(attrs...)
	t.Deps = slices.AppendSeq(t.Deps, maps.Keys(p.deps))
	slices.Sort(t.Deps)
	return t
}

func externals(l rootLock, f found) []string {
	names := make([]string, len(f.ids))
	for i, id := range f.ids {
		names[i] = externalPrefix + l.entry.Path + ":" + id
	}
	return names
}

// shared returns the node on which all members of a root depend, and the nodes
// of its external packages. An external package without a known user may be
// used by any member, so it is in the node of all.
func (b *builder) shared(r *root) []conflict.Target {
	t := conflict.Target{Name: rootPrefix + layout.Dotted(r.dir), Kind: "node workspace", Internal: true}
	t.Sources = append(slices.Clone(r.claims), r.files...)
	attrs := []string{"node1"}
	for _, f := range r.man.deps {
		if spec := r.pnpm.catalogued(f); spec != f.value {
			attrs = append(attrs, "catalog", f.key, spec)
		}
	}
	attrs = append(attrs, r.nxTwice()...)
	if len(r.astray) > 0 {
		attrs = append(attrs, "astray", string(digest.Of(r.astray...)))
	}
	dirs := map[string]bool{}
	var deps []field
	for _, p := range r.members {
		at, _ := below(r.dir, p.dir)
		dirs[at] = true
		deps = append(deps, p.man.deps...)
	}
	archives := b.archives(r)
	var nodes []conflict.Target
	for i, l := range r.locks {
		t.Deps = append(t.Deps, externals(l, r.uses[i])...)
		attrs = append(attrs, l.entry.Path, string(digest.Of(l.rest(dirs, deps)...)))
		used := l.closure(slices.Concat(r.uses[i].ids, idsOf(r.members, i)))
		for _, id := range slices.Sorted(maps.Keys(l.packages)) {
			x := l.packages[id]
			if !used[id] {
				attrs = append(attrs, id, string(x.digest))
				continue
			}
			n := conflict.Target{Name: externalPrefix + l.entry.Path + ":" + id, Kind: "node external package",
				Internal: true, Attrs: digest.Of("node1", string(x.digest)), Deps: externals(l, x.uses)}
			if e, ok := archives[x.archive]; ok {
				n.Sources = append(n.Sources, e)
				delete(archives, x.archive)
			}
			for _, dir := range x.uses.dirs {
				if q := b.pkgs[path.Join(r.dir, dir)]; q != nil {
					n.Deps = append(n.Deps, q.name)
				}
			}
			nodes = append(nodes, n)
		}
	}
	t.Sources = slices.AppendSeq(t.Sources, maps.Values(archives))
	t.Attrs = digest.Of(attrs...)
	slices.Sort(t.Deps)
	return append(nodes, t)
}

// archives returns the packages that are kept in the tree, .yarn/cache, by
// name and version.
func (b *builder) archives(r *root) map[string]conflict.Entry {
	files := map[string]conflict.Entry{}
	for _, e := range b.layout.Under(strings.TrimPrefix(r.dir+"/.yarn/cache", "/")) {
		key := path.Base(e.Path)
		for range 2 { // two checksums and the ending
			if i := strings.LastIndexByte(key, '-'); i > 0 && strings.Contains(key[:i], "-npm-") {
				key = key[:i]
			}
		}
		if _, twice := files[key]; twice {
			key = e.Path
		}
		files[key] = e
	}
	return files
}

func idsOf(members []*pkg, lock int) []string {
	var ids []string
	for _, p := range members {
		ids = append(ids, p.uses[lock].ids...)
	}
	return ids
}

// closure returns external packages with all packages that they use.
func (l *lock) closure(ids []string) map[string]bool {
	seen := map[string]bool{}
	for todo := ids; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if x := l.packages[id]; x != nil && !seen[id] {
			seen[id] = true
			todo = append(todo, x.uses.ids...)
		}
	}
	return seen
}

// nxTwice returns the names that several projects of an Nx workspace have, with their
// directories. Nx runs nothing in such a workspace, and changes that each add one
// of the projects, under package names that differ, affect no common target.
func (r *root) nxTwice() []string {
	if r.nx == nil {
		return nil
	}
	places := map[string][]string{}
	for _, p := range r.members {
		name := cmp.Or(p.nx.name, p.man.name, path.Base(p.dir))
		places[name] = append(places[name], p.dir)
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if len(places[name]) > 1 {
			list = append(append(list, "nx name", name), places[name]...)
		}
	}
	return list
}
