package cargo

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
)

// config is what the files .cargo/config.toml say of where packages are.
type config struct {
	patches   []dependency // with paths from the root of the tree
	overrides []string     // directories that replace packages of whatever name they have
	vendored  []string     // directories with copies of packages
}

// setting reports whether a file is in every hash: settings of Cargo, the
// compiler and the tools that come with it.
func setting(file string) bool {
	switch path.Base(file) {
	case "rust-toolchain", "rust-toolchain.toml", "clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml":
		return true
	}
	return cargoConfig(file)
}

func cargoConfig(file string) bool {
	base := path.Base(file)
	return path.Base(path.Dir(file)) == ".cargo" && (base == "config.toml" || base == "config")
}

// readConfig reads the settings that hold for directories of the tree. They
// are taken for settings of all of it.
func (l *loader) readConfig(ctx context.Context) ([]conflict.Entry, error) {
	var barrier []conflict.Entry
	for _, e := range l.layout.sorted {
		if !setting(e.Path) {
			continue
		}
		barrier = append(barrier, e)
		at, err := l.goal(ctx, e)
		if err != nil {
			return nil, err
		}
		if at.OID != "" && at.Path != e.Path {
			barrier = append(barrier, at)
		}
		if at.OID == "" || !cargoConfig(e.Path) || at.Mode == conflict.ModeSubmodule {
			continue
		}
		src, err := l.tree.Blob(ctx, at.OID)
		if err != nil {
			return nil, err
		}
		t, fault := parse(src, maxManifest)
		if fault != nil && !aside(dirOf(dirOf(e.Path))) {
			return nil, fault.at(e.Path)
		}
		l.config.add(dirOf(dirOf(e.Path)), t)
	}
	return barrier, nil
}

func (c *config) add(base string, t table) {
	for _, d := range patches(t) {
		if to, ok := join(base, d.path); ok && d.path != "" {
			d.path = to
			c.patches = append(c.patches, d)
		}
	}
	for _, p := range listOf(t, "paths") {
		if to, ok := join(base, p); ok {
			c.overrides = append(c.overrides, to)
		}
	}
	sources := tableOf(t, "source")
	for _, k := range slices.Sorted(maps.Keys(sources)) {
		if dir := textOf(tableOf(sources, k), "directory"); dir != "" {
			if to, ok := join(base, dir); ok {
				c.vendored = append(c.vendored, to)
			}
		}
	}
}

// vendor returns the files of a package's copies in the tree.
func (l *loader) vendor(p *locked) []conflict.Entry {
	var list []conflict.Entry
	for _, dir := range l.config.vendored {
		copied := l.layout.under(file(dir, p.name+"-"+p.version))
		if len(copied) == 0 {
			copied = l.layout.under(file(dir, p.name))
		}
		list = append(list, copied...)
	}
	return list
}

// replacements returns where [patch], [replace] and overrides put the packages
// of other sources, by name.
func (l *loader) replacements(ctx context.Context, w *workspace) (map[string][]string, error) {
	to := map[string][]string{}
	for _, d := range w.m.patches {
		if d.path == "" {
			continue
		}
		dir, _, err := l.lead(ctx, w.dir, d.path)
		if err != nil {
			return nil, err
		}
		to[d.name] = append(to[d.name], dir)
	}
	for _, d := range l.config.patches {
		to[d.name] = append(to[d.name], d.path)
	}
	for _, dir := range l.config.overrides {
		if m := l.manifests[dir]; m.manifest != nil && m.isPackage {
			to[m.name] = append(to[m.name], dir)
		}
	}
	return to, nil
}
