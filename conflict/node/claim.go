package node

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue/config"
)

// validName matches the names that npm allows for packages, with capitals, as it once
// allowed.
var validName = regexp.MustCompile(`^(@[a-zA-Z0-9~_-][a-zA-Z0-9._~-]*/)?[a-zA-Z0-9~_-][a-zA-Z0-9._~-]*$`)

// name gives each package the name of its target: the package's name, or its
// directory where that name is missing, taken twice, or not valid.
func (b *builder) name() {
	count := map[string]int{}
	for _, r := range b.roots {
		for _, p := range r.members {
			p.name = p.man.name
			if _, ok := b.has(p.dir, "package.json"); !ok {
				if p.name = p.nx.name; p.name == "" {
					p.name = path.Base(p.dir)
				}
			}
			count[p.name]++
		}
	}
	for _, r := range b.roots {
		for _, p := range r.members {
			for _, n := range slices.Compact([]string{p.name, p.nx.name}) {
				if n != "" {
					b.byName[n] = append(b.byName[n], p)
				}
			}
			if count[p.name] > 1 || !validName.MatchString(p.name) || p.name[0] == '-' || p.name == config.TargetTree || p.name == config.TargetUnowned {
				p.name = layout.Dotted(p.dir)
			}
		}
	}
}

// claim gives each file to the innermost package that it is in, to all members
// of a root, or to none.
func (b *builder) claim(ctx context.Context) error {
	for dir, p := range b.pkgs {
		if !p.root.space || dir != p.root.dir {
			b.owners[dir] = p
		}
	}
	spaces := map[string]*root{}
	for _, r := range b.roots {
		if r.space {
			spaces[r.dir] = r
		}
		for _, e := range b.layout.Under(r.dir) {
			if rel, _ := below(r.dir, e.Path); r.space && (strings.HasPrefix(rel, "patches/") || strings.HasPrefix(rel, ".yarn/") && !strings.HasPrefix(rel, ".yarn/cache/")) {
				b.share(r, e)
			}
		}
	}
	listed := ""
	for _, e := range b.layout.Sorted {
		if b.barred[e.Path] {
			continue
		}
		dir := layout.Dir(e.Path)
		p := b.owner(dir)
		if p == nil {
			r := spaces[dir]
			for d := dir; e.Mode == conflict.ModeSubmodule && r == nil && d != ""; r = spaces[d] {
				d = layout.Dir(d)
			}
			if r != nil && (e.Mode == conflict.ModeSubmodule || everybodys(path.Base(e.Path))) {
				b.share(r, e) // a submodule's content is not known: it may be a package that any package depends on
			} else {
				b.loose(e)
			}
			continue
		}
		p.sources = append(p.sources, e)
		if dir != listed || len(p.sources) == 1 {
			p.reads = append(p.reads, conflict.ListingOf(dir))
			listed = dir
		}
		if e.Mode == conflict.ModeLink {
			to, err := b.linked(ctx, e)
			if err != nil {
				return err
			}
			p.inputs = append(p.inputs, to...)
			for _, t := range to {
				if q := b.owner(layout.Dir(t.Path)); q != nil {
					b.depend(p, q)
				}
			}
		}
	}
	return nil
}

// loose lets the root of a workspace that is a package itself depend on a file
// that no package owns. The root does not own the file, as any other package
// may read it, too.
func (b *builder) loose(e conflict.Entry) {
	for dir := layout.Dir(e.Path); ; dir = layout.Dir(dir) {
		if p := b.pkgs[dir]; p != nil && p.root.space && p.dir == p.root.dir {
			p.inputs = append(p.inputs, e)
		}
		if dir == "" {
			return
		}
	}
}

// everybodys reports whether a file of this name beside the package.json of a
// workspace's root is read for every package: by the package manager, by
// Node, or by a tool that looks for its settings in the directories above.
func everybodys(base string) bool {
	if strings.HasPrefix(base, ".") {
		return base != ".gitignore" && base != ".gitkeep" && base != ".mailmap"
	}
	switch path.Ext(base) {
	case ".json", ".jsonc", ".json5", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".yaml", ".yml", ".toml":
		return true
	}
	return slices.Contains(opaqueLocks, base)
}

// readLocks reads the lock files of all roots. A lock file that cannot be read
// is in every hash.
func (b *builder) readLocks(ctx context.Context) error {
	for _, r := range b.roots {
		for _, name := range lockNames {
			e, ok := b.has(r.dir, name)
			if !ok {
				continue
			}
			v, err := b.read(ctx, lockReading(e))
			if err != nil {
				return err
			}
			l := v.(*lock)
			if l == nil {
				b.bar(e)
				continue
			}
			b.barred[e.Path] = true
			r.locks = append(r.locks, rootLock{e, l})
			r.claims = append(r.claims, conflict.Entry{Path: e.Path, Mode: e.Mode, OID: string(l.facts)})
		}
		for _, name := range opaqueLocks {
			if e, ok := b.has(r.dir, name); ok {
				b.bar(e)
			}
		}
		for _, p := range r.members {
			p.uses = make([]found, len(r.locks))
		}
		r.uses = make([]found, len(r.locks))
	}
	return nil
}
