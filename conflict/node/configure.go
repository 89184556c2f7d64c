package node

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// configure reads the settings of TypeScript, Turborepo and Nx.
func (b *builder) configure(ctx context.Context) error {
	for _, r := range b.roots {
		if err := b.configureRoot(ctx, r); err != nil {
			return err
		}
		if r.nx != nil {
			r.inputs = b.inputsOf(r)
		}
		for _, p := range r.members {
			for _, e := range p.sources {
				if !isTSConfig(e.Path) || e.Mode == conflict.ModeSubmodule || installed(e.Path) {
					continue
				}
				if err := b.addTSConfig(ctx, p, extended{Entry: e}); err != nil {
					return err
				}
			}
			if p.dir != r.dir {
				t, err := b.turboAt(ctx, p.dir)
				if err != nil {
					return err
				}
				if t != nil {
					b.applyTurbo(r, p, t)
				}
			}
			b.applyProject(p, p.nx)
			if r.nx != nil {
				b.applyProject(p, &project{inputs: inProject(r.inputs), paths: r.nx.paths})
			}
		}
	}
	for _, r := range b.roots {
		if r.turbo != nil {
			b.applyTurbo(r, nil, r.turbo)
		}
		b.configureShared(r)
	}
	return nil
}

// inProject returns the globs that mean other files for each project.
func inProject(globs []string) []string {
	return slices.DeleteFunc(slices.Clone(globs), func(g string) bool { return !strings.HasPrefix(g, "{projectRoot}/") })
}

// maxExtends bounds chains of configurations that extend one another.
const maxExtends = 8

func (b *builder) configureRoot(ctx context.Context, r *root) error {
	var err error
	if r.turbo, err = b.turboAt(ctx, r.dir); err != nil {
		return err
	}
	if e, ok := b.has(r.dir, "nx.json"); ok {
		v, err := b.read(ctx, reading{"nxroot", e, func(data []byte) (any, error) { return parseNx(e.Path, data) }})
		if err != nil {
			return err
		}
		r.nx = v.(*project)
	}
	if !r.space {
		return nil
	}
	if err := b.findAstray(ctx, r); err != nil {
		return err
	}
	if err := b.readSettings(ctx, r); err != nil {
		return err
	}
	for _, name := range []string{"tsconfig.json", "tsconfig.base.json", "tsconfig.paths.json", "jsconfig.json"} {
		e, ok := b.has(r.dir, name)
		if !ok || e.Mode == conflict.ModeSubmodule {
			continue
		}
		c, err := b.tsconfigAt(ctx, e)
		if err != nil {
			return err
		}
		r.scope.dirs = append(r.scope.dirs, r.dir)
		r.scope.configs = append(r.scope.configs, c)
	}
	return nil
}

func (b *builder) turboAt(ctx context.Context, dir string) (*turbo, error) {
	for _, name := range turboNames {
		e, ok := b.has(dir, name)
		if !ok {
			continue
		}
		v, err := b.read(ctx, reading{"turbo", e, func(data []byte) (any, error) { return parseTurbo(e.Path, data) }})
		if err != nil {
			return nil, err
		}
		return v.(*turbo), nil
	}
	return nil, nil
}

// configureShared adds the dependencies of all members of a root: files that
// the settings call global, and packages that the root itself uses.
func (b *builder) configureShared(r *root) {
	var globs []string
	if r.turbo != nil {
		for _, g := range r.turbo.global {
			globs = append(globs, strings.TrimPrefix(g, "$TURBO_ROOT$/"))
		}
	}
	if r.nx != nil {
		globs = append(globs, r.inputs...)
		for _, tool := range slices.Concat(r.nx.tools, r.nx.on) {
			b.rootUses(r, tool)
		}
	}
	for _, g := range globs {
		if at, ok := layout.Join(r.dir, strings.TrimPrefix(g, "./")); ok && !strings.HasPrefix(g, "!") {
			b.bar(b.matching(at)...)
		}
	}
	if !r.space {
		return
	}
	for _, f := range r.man.deps {
		if a := ask(f.key, r.pnpm.catalogued(f)); a.path != "" {
			b.rootUses(r, "./"+a.path)
		} else {
			for _, q := range b.byName[a.name] {
				if b.fit(a.want, q.man.version) {
					r.deps[q.name] = true
				}
			}
		}
		for i, l := range r.locks {
			found := l.find("", f.key, f.value)
			r.uses[i].ids = append(r.uses[i].ids, found.ids...)
			for _, dir := range found.dirs {
				b.rootUses(r, "./"+dir)
			}
		}
	}
	for i, l := range r.locks {
		r.uses[i].ids = append(r.uses[i].ids, l.hoisted...)
	}
}

// rootUses adds a package that the root uses, by name or by path.
func (b *builder) rootUses(r *root, tool string) {
	if strings.HasPrefix(tool, ".") {
		if at, ok := layout.Join(r.dir, path.Clean(tool)); ok {
			if q := b.owner(at); q != nil && q.dir != r.dir {
				r.deps[q.name] = true
			}
		}
		return
	}
	name, _, _ := strings.Cut(tool, ":")
	for _, q := range b.byName[bareName(name)] {
		r.deps[q.name] = true
	}
}
