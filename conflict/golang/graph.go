package golang

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// The nodes that are no targets.
const (
	libPrefix  = "lib:"   // what others import of a package
	extPrefix  = "ext:"   // the external modules of a go.mod
	nativeNode = "native" // the files that C compilers, assemblers and linkers may read
)

// graph makes the nodes of all loaded packages.
func (b *builder) graph() *conflict.Graph {
	g := &conflict.Graph{Barrier: b.modules.barrier, Salt: b.modules.salt}
	cgo := false
	for _, p := range b.packages {
		lib := b.node(p, &p.lib)
		lib.Name, lib.Kind, lib.Internal = nodeName(libPrefix, p.dir), "go library", true
		g.Targets = append(g.Targets, lib)
		cgo = cgo || slices.Contains(lib.Deps, nativeNode)
		if !p.target {
			continue
		}
		test := b.node(p, &p.test)
		test.Name, test.Kind, test.Alias = dotted(p.dir), "go package", p.in.importPath(p.dir)
		test.Deps = append(test.Deps, lib.Name)
		g.Targets = append(g.Targets, test)
		cgo = cgo || slices.Contains(test.Deps, nativeNode)
	}
	for _, dir := range b.modules.dirs() {
		g.Targets = append(g.Targets, b.external(dir))
	}
	if cgo {
		g.Targets = append(g.Targets, b.native())
	}
	return g
}

// node makes a node of one half of a package.
func (b *builder) node(p *pkg, h *half) conflict.Target {
	t := conflict.Target{Sources: h.sources, Inputs: h.inputs, Reads: h.reads}
	attrs := []string{"go1", p.in.importPath(p.dir)}
	imports := slices.Clone(h.imports)
	slices.Sort(imports)
	for _, imp := range slices.Compact(imports) {
		if imp == "C" {
			t.Deps = append(t.Deps, nativeNode)
			continue
		}
		if b.depend(p, imp, &t) {
			h.broken = true
		}
	}
	if h.broken {
		attrs = append(attrs, string(b.tree.ID()))
	}
	t.Attrs = queue.DigestOf(attrs...)
	return t
}

// depend adds what an import leads to. It reports whether that cannot be told.
func (b *builder) depend(p *pkg, imp string, t *conflict.Target) (unknown bool) {
	g := p.in.resolve(imp)
	found := false
	for _, dir := range g.dirs {
		if b.packages[dir] != nil {
			found = true
			if dir != p.dir {
				t.Deps = append(t.Deps, nodeName(libPrefix, dir))
			}
			continue
		}
		if e, ok := b.layout.across(dir); ok {
			found = true
			t.Inputs = append(t.Inputs, e)
			g.external = true
			unknown = unknown || e.Mode == conflict.ModeLink
		}
	}
	if g.external {
		t.Deps = append(t.Deps, p.in.exts...)
	}
	if !found && len(g.dirs) > 0 {
		t.Deps = append(t.Deps, nodeName(libPrefix, g.dirs[0]))
	}
	return unknown
}

// external is the node of a module's external modules. They are one node:
// which of them uses which is not written in the tree, so each change of one
// may reach all who use any.
func (b *builder) external(dir string) conflict.Target {
	t := conflict.Target{Name: nodeName(extPrefix, dir), Kind: "go external modules", Internal: true}
	for _, name := range []string{"go.mod", "go.sum"} {
		if e, ok := b.layout.byPath[strings.TrimPrefix(dir+"/"+name, "/")]; ok {
			t.Sources = append(t.Sources, e)
		}
	}
	t.Sources = append(t.Sources, b.layout.under(strings.TrimPrefix(dir+"/vendor", "/"))...)
	return t
}

// native is the node of the files that may be read from any directory by
// packages with cgo, C or assembly. Who owns them stays as it is.
func (b *builder) native() conflict.Target {
	t := conflict.Target{Name: nativeNode, Kind: "native files", Internal: true}
	for _, e := range b.layout.sorted {
		if linkable(e.Path) {
			t.Inputs = append(t.Inputs, e)
		}
	}
	return t
}
