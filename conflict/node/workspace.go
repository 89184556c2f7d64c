package node

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// discover finds the roots and their packages.
func (b *builder) discover(ctx context.Context) error {
	var places []string // directories that may be packages, parents first
	for _, e := range b.layout.Sorted {
		switch path.Base(e.Path) {
		case "package.json", "pnpm-workspace.yaml", "project.json":
			if !installed(e.Path) {
				places = append(places, layout.Dir(e.Path))
			}
		}
	}
	slices.SortFunc(places, func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), strings.Compare(a, b))
	})
	places = slices.Compact(places)
	for _, dir := range places {
		if b.pkgs[dir] != nil || !b.isRoot(dir) {
			continue
		}
		if err := b.addRoot(ctx, dir, places); err != nil {
			return err
		}
	}
	if len(b.roots) == 0 {
		return errNone
	}
	b.name()
	return nil
}

func depth(dir string) int {
	if dir == "" {
		return 0
	}
	return 1 + strings.Count(dir, "/")
}

func (b *builder) has(dir, base string) (conflict.Entry, bool) {
	e, ok := b.layout.ByPath[strings.TrimPrefix(dir+"/"+base, "/")]
	return e, ok
}

// isRoot reports whether packages are installed for a directory separately. A
// package.json within a package is a fixture of that package.
func (b *builder) isRoot(dir string) bool {
	_, manifest := b.has(dir, "package.json")
	_, pnpm := b.has(dir, "pnpm-workspace.yaml")
	if !manifest && !pnpm {
		return false
	}
	for d := dir; d != ""; d = layout.Dir(d) {
		if p := b.pkgs[d]; p != nil && p.dir != p.root.dir {
			return false
		}
	}
	for _, name := range lockNames {
		if _, ok := b.has(dir, name); ok {
			return true
		}
	}
	return pnpm || !slices.ContainsFunc(b.roots, func(r *root) bool { _, in := below(r.dir, dir); return in || r.dir == dir })
}

func (b *builder) addRoot(ctx context.Context, dir string, places []string) error {
	r := &root{dir: dir, man: &manifest{}, deps: map[string]bool{}}
	b.roots = append(b.roots, r)
	if e, ok := b.has(dir, "package.json"); ok {
		man, err := b.manifestAt(ctx, e)
		if err != nil {
			return err
		}
		r.man = man
	}
	globs, ordered, err := b.globsOf(ctx, r)
	if err != nil {
		return err
	}
	_, nx := b.has(dir, "nx.json")
	top := false // the root is a package because its configuration says so
	for _, at := range places {
		rel, in := below(dir, at)
		if at == dir {
			rel, in = ".", true
		}
		if !in || b.pkgs[at] != nil {
			continue
		}
		_, manifest := b.has(at, "package.json")
		_, project := b.has(at, "project.json")
		member := manifest && selected(globs, ordered, rel)
		if !member && !(nx && project) {
			continue
		}
		if at == dir {
			top = true
			continue
		}
		if err := b.addPkg(ctx, r, at); err != nil {
			return err
		}
	}
	r.space = len(r.members) > 0
	if top || !r.space {
		return b.addPkg(ctx, r, dir)
	}
	return nil
}

func (b *builder) addPkg(ctx context.Context, r *root, dir string) error {
	p := &pkg{dir: dir, root: r, man: &manifest{}, nx: &project{}, deps: map[string]bool{}, foreign: map[string]bool{}, seen: map[string]bool{}}
	if e, ok := b.has(dir, "package.json"); ok {
		man, err := b.manifestAt(ctx, e)
		if err != nil {
			return err
		}
		p.man = man
		p.reads = append(p.reads, b.define(e))
		if nx := man.object.object("nx"); nx != nil {
			p.nx = readProject(nx)
		}
	}
	if e, ok := b.has(dir, "project.json"); ok {
		if _, nx := b.has(r.dir, "nx.json"); nx {
			v, err := b.read(ctx, reading{"nx", e, func(data []byte) (any, error) { return parseProject(e.Path, data) }})
			if err != nil {
				return err
			}
			p.nx = v.(*project)
			p.reads = append(p.reads, b.define(e))
		}
	}
	b.pkgs[dir] = p
	r.members = append(r.members, p)
	return nil
}

func (b *builder) manifestAt(ctx context.Context, e conflict.Entry) (*manifest, error) {
	v, err := b.read(ctx, manifestReading(e))
	if err != nil {
		return nil, err
	}
	return v.(*manifest), nil
}

// globsOf returns the globs by which a root names its packages, and whether
// later globs overrule earlier ones; if not, exclusions overrule all others.
func (b *builder) globsOf(ctx context.Context, r *root) (globs []string, ordered bool, err error) {
	globs, from := r.man.workspaces, "package.json"
	ordered = true
	if e, ok := b.has(r.dir, "pnpm-workspace.yaml"); ok {
		v, err := b.read(ctx, reading{"pnpm", e, func(data []byte) (any, error) { return parsePnpmWorkspace(e.Path, data) }})
		if err != nil {
			return nil, false, err
		}
		r.pnpm = v.(*pnpmWorkspace)
		if len(r.pnpm.packages) > 0 {
			globs, ordered, from = r.pnpm.packages, false, "pnpm-workspace.yaml"
		}
		b.barred[e.Path] = true
		r.claims = append(r.claims, conflict.Entry{Path: e.Path, Mode: e.Mode, OID: string(r.pnpm.facts)})
	}
	if e, ok := b.has(r.dir, "lerna.json"); ok && len(globs) == 0 {
		v, err := b.read(ctx, reading{"lerna", e, func(data []byte) (any, error) { return parseCommented(e.Path, data) }})
		if err != nil {
			return nil, false, err
		}
		globs, from = v.(object).texts("packages"), "lerna.json"
	}
	const longest = 300
	out := make([]string, len(globs))
	for i, g := range globs {
		not := strings.HasPrefix(g, "!")
		g = path.Clean(strings.TrimLeft(strings.TrimPrefix(g, "!"), "/"))
		if len(g) > longest || !doublestar.ValidatePattern(g) {
			return nil, false, fmt.Errorf("%s: the workspaces hold %.80q, which is no valid glob", strings.TrimPrefix(r.dir+"/"+from, "/"), g)
		}
		if out[i] = g; not {
			out[i] = "!" + g
		}
	}
	return out, ordered, nil
}

// selected reports whether the globs of a workspace select a directory.
func selected(globs []string, ordered bool, dir string) bool {
	in := false
	for _, g := range globs {
		g, not := strings.CutPrefix(g, "!")
		if in == !not || !doublestar.MatchUnvalidated(path.Join(g, "package.json"), path.Join(dir, "package.json")) {
			continue
		}
		in = !not
	}
	if ordered || !in {
		return in
	}
	return !slices.ContainsFunc(globs, func(g string) bool {
		g, not := strings.CutPrefix(g, "!")
		return not && doublestar.MatchUnvalidated(path.Join(g, "package.json"), path.Join(dir, "package.json"))
	})
}
