package node

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// depend adds an edge between packages.
func (b *builder) depend(p, q *pkg) {
	if p != q {
		p.deps[q.name] = true
	}
}

// dependName adds the edges that a name means: to each package of this name,
// or, where there is none, to the name itself, as such a package may be added.
func (b *builder) dependName(p *pkg, name string) {
	if p.deps[name] {
		return
	}
	for _, q := range b.byName[name] {
		b.depend(p, q)
	}
	if len(b.byName[name]) == 0 && b.validName(name) {
		p.deps[name] = true
	}
}

// dependPath adds the dependencies that a path leads to: the package that it is
// in, all packages below it if it is a glob, or a file that no package owns.
func (b *builder) dependPath(p *pkg, from, rel string) {
	at, ok := layout.Join(from, strings.TrimSuffix(rel, "/"))
	if !ok {
		return
	}
	at, via, ok, _ := b.layout.Resolve(at, func(link conflict.Entry) (string, error) { return b.links[link.Path], nil })
	for _, e := range via {
		if b.owner(layout.Dir(e.Path)) == nil {
			p.inputs = append(p.inputs, e)
		}
	}
	if !ok {
		return
	}
	fixed, wild := at, false
	if i := strings.IndexAny(at, "*?{["); i >= 0 {
		fixed, wild = strings.TrimSuffix(at[:strings.LastIndexByte("/"+at[:i], '/')], "/"), true
	}
	if q := b.owner(fixed); q != nil {
		b.depend(p, q)
		if !wild || q == p {
			return
		}
	}
	if _, own := below(fixed, p.dir); !wild && (own || fixed == p.dir) {
		return // a directory above p, in which others are looked for
	}
	if wild {
		for dir, q := range b.pkgs {
			if _, in := below(fixed, dir); in {
				b.depend(p, q)
			}
		}
	}
	b.readLoose(p, fixed)
}

// endings are the endings of files that a specifier may leave out.
var endings = []string{"", ".ts", ".tsx", ".d.ts", ".js", ".mjs", ".cjs", ".jsx", ".json", ".css", ".scss", ".sass", ".less", ".mts", ".cts", ".vue", ".svelte"}

// readLoose adds a file that no package owns, or the files of a directory.
func (b *builder) readLoose(p *pkg, at string) {
	stems := []string{at}
	switch ext := path.Ext(at); ext {
	case ".js", ".mjs", ".cjs", ".jsx": // TypeScript finds x.ts under x.js
		stems = append(stems, strings.TrimSuffix(at, ext))
	case "", ".scss": // Sass finds _x.scss under x
		stems = append(stems, path.Join(layout.Dir(at), "_"+path.Base(at)))
	}
	for _, stem := range stems {
		for _, ending := range endings {
			if e, ok := b.layout.ByPath[stem+ending]; ok {
				b.addLoose(p, e)
			}
		}
	}
	for _, e := range b.layout.Under(at) {
		b.addLoose(p, e)
	}
}

// addLoose adds a file if no package owns it. For code it also adds all files
// beside it, as the code may import them.
func (b *builder) addLoose(p *pkg, e conflict.Entry) {
	dir := layout.Dir(e.Path)
	if p.seen[e.Path] || b.owner(dir) != nil {
		return
	}
	p.seen[e.Path] = true
	p.inputs = append(p.inputs, e)
	if e.Mode == conflict.ModeLink {
		b.dependPath(p, "", e.Path)
	}
	if e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule || !scannable(e.Path) {
		return
	}
	p.loose = append(p.loose, e)
	if dir == p.root.dir || dir == "" || p.seen[dir+"/"] {
		return
	}
	p.seen[dir+"/"] = true
	for _, e := range b.layout.Under(dir) {
		b.addLoose(p, e)
	}
}

// declared adds the dependencies that the fields of a package.json name.
func (b *builder) declared(p *pkg) {
	for _, f := range p.man.deps {
		spec := p.root.pnpm.catalogued(f)
		if spec != f.value {
			p.facts = append(p.facts, "catalog", f.key, spec)
		}
		a := ask(f.key, spec)
		if a.path != "" {
			b.dependPath(p, p.dir, a.path)
			if strings.HasPrefix(spec, "workspace:") {
				b.dependPath(p, p.root.dir, a.path)
			}
		} else {
			b.declaredName(p, f, a)
		}
		b.locked(p, f.key, f.value)
	}
	b.scripts(p)
}

// scripts adds the packages with programs that the scripts run: where they are installed for
// all packages, a script may run one that its package has not declared. pnpm installs programs
// for nobody else.
func (b *builder) scripts(p *pkg) {
	for _, word := range p.man.words {
		for _, q := range p.root.programs[word] {
			if p.root.pnpm == nil {
				b.depend(p, q)
			}
		}
	}
	at, _ := below(p.root.dir, p.dir)
	for i, l := range p.root.locks {
		for _, word := range p.man.words {
			ids := l.byProgram[word]
			for _, id := range ids {
				f := l.find(at, l.packages[id].name, "")
				if len(f.ids) == 0 {
					f.ids = ids
				}
				p.uses[i].ids = append(p.uses[i].ids, f.ids...)
			}
		}
	}
}

func (b *builder) declaredName(p *pkg, f field, a asked) {
	linked := false
	for _, q := range b.byName[a.name] {
		if e, ok := b.has(q.dir, "package.json"); ok {
			p.reads = append(p.reads, b.define(e))
		}
		if b.fit(a.want, q.man.version) {
			b.depend(p, q)
			linked = true
		}
	}
	switch {
	case len(b.byName[a.name]) == 0:
		b.dependName(p, a.name)
	case !linked && a.name == f.key:
		p.foreign[a.name] = true
	}
}

// locked adds the packages that the lock files have for a dependency.
func (b *builder) locked(p *pkg, name, want string) {
	at, _ := below(p.root.dir, p.dir)
	if p.dir == p.root.dir {
		at = ""
	}
	for i, l := range p.root.locks {
		f := l.find(at, name, want)
		p.uses[i].ids = append(p.uses[i].ids, f.ids...)
		for _, dir := range f.dirs {
			if q := b.pkgs[path.Join(p.root.dir, dir)]; q != nil {
				b.depend(p, q)
			}
		}
	}
}

// imports adds the dependencies that a file's specifiers may lead to.
func (b *builder) imports(p *pkg, file string, s specifiers) {
	for _, rel := range s.up {
		if strings.HasSuffix(rel, "*") && isTSConfig(file) {
			continue // a pattern of paths: it says where imports lead
		}
		b.dependPath(p, layout.Dir(file), rel)
		if layout.Dir(file) != p.dir {
			b.dependPath(p, p.dir, rel)
		}
	}
	for _, spec := range s.bare {
		b.imported(p, spec)
	}
	if path.Base(file) == "package.json" && b.owner(layout.Dir(file)) == nil {
		return // the root's: who reads it runs none of its scripts
	}
	for _, name := range s.runs {
		for _, q := range b.byName[name] {
			b.depend(p, q)
		}
	}
}

func (b *builder) imported(p *pkg, spec string) {
	if p.scope.seen[spec] {
		return
	}
	p.scope.seen[spec] = true
	for _, sc := range []*scope{&p.scope, &p.root.scope} {
		for i, c := range sc.configs {
			for _, rel := range c.match(spec) {
				b.dependConfigured(p, sc.dirs[i], rel)
			}
		}
	}
	head, _, tooled := strings.Cut(spec, ":")
	name := bareName(head)
	if p.foreign[name] || tooled && len(b.byName[name]) == 0 {
		return
	}
	b.dependName(p, name)
	if len(b.byName[name]) > 0 {
		return
	}
	for i, l := range p.root.locks {
		at, _ := below(p.root.dir, p.dir)
		if f := l.find(at, name, ""); len(f.ids) > 0 {
			p.uses[i].ids = append(p.uses[i].ids, f.ids...)
		} else {
			p.uses[i].ids = append(p.uses[i].ids, l.byName[name]...)
		}
	}
}

// scan reads the imports of all files, and the dependencies that the manifests name.
func (b *builder) scan(ctx context.Context) error {
	for _, r := range b.roots {
		r.programs = map[string][]*pkg{}
		for _, p := range r.members {
			for _, program := range p.man.programs {
				r.programs[program] = append(r.programs[program], p)
			}
		}
		for _, p := range r.members {
			p.scope.seen = map[string]bool{}
			b.declared(p)
			for _, e := range p.sources {
				if !scanned(p, e) {
					continue
				}
				if err := b.scanFile(ctx, p, e); err != nil {
					return err
				}
			}
			for i := 0; i < len(p.loose); i++ { // it grows
				if err := b.scanFile(ctx, p, p.loose[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *builder) scanFile(ctx context.Context, p *pkg, e conflict.Entry) error {
	s, ok := b.scans[e.OID]
	if !ok {
		v, err := b.read(ctx, sourceReading(e))
		if err != nil {
			return err
		}
		s = v.(specifiers)
	}
	if isTSConfig(e.Path) {
		c, err := b.tsconfigAt(ctx, e)
		if err != nil {
			return err
		}
		s.bare = slices.DeleteFunc(slices.Clone(s.bare), func(spec string) bool {
			_, mere := slices.BinarySearch(c.mere, spec)
			return mere
		})
	}
	b.imports(p, e.Path, s)
	return nil
}

// scanned reports whether a file's imports are looked at: those of code, and
// of settings beside the package.json.
func scanned(p *pkg, e conflict.Entry) bool {
	if e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule || installed(e.Path) {
		return false
	}
	base := path.Base(e.Path)
	settings := layout.Dir(e.Path) == p.dir && (path.Ext(base) == ".json" || base[0] == '.')
	return scannable(base) || settings
}
