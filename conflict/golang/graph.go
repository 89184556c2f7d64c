package golang

import (
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// The nodes that are no targets.
const (
	libPrefix  = "lib:"   // the part of a package that others import
	extPrefix  = "ext:"   // the external modules of a go.mod
	nativeNode = "native" // the files that C compilers, assemblers and linkers may read
)

// nodes makes the nodes of a package. It reports whether the dependencies of
// one of them are not known.
func (b *builder) nodes(p *pkg) (list []conflict.Target, unknown bool) {
	for i, h := range p.halves() {
		t, broken := b.node(p, h)
		unknown = unknown || broken
		if i == 0 {
			t.Name, t.Kind, t.Internal = p.libName, "go library", true
		} else {
			t.Name, t.Kind, t.Alias = dotted(p.dir), "go package", p.in.importPath(p.dir)
			t.Deps = append(t.Deps, p.libName)
		}
		list = append(list, t)
	}
	return list, unknown
}

// node makes a node of one half of a package.
func (b *builder) node(p *pkg, h *half) (t conflict.Target, unknown bool) {
	t = conflict.Target{Sources: h.sources, Inputs: slices.Clip(h.inputs), Reads: h.reads}
	if h.native {
		t.Deps = append(t.Deps, nativeNode)
	}
	unknown = h.broken
	for _, g := range h.goals {
		if b.depend(p, g, &t) {
			unknown = true
		}
	}
	attrs := []string{"go1", p.in.importPath(p.dir)}
	if unknown {
		attrs = append(attrs, string(b.tree.ID()))
	}
	t.Attrs = digest.Of(attrs...)
	return t, unknown
}

// depend adds the dependencies that an import leads to. It reports whether they are not
// known.
func (b *builder) depend(p *pkg, g goals, t *conflict.Target) (unknown bool) {
	found, external := false, g.external
	for _, dir := range g.dirs {
		if to := b.now.packages.get(dir); to != nil {
			found = true
			if to != p {
				t.Deps = append(t.Deps, to.libName)
			}
			continue
		}
		if e, ok := b.now.layout.across(dir); ok {
			found, external = true, true
			t.Inputs = append(t.Inputs, e)
			unknown = unknown || e.Mode == conflict.ModeLink
		}
	}
	if external {
		t.Deps = append(t.Deps, p.in.exts...)
	}
	if !found && len(g.dirs) > 0 {
		t.Deps = append(t.Deps, nodeName(libPrefix, g.dirs[0]))
	}
	return unknown
}

// external is the node of a module's external modules. They are one node: the
// tree does not say which of them uses which, so a change of one may reach all
// packages that use any.
func (b *builder) external(dir string) conflict.Target {
	t := conflict.Target{Name: nodeName(extPrefix, dir), Kind: "go external modules", Internal: true}
	for _, name := range []string{"go.mod", "go.sum"} {
		if e, ok := b.now.layout.entry(below(dir, name)); ok {
			t.Sources = append(t.Sources, e)
		}
	}
	t.Sources = slices.AppendSeq(t.Sources, b.now.layout.under(below(dir, "vendor")))
	t.Inputs = b.now.modules.copies[dir]
	return t
}

// native is the node of the files that may be read from any directory by
// packages with cgo, C or assembly. Their owners stay the same.
func (b *builder) native() conflict.Target {
	t := conflict.Target{Name: nativeNode, Kind: "native files", Internal: true}
	for e := range b.now.layout.under("") {
		if linkable(e.Path) {
			t.Inputs = append(t.Inputs, e)
		}
	}
	return t
}
