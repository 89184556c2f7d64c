package cargo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// The nodes that are no targets.
const (
	libPrefix     = "lib:"       // the part of a crate that dependents build
	extPrefix     = "ext:"       // a package of a lock file
	lockNode      = "lock:"      // a lock file without its packages
	workspaceNode = "workspace:" // the parts of a workspace's manifest for all members
)

// manifestOf names the manifest of a directory as a definition node.
func manifestOf(dir string) string { return conflict.DefinitionPrefix + file(dir, manifestName) }

func libName(dir string) string { return libPrefix + layout.Dotted(dir) }

// sorted returns the workspaces by directory.
func (l *loader) sorted() []*workspace {
	var list []*workspace
	for _, d := range slices.Sorted(maps.Keys(l.workspaces)) {
		list = append(list, l.workspaces[d])
	}
	return list
}

func (l *loader) sortedCrates() []*crate {
	var list []*crate
	for _, d := range slices.Sorted(maps.Keys(l.crates)) {
		list = append(list, l.crates[d])
	}
	return list
}

// graph makes the nodes of all crates and workspaces.
func (l *loader) graph() (*conflict.Graph, error) {
	names, err := l.names()
	if err != nil {
		return nil, err
	}
	g := &conflict.Graph{}
	taken := map[*workspace]map[string]bool{}
	for _, c := range l.sortedCrates() {
		if taken[c.home] == nil {
			taken[c.home] = map[string]bool{}
		}
		l.inherit(c, taken[c.home])
		l.define(c)
	}
	for _, w := range l.sorted() {
		if len(w.members) == 0 {
			continue
		}
		l.externals(w, g)
		g.Targets = append(g.Targets, l.workspaceNode(w, taken[w]))
	}
	for _, c := range l.sortedCrates() {
		g.Targets = append(g.Targets, c.nodes(names[c.dir])...)
	}
	g.Definitions = append(g.Definitions, l.definitions()...)
	return g, nil
}

// nodes makes the two nodes of a crate.
func (c *crate) nodes(name string) []conflict.Target {
	node := func(h *half, sum queue.Digest) conflict.Target {
		return conflict.Target{Sources: h.sources, Inputs: h.inputs, Deps: h.deps, Reads: h.reads,
			Attrs: digest.Of(append([]string{"cargo1", c.src.name, string(sum)}, h.attrs...)...)}
	}
	lib, test := node(&c.lib, c.src.built), node(&c.test, c.src.tested)
	lib.Name, lib.Kind, lib.Internal = libName(c.dir), "cargo library", true
	test.Name, test.Kind, test.Internal = name, "cargo crate", !c.member
	test.Deps = append(test.Deps, lib.Name)
	if name != c.src.name {
		test.Alias = c.src.name
	}
	for _, w := range c.in {
		if w.members[c.dir] {
			test.Deps = append(test.Deps, workspaceNode+layout.Dotted(w.dir), lockNode+layout.Dotted(w.dir))
		}
	}
	return []conflict.Target{lib, test}
}

// names returns the name of each crate's target: the package's in the first
// workspace, where `cargo test -p NAME` finds it, the directory elsewhere.
func (l *loader) names() (map[string]string, error) {
	first := l.first()
	names, taken := map[string]string{}, map[string]string{}
	for _, c := range l.sortedCrates() {
		names[c.dir] = layout.Dotted(c.dir)
		if first == nil || !first.members[c.dir] || c.src.name == config.TargetTree || c.src.name == config.TargetUnowned {
			continue
		}
		if other, twice := taken[c.src.name]; twice {
			return nil, fmt.Errorf("%s: %s is a package of the same name, %s", c.src.entry.Path, file(other, manifestName), c.src.name)
		}
		taken[c.src.name], names[c.dir] = c.dir, c.src.name
	}
	return names, nil
}

// first returns the workspace in which packages go by their names: the one at
// the top, or the only one that is nearest to it. Otherwise there is none.
func (l *loader) first() *workspace {
	var best []*workspace
	for _, w := range l.sorted() {
		switch {
		case len(w.members) == 0:
		case len(best) == 0 || depth(w.dir) < depth(best[0].dir):
			best = []*workspace{w}
		case depth(w.dir) == depth(best[0].dir):
			best = append(best, w)
		}
	}
	if len(best) != 1 {
		return nil
	}
	return best[0]
}

// inherit adds the parts that a crate takes from its workspace's manifest, and
// notes that they are taken.
func (l *loader) inherit(c *crate, taken map[string]bool) {
	if c.home == nil || c.home.m.workspace == nil {
		return
	}
	take := func(h *half, part string) {
		taken[part] = true
		h.attrs = append(h.attrs, part, string(c.home.m.workspace.parts[part]))
		h.reads = append(h.reads, l.part(c.home.dir, part))
	}
	for _, part := range c.src.inherits {
		take(&c.lib, part)
	}
	for _, d := range c.src.deps {
		if d.inherit {
			take(c.half(d.dev), "dep "+d.key)
		}
	}
}

// part names a part of a workspace's manifest as a definition node.
func (l *loader) part(dir, part string) string {
	return conflict.DefinitionPrefix + file(dir, manifestName) + "#" + part
}

// define adds the definition inputs of a crate: the manifests above it, the
// parts of its workspace about it, and the listings of its directories.
func (l *loader) define(c *crate) {
	c.lib.reads = append(c.lib.reads, conflict.ListingOf(c.dir))
	for _, sub := range []string{"src", "src/bin"} {
		c.lib.reads = append(c.lib.reads, conflict.ListingOf(file(c.dir, sub)))
	}
	for _, sub := range testDirs {
		c.test.reads = append(c.test.reads, conflict.ListingOf(file(c.dir, sub)))
	}
	for d := c.dir; ; d = layout.Dir(d) {
		c.lib.reads = append(c.lib.reads, manifestOf(d))
		if d == "" {
			break
		}
	}
	if c.home != nil {
		c.lib.reads = append(c.lib.reads, l.part(c.home.dir, "exclude"))
		for _, pattern := range c.named {
			c.lib.reads = append(c.lib.reads, l.part(c.home.dir, "member "+pattern))
		}
	}
}

// definitions returns the parts of each manifest that shape the graph. A list
// of members is many nodes: changes that each add one do not conflict.
func (l *loader) definitions() []conflict.Definition {
	var list []conflict.Definition
	add := func(name string, fields ...string) {
		list = append(list, conflict.Definition{Name: name, Digest: digest.Of(fields...)})
	}
	for dir, m := range l.manifests {
		shape := []string{m.name, m.pointer, fmt.Sprint(m.isPackage, m.workspace != nil, m.broken != nil)}
		add(conflict.DefinitionPrefix+m.entry.Path, shape...)
		if m.workspace == nil {
			continue
		}
		add(l.part(dir, "exclude"), m.workspace.exclude...)
		seen := map[string]bool{}
		for _, pattern := range m.workspace.members {
			if !seen[pattern] {
				add(l.part(dir, "member "+pattern), pattern)
			}
			seen[pattern] = true
		}
		for part, sum := range m.workspace.parts {
			add(l.part(dir, part), string(sum))
		}
	}
	return list
}

// workspaceNode is the node of the parts of a workspace's manifest that are for
// all of its members. It owns the manifest by its meaning: parts that single
// members take are in the hashes of these, and comments in none. A dependency
// that no member takes is in no hash, unless it has a field for which Cargo may refuse
// the whole file.
func (l *loader) workspaceNode(w *workspace, taken map[string]bool) conflict.Target {
	t := conflict.Target{Name: workspaceNode + layout.Dotted(w.dir), Kind: "cargo workspace", Internal: true, Reads: w.reads}
	attrs := []string{"cargo workspace1", string(w.m.rest), string(digest.Of(slices.Concat(w.astray, l.twice(w))...))}
	if w.m.workspace != nil {
		for _, part := range slices.Sorted(maps.Keys(w.m.workspace.parts)) {
			if !taken[part] && (!strings.HasPrefix(part, "dep ") || w.m.workspace.odd[part]) {
				attrs = append(attrs, part, string(w.m.workspace.parts[part]))
			}
		}
		e := l.manifests[w.dir].entry
		e.OID = string(digest.Of(e.Mode, strings.Join(w.m.workspace.exclude, "\n")))
		t.Sources = append(t.Sources, e)
	}
	t.Attrs = digest.Of(attrs...)
	return t
}

// twice returns what several packages of a workspace have though Cargo allows it to
// one of them: a name, and a native library that it links. Cargo refuses all packages
// then, and changes that each add one of the two affect no common target.
func (l *loader) twice(w *workspace) []string {
	seen, list := map[string]bool{}, []string{}
	add := func(what string) {
		if seen[what] {
			list = append(list, what)
		}
		seen[what] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(w.used)) {
		src := l.crates[dir].src
		if w.members[dir] {
			add("name " + src.name)
		}
		if src.links != "" {
			add("links " + src.links)
		}
	}
	if w.lock == nil {
		return list
	}
	// No lock file says what a package of a registry links. By the custom of Rust, z-sys and
	// libz-sys link z, and so do two versions of one of them.
	for i := range w.lock.packages {
		if stem, ok := strings.CutSuffix(w.lock.packages[i].name, "-sys"); ok && w.lock.packages[i].source != "" {
			add("sys " + strings.TrimPrefix(stem, "lib"))
		}
	}
	return list
}
