package golang

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/submitqueue/submitqueue/conflict"
)

// pkg is a directory with Go files: its library, which other packages import,
// and its tests, which they cannot import. It never changes once it is read.
type pkg struct {
	dir     string
	libName string // the name of its library's node
	in      *goModule
	target  bool // it can be tested on the platform
	lib     half
	test    half
	goals   []string // all directories that its imports may mean
	watches []string // files at these paths and below are part of it, in any directory
}

// half is one of the two nodes of a package.
type half struct {
	sources []conflict.Entry
	inputs  []conflict.Entry
	imports []string
	goals   []goals // of those imports that leave the standard library
	reads   []string
	native  bool // cgo, C or assembly
	broken  bool // its dependencies are not known
}

// halves returns the halves that have nodes.
func (p *pkg) halves() []*half {
	if p.target {
		return []*half{&p.lib, &p.test}
	}
	return []*half{&p.lib}
}

// odd reports whether changes outside of its directory may change the package,
// or whether it exists.
func (p *pkg) odd() bool {
	if len(p.watches) > 0 || hidden(p.dir) {
		return true
	}
	for _, dir := range p.goals {
		if hidden(dir) {
			return true
		}
	}
	return false
}

// isPackage reports whether a directory can be imported or tested.
func (b *builder) isPackage(dir string) bool {
	in := b.now.modules.of(dir)
	return in != nil && b.now.layout.hasGo(dir) && module.CheckImportPath(in.importPath(dir)) == nil
}

// linked returns the files that a symbolic link leads to, but for goals that other links of
// the package have led to.
func (b *builder) linked(ctx context.Context, p *pkg, e conflict.Entry, goals map[string]bool) ([]conflict.Entry, error) {
	if e.Mode != conflict.ModeLink {
		return nil, nil
	}
	return b.now.layout.follow(e, b.linkReader(ctx), func(path string) { p.watches = append(p.watches, path) }, goals)
}

// linkReader returns a function that reads where a symbolic link leads.
func (b *builder) linkReader(ctx context.Context) func(link conflict.Entry) (string, error) {
	return func(link conflict.Entry) (string, error) {
		goal, err := b.tree.Blob(ctx, link.OID)
		return string(goal), err
	}
}

// read makes the package of one directory.
func (b *builder) read(ctx context.Context, dir string) (*pkg, error) {
	p := &pkg{dir: dir, libName: nodeName(libPrefix, dir), in: b.now.modules.of(dir)}
	b.away, b.goals = map[named]bool{}, map[*half]map[string]bool{&p.lib: {}, &p.test: {}}
	p.lib.reads = append(p.lib.reads, conflict.ListingOf(dir))
	var plain []conflict.Entry
	natives, plains := map[string]bool{}, map[string]bool{}
	for _, e := range b.now.layout.files(dir) {
		base := path.Base(e.Path)
		goals := plains
		if isGo(e) {
			goals = map[string]bool{} // what one leads to is its text
		} else if native(base) {
			goals = natives
		}
		to, err := b.linked(ctx, p, e, goals)
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
			p.lib.native = true
			if err := b.readNative(ctx, p, e); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Path, err)
			}
		case base[0] == '.' || dir == p.in.dir:
			// Settings of tools that look at more than this package.
		default:
			p.test.sources = append(p.test.sources, e)
			p.test.inputs = append(p.test.inputs, to...)
			plain = append(append(plain, e), to...)
		}
	}
	if err := b.readTestdata(ctx, p); err != nil {
		return nil, err
	}
	if hidden(dir) {
		p.target = false
		b.cutOff(p)
	}
	b.resolve(p, &p.lib)
	b.resolve(p, &p.test)
	slices.Sort(p.watches)
	p.watches = slices.Compact(p.watches)
	if p.lib.native { // #include takes a file of any name, and importers are built of it
		p.lib.inputs = append(p.lib.inputs, plain...)
	}
	return p, nil
}

// cutOff adds the go.mod files of directories that are no modules of ours because
// of their names. The go command knows no names: such a file takes a package out
// of the module in which its importers look for it.
func (b *builder) cutOff(p *pkg) {
	for d := p.dir; hidden(d); d = dirOf(d) {
		at := below(d, "go.mod")
		p.watches = append(p.watches, at)
		if e, ok := b.now.layout.entry(at); ok {
			p.lib.inputs = append(p.lib.inputs, e)
		}
	}
}

// resolve finds the packages that the imports may mean, each import once.
func (b *builder) resolve(p *pkg, h *half) {
	known := b.resolved[p.in]
	if known == nil {
		known = map[string]*resolved{}
		b.resolved[p.in] = known
	}
	for _, imp := range h.imports {
		if imp == "C" {
			h.native = true
			continue
		}
		r := known[imp]
		if r == nil {
			r = &resolved{goals: p.in.resolve(imp)}
			known[imp] = r
		}
		if r.half != h && (r.external || len(r.dirs) > 0) {
			h.goals = append(h.goals, r.goals)
			if r.pkg != p {
				p.goals = append(p.goals, r.dirs...)
			}
			r.half, r.pkg = h, p
		}
	}
	h.imports = nil
}

// resolved is the meaning of an import in a module.
type resolved struct {
	goals
	half *half // the half that had the import last
	pkg  *pkg  // the same
}

// readGo adds one Go file, with the file that it leads to if it is a link.
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
		if s, err = b.scanOf(ctx, sourceOf(e.Path, oid)); err != nil {
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
		b.embed(p, pattern, h)
	}
	if err := b.include(ctx, p, s.includes); err != nil {
		return err
	}
	if err := b.readAway(ctx, p, h, s.away); err != nil {
		return err
	}
	p.target = p.target || s.builds && b.analyzer.platform.named(path.Base(e.Path))
	return nil
}

// readTestdata adds the files of the directories below that are no packages
// because of their names: testdata, and names that begin with an underscore.
func (b *builder) readTestdata(ctx context.Context, p *pkg) error {
	seen := map[string]bool{}
	for _, sub := range b.now.layout.subs(p.dir) {
		if !p.holds(path.Base(sub)) {
			continue
		}
		for e := range b.now.layout.under(sub) {
			to, err := b.linked(ctx, p, e, b.goals[&p.test])
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
	}
	return nil
}

// holds reports whether all files below a directory of this name are test data.
func (p *pkg) holds(name string) bool {
	return name == "testdata" || name[0] == '_' && p.dir != p.in.dir
}

// embed adds the files that a pattern of //go:embed matches, with more than
// the compiler would take: files that begin with a dot, too.
func (b *builder) embed(p *pkg, pattern string, h *half) {
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
	base := strings.TrimPrefix(path.Join(p.dir, path.Join(elems[:fixed]...)), "/")
	h.reads = append(h.reads, conflict.ListingOf(dirOf(base)), conflict.ListingOf(base))
	p.watches = append(p.watches, base)
	if e, ok := b.now.layout.entry(base); ok && fixed == len(elems) {
		h.sources = append(h.sources, e)
		return
	}
	globs := elems[fixed:]
	seen := map[string]bool{base: true}
	for e := range b.now.layout.under(base) {
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
