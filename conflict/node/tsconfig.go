package node

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// tsconfig has the fields of a tsconfig.json or jsconfig.json that are about other files.
type tsconfig struct {
	broken  bool
	extends []string
	refs    []string            // directories or files of referenced projects
	folders []string            // that its options name
	listed  map[string][]string // by "files" and "include": what belongs to it
	baseURL string
	paths   map[string][]string // pattern → where it leads
	mere    []string            // patterns that are nothing else in it, sorted: it imports none of them
}

// lists are the fields that say what belongs to a configuration.
var lists = []string{"files", "include"}

// isTSConfig reports whether a file of this name configures TypeScript.
func isTSConfig(file string) bool {
	base := path.Base(file)
	return strings.HasSuffix(base, ".json") && (strings.HasPrefix(base, "tsconfig") || strings.HasPrefix(base, "jsconfig"))
}

func parseTSConfig(file string, data []byte) tsconfig {
	o, err := parseCommented(file, data)
	if err != nil {
		return tsconfig{broken: true}
	}
	c := tsconfig{extends: o.texts("extends"), paths: map[string][]string{}, listed: map[string][]string{}}
	if one := o.text("extends"); one != "" {
		c.extends = []string{one}
	}
	for _, raw := range append(o.list("references"), o.object("compilerOptions").list("references")...) {
		var ref object
		if json.Unmarshal(raw, &ref) == nil && ref.text("path") != "" {
			c.refs = append(c.refs, ref.text("path"))
		}
	}
	options := o.object("compilerOptions")
	c.folders = append(slices.Concat(options.texts("rootDirs"), options.texts("typeRoots")), options.text("rootDir"))
	for _, key := range lists {
		if bytes.HasPrefix(o[key], []byte("[")) { // null is none
			c.listed[key] = o.texts(key)
		}
	}
	for _, raw := range options.list("plugins") {
		var plugin object
		if json.Unmarshal(raw, &plugin) == nil {
			c.extends = append(c.extends, plugin.text("name"))
		}
	}
	c.extends = append(c.extends, options.texts("types")...)
	c.baseURL = options.text("baseUrl")
	paths, times := options.object("paths"), map[string]int{}
	for text := range bytes.SplitSeq(data, []byte(`"`)) {
		times[string(text)]++
	}
	for _, pattern := range paths.keys() {
		c.paths[pattern] = paths.texts(pattern)
		if times[pattern] == 1 {
			c.mere = append(c.mere, pattern)
		}
	}
	slices.Sort(c.mere)
	return c
}

// match returns where a specifier leads by the patterns of paths and by the
// base directory, relative to the file.
func (c *tsconfig) match(specifier string) []string {
	var out []string
	for pattern, goals := range c.paths {
		before, after, star := strings.Cut(pattern, "*")
		if !star && specifier != pattern || !strings.HasPrefix(specifier, before) || !strings.HasSuffix(specifier, after) ||
			star && len(specifier) < len(before)+len(after) {
			continue
		}
		middle := ""
		if star {
			middle = specifier[len(before) : len(specifier)-len(after)]
		}
		for _, g := range goals {
			if g = strings.Replace(g, "*", middle, 1); !strings.HasPrefix(g, configDir) {
				g = path.Join(c.baseURL, g)
			}
			out = append(out, g)
		}
	}
	if c.baseURL != "" {
		out = append(out, path.Join(c.baseURL, specifier))
	}
	return out
}

// configDir stands for the folder of the configuration that the compiler was given, even in
// one that it extends.
const configDir = "${configDir}"

// dependConfigured is dependPath for a path that a configuration in a folder holds.
func (b *builder) dependConfigured(p *pkg, dir, rel string) {
	if below, ok := strings.CutPrefix(rel, configDir); ok {
		dir, rel = p.dir, "."+below
	}
	b.dependPath(p, dir, rel)
}

// scope has the configurations that imports of a package may go through: its
// own tsconfig files and those that they extend.
type scope struct {
	dirs    []string
	configs []*tsconfig
	seen    map[string]bool // specifiers that were looked at
}

// tsconfigAt reads one configuration.
func (b *builder) tsconfigAt(ctx context.Context, e conflict.Entry) (*tsconfig, error) {
	v, err := b.read(ctx, reading{"ts", e, func(data []byte) (any, error) {
		c := parseTSConfig(e.Path, data)
		return &c, nil
	}})
	if err != nil {
		return nil, err
	}
	return v.(*tsconfig), nil
}

// extended is a configuration, and what those have that extend it.
type extended struct {
	conflict.Entry
	depth  int             // how many extend it, each the next
	listed map[string]bool // the lists that they have: such a list hides those that it could inherit
}

// addTSConfig adds a configuration, and those that it extends, to the scope of
// a package, with the edges that they mean. References to projects are never inherited.
func (b *builder) addTSConfig(ctx context.Context, p *pkg, e extended) error {
	c, err := b.tsconfigAt(ctx, e.Entry)
	if err != nil {
		return err
	}
	dir := layout.Dir(e.Path)
	p.reads = append(p.reads, b.define(e.Entry))
	p.broken = p.broken || c.broken
	p.scope.dirs = append(p.scope.dirs, dir)
	p.scope.configs = append(p.scope.configs, c)
	names, listed := slices.Clone(c.folders), maps.Clone(e.listed)
	if e.depth == 0 {
		names, listed = append(names, c.refs...), map[string]bool{}
	}
	for _, key := range lists {
		if list, ok := c.listed[key]; ok && !listed[key] {
			names, listed[key] = append(names, list...), true
		}
	}
	for _, f := range names {
		b.dependConfigured(p, dir, f)
	}
	for _, x := range c.extends {
		if !strings.HasPrefix(x, ".") {
			b.dependName(p, bareName(x))
			continue
		}
		b.dependPath(p, dir, x)
		for _, name := range []string{x, x + ".json"} {
			at, ok := layout.Join(dir, name)
			if next, is := b.layout.ByPath[at]; ok && is && e.depth < maxExtends {
				if err := b.addTSConfig(ctx, p, extended{next, e.depth + 1, listed}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
