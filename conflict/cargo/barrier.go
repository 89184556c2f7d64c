package cargo

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// settings are the parts of the files .cargo/config.toml that say where packages are.
type settings struct {
	patches   []dependency      // with paths from the root of the tree
	overrides []string          // directories that replace the packages of their name
	vendored  []string          // directories with copies of packages
	env       map[string]string // variable of the environment → the directory that its value is
}

// setting reports whether a file is in every hash: settings of Cargo, the
// compiler and the tools that come with it.
func setting(file string) bool {
	switch path.Base(file) {
	case "rust-toolchain", "rust-toolchain.toml", "clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml":
		return true
	case "nextest.toml":
		return path.Base(path.Dir(file)) == ".config"
	}
	return cargoConfig(file)
}

func cargoConfig(file string) bool {
	base := path.Base(file)
	return path.Base(path.Dir(file)) == ".cargo" && (base == "config.toml" || base == "config")
}

// readConfig reads the settings that hold for directories of the tree. They
// are taken for settings of all of it, and so are the files that they name:
// more settings, linkers and their scripts, runners.
func (l *loader) readConfig(ctx context.Context) ([]conflict.Entry, error) {
	var barrier, todo []conflict.Entry
	seen := map[string]bool{}
	add := func(list *[]conflict.Entry, e conflict.Entry) error {
		at, err := l.goal(ctx, e)
		if err != nil {
			return err
		}
		barrier = append(barrier, e)
		if at.OID != "" && at.Path != e.Path {
			barrier = append(barrier, at)
		}
		if list != nil && !seen[e.Path] && at.OID != "" && at.Mode != conflict.ModeSubmodule {
			seen[e.Path] = true
			*list = append(*list, conflict.Entry{Path: e.Path, Mode: at.Mode, OID: at.OID})
		}
		return nil
	}
	for _, e := range l.layout.Sorted {
		if !setting(e.Path) {
			continue
		}
		list := &todo
		if !cargoConfig(e.Path) {
			list = nil
		}
		if err := add(list, e); err != nil {
			return nil, err
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		e := todo[0]
		src, err := l.tree.Blob(ctx, e.OID)
		if err != nil {
			return nil, err
		}
		base := layout.Dir(layout.Dir(e.Path))
		t, fault := parse(src, maxManifest)
		if fault != nil && !aside(base) {
			return nil, fault.at(e.Path)
		}
		l.config.add(base, t)
		for _, p := range included(t) {
			if at, ok := layout.Join(layout.Dir(e.Path), p); ok && l.layout.ByPath[at].OID != "" {
				if err := add(&todo, l.layout.ByPath[at]); err != nil {
					return nil, err
				}
			}
		}
		for _, p := range texts(without(t, "alias", "include")) {
			if at, ok := layout.Join(base, p); ok && l.layout.ByPath[at].OID != "" {
				if err := add(nil, l.layout.ByPath[at]); err != nil {
					return nil, err
				}
			}
		}
	}
	return barrier, nil
}

// included returns the paths of further settings, from the file's directory.
func included(t table) []string {
	list := append(listOf(t, "include"), single(textOf(t, "include"))...)
	for _, more := range tablesOf(t, "include") {
		list = append(list, textOf(more, "path"))
	}
	return list
}

// texts returns the parts of a value's strings that may be paths, as memory.x
// in "link-arg=-Tmemory.x".
func texts(v any) []string {
	var list []string
	switch v := v.(type) {
	case table:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, texts(v[k])...)
		}
	case []any:
		for _, e := range v {
			list = append(list, texts(e)...)
		}
	case string:
		for _, p := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(" =,", r) }) {
			list = append(list, strings.TrimPrefix(p, "-T"))
		}
	}
	return list
}

func (c *settings) add(base string, t table) {
	for _, d := range patches(t) {
		if to, ok := layout.Join(base, d.path); ok && d.path != "" {
			d.path = to
			c.patches = append(c.patches, d)
		}
	}
	for _, p := range listOf(t, "paths") {
		if to, ok := layout.Join(base, p); ok {
			c.overrides = append(c.overrides, to)
		}
	}
	env := tableOf(t, "env")
	for name := range env {
		if v := tableOf(env, name); v["relative"] == true {
			if to, ok := layout.Join(base, textOf(v, "value")); ok {
				if c.env == nil {
					c.env = map[string]string{}
				}
				c.env[name] = to
			}
		}
	}
	sources := tableOf(t, "source")
	for _, k := range slices.Sorted(maps.Keys(sources)) {
		if dir := textOf(tableOf(sources, k), "directory"); dir != "" {
			if to, ok := layout.Join(base, dir); ok {
				c.vendored = append(c.vendored, to)
			}
		}
	}
}

// vendor returns the files of a package's copies in the tree.
func (l *loader) vendor(p *locked) []conflict.Entry {
	var list []conflict.Entry
	for _, dir := range l.config.vendored {
		copied := l.layout.Under(file(dir, p.name+"-"+p.version))
		if len(copied) == 0 {
			copied = l.layout.Under(file(dir, p.name))
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
