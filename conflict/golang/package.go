package golang

import (
	"context"
	"fmt"
	"path"
	"strings"

	"golang.org/x/mod/module"

	"github.com/submitqueue/submitqueue/conflict"
)

// pkg is a directory with Go files: its library, which others import, and its
// tests, which nobody does.
type pkg struct {
	dir    string
	in     *goModule
	target bool // it can be tested on the platform
	lib    half
	test   half
}

// half is one of the two nodes of a package.
type half struct {
	sources []conflict.Entry
	inputs  []conflict.Entry
	imports []string
	reads   []string
	broken  bool // what it depends on cannot be told
}

// builder makes the graph of one tree.
type builder struct {
	analyzer *Analyzer
	tree     conflict.Tree
	layout   *layout
	modules  *modules
	packages map[string]*pkg
	todo     []string // directories with Go files that are not loaded yet
}

// load reads the packages of all modules, and of skipped directories those
// that somebody imports.
func (b *builder) load(ctx context.Context) error {
	for dir := range b.layout.byDir {
		if b.isPackage(dir) && !hidden(dir) {
			b.todo = append(b.todo, dir)
		}
	}
	for len(b.todo) > 0 {
		dir := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		if b.packages[dir] != nil {
			continue
		}
		p, err := b.read(ctx, dir)
		if err != nil {
			return err
		}
		b.packages[dir] = p
		for _, imports := range [][]string{p.lib.imports, p.test.imports} {
			for _, imp := range imports {
				for _, d := range p.in.resolve(imp).dirs {
					if b.packages[d] == nil && b.isPackage(d) {
						b.todo = append(b.todo, d)
					}
				}
			}
		}
	}
	return nil
}

// isPackage reports whether a directory can be imported or tested.
func (b *builder) isPackage(dir string) bool {
	in := b.modules.of(dir)
	return in != nil && b.layout.hasGo(dir) && module.CheckImportPath(in.importPath(dir)) == nil
}

func (b *builder) scan(ctx context.Context, oid string) (scan, error) {
	if s, ok := b.analyzer.scans.Get(oid); ok {
		return s, nil
	}
	src, err := b.tree.Blob(ctx, oid)
	if err != nil {
		return scan{}, err
	}
	s := b.analyzer.platform.scan(src)
	b.analyzer.scans.Add(oid, s)
	return s, nil
}

// linked returns what a symbolic link leads to.
func (b *builder) linked(ctx context.Context, e conflict.Entry) ([]conflict.Entry, error) {
	if e.Mode != conflict.ModeLink {
		return nil, nil
	}
	return b.layout.follow(e, func(link conflict.Entry) (string, error) {
		goal, err := b.tree.Blob(ctx, link.OID)
		return string(goal), err
	})
}

// read makes the package of one directory.
func (b *builder) read(ctx context.Context, dir string) (*pkg, error) {
	p := &pkg{dir: dir, in: b.modules.of(dir)}
	p.lib.reads = append(p.lib.reads, conflict.ListingOf(dir))
	for _, e := range b.layout.byDir[dir] {
		base := path.Base(e.Path)
		to, err := b.linked(ctx, e)
		if err != nil {
			return nil, err
		}
		switch {
		case isGo(e):
			if err := b.readGo(ctx, p, e, to); err != nil {
				return nil, err
			}
		case e.Mode == conflict.ModeSubmodule:
		case native(base):
			p.lib.sources = append(p.lib.sources, e)
			p.lib.inputs = append(p.lib.inputs, to...)
			p.lib.imports = append(p.lib.imports, "C")
		case base[0] == '.' || dir == p.in.dir:
			// Settings of tools that look at more than this package.
		default:
			p.test.sources = append(p.test.sources, e)
			p.test.inputs = append(p.test.inputs, to...)
		}
	}
	if err := b.readTestdata(ctx, p); err != nil {
		return nil, err
	}
	if hidden(dir) {
		p.target = false
	}
	return p, nil
}

// readGo adds one Go file, with what it leads to if it is a link.
func (b *builder) readGo(ctx context.Context, p *pkg, e conflict.Entry, to []conflict.Entry) error {
	oid := e.OID
	broken := false
	if e.Mode == conflict.ModeLink {
		broken = len(to) != 1 || to[0].Mode == conflict.ModeSubmodule
		if !broken {
			oid = to[0].OID
		}
	}
	s := scan{broken: true, builds: true}
	if !broken {
		var err error
		if s, err = b.scan(ctx, oid); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	h := &p.lib
	if strings.HasSuffix(e.Path, "_test.go") || s.script {
		h = &p.test
	}
	h.sources = append(h.sources, e)
	h.inputs = append(h.inputs, to...)
	h.imports = append(h.imports, s.imports...)
	h.broken = h.broken || s.broken
	for _, pattern := range s.embeds {
		b.embed(p.dir, pattern, h)
	}
	p.target = p.target || s.builds && b.analyzer.platform.named(path.Base(e.Path))
	return nil
}

// readTestdata adds the files of the directories below that are no packages
// of their own by name, testdata and those that begin with an underscore.
func (b *builder) readTestdata(ctx context.Context, p *pkg) error {
	seen := map[string]bool{}
	for _, e := range b.layout.under(p.dir) {
		sub := strings.TrimPrefix(strings.TrimPrefix(e.Path, p.dir), "/")
		first, _, deeper := strings.Cut(sub, "/")
		if !deeper || first != "testdata" && (first[0] != '_' || p.dir == p.in.dir) {
			continue
		}
		to, err := b.linked(ctx, e)
		if err != nil {
			return err
		}
		p.test.sources = append(p.test.sources, e)
		p.test.inputs = append(p.test.inputs, to...)
		for d := dirOf(e.Path); d != p.dir && !seen[d]; d = dirOf(d) {
			seen[d] = true
			p.test.reads = append(p.test.reads, conflict.ListingOf(d))
		}
	}
	return nil
}

// embed adds the files that a pattern of //go:embed matches, with more than
// the compiler would take: files that begin with a dot, too.
func (b *builder) embed(dir, pattern string, h *half) {
	pattern = path.Clean(strings.TrimPrefix(pattern, "all:"))
	if pattern == ".." || strings.HasPrefix(pattern, "../") || path.IsAbs(pattern) {
		return
	}
	elems := strings.Split(pattern, "/")
	if pattern == "." {
		elems = nil
	}
	fixed := 0
	for fixed < len(elems) && !strings.ContainsAny(elems[fixed], `*?[\`) {
		fixed++
	}
	base := strings.TrimPrefix(path.Join(dir, path.Join(elems[:fixed]...)), "/")
	h.reads = append(h.reads, conflict.ListingOf(dirOf(base)), conflict.ListingOf(base))
	if e, ok := b.layout.byPath[base]; ok && fixed == len(elems) {
		h.sources = append(h.sources, e)
		return
	}
	globs := elems[fixed:]
	seen := map[string]bool{base: true}
	for _, e := range b.layout.under(base) {
		for d := dirOf(e.Path); !seen[d]; d = dirOf(d) {
			seen[d] = true
			h.reads = append(h.reads, conflict.ListingOf(d))
		}
		rest := strings.Split(strings.TrimPrefix(strings.TrimPrefix(e.Path, base), "/"), "/")
		if len(rest) < len(globs) {
			continue
		}
		if ok, err := path.Match(path.Join(globs...), path.Join(rest[:len(globs)]...)); ok && err == nil || len(globs) == 0 {
			h.sources = append(h.sources, e)
		}
	}
}
