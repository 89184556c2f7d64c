package node

import (
	"context"
	"fmt"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// pkg is a package of a workspace, or a project of Nx without a package.json.
type pkg struct {
	dir     string
	name    string // of the target
	root    *root
	man     *manifest // empty if there is none
	nx      *project  // empty if there is none
	sources []conflict.Entry
	inputs  []conflict.Entry
	reads   []string
	facts   []string
	deps    map[string]bool // targets, and names of targets that do not exist yet
	uses    []found         // by lock of the root: the packages that its dependencies lead to
	foreign map[string]bool // names that mean an external package here, though a package of the workspace has the same name
	scope   scope
	loose   []conflict.Entry // those of its inputs that no package owns and that import others
	seen    map[string]bool  // paths of files that no package owns, and that were looked at
	broken  bool             // its dependencies are not known
}

// root is a directory for which packages are installed together: the root of a
// workspace, or a single package.
type root struct {
	dir      string
	man      *manifest
	space    bool // it has packages below: the root itself owns nothing
	members  []*pkg
	pnpm     *pnpmWorkspace
	turbo    *turbo
	nx       *project
	inputs   []string // globs of nx.json beside the projects' own files
	locks    []rootLock
	claims   []conflict.Entry  // files of which each package depends on its part
	files    []conflict.Entry  // files that all members depend on
	deps     map[string]bool   // packages that all members depend on
	scope    scope             // the configurations that imports of all members go through
	uses     []found           // as of a pkg
	programs map[string][]*pkg // program → the members that install it
	astray   []string          // folders of packages that the settings name and that are not there
}

type rootLock struct {
	entry conflict.Entry
	*lock
}

// builder makes the graph of one tree.
type builder struct {
	analyzer *Analyzer
	tree     conflict.Tree
	layout   *layout.Layout
	roots    []*root
	pkgs     map[string]*pkg // by directory
	owners   map[string]*pkg // the same without roots of workspaces; also a memo of directories below
	byName   map[string][]*pkg
	barrier  []conflict.Entry
	barred   map[string]bool
	defs     map[string]queue.Digest
	globs    map[string][]conflict.Entry
	links    map[string]string     // symbolic links, with the paths that are written in them
	fits     map[[2]string]bool    // memo of fit
	valid    map[string]bool       // memo of validName
	scans    map[string]specifiers // by object id, of files that were remembered
}

func newBuilder(a *Analyzer, t conflict.Tree, l *layout.Layout) *builder {
	return &builder{analyzer: a, tree: t, layout: l, pkgs: map[string]*pkg{}, owners: map[string]*pkg{}, byName: map[string][]*pkg{},
		barred: map[string]bool{}, defs: map[string]queue.Digest{}, globs: map[string][]conflict.Entry{},
		links: map[string]string{}, fits: map[[2]string]bool{}, valid: map[string]bool{}}
}

// read returns the result of parse for a file, from memory if it can. For a
// link it reads the file that the link leads to.
func (b *builder) read(ctx context.Context, r reading) (any, error) {
	e := r.entry
	if e.Mode == conflict.ModeLink {
		to, err := b.linked(ctx, e)
		if err != nil {
			return nil, err
		}
		if len(to) != 1 {
			return nil, fmt.Errorf("%s: the link leads to no file of the tree", e.Path)
		}
		e.OID, e.Mode = to[0].OID, to[0].Mode
	}
	if e.Mode == conflict.ModeSubmodule {
		return nil, fmt.Errorf("%s: a submodule is no file", e.Path)
	}
	key := r.kind + e.OID
	if v, ok := b.analyzer.seen.Get(key); ok {
		return v, nil
	}
	data, err := b.tree.Blob(ctx, e.OID)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	v, err := r.parse(data)
	if err != nil {
		return nil, err
	}
	b.analyzer.seen.Add(key, v)
	return v, nil
}

// linked returns the files that a symbolic link leads to.
func (b *builder) linked(ctx context.Context, e conflict.Entry) ([]conflict.Entry, error) {
	to, _, ok, err := b.layout.Resolve(e.Path, func(link conflict.Entry) (string, error) { return b.goal(ctx, link) })
	if err != nil || !ok {
		return nil, err
	}
	return b.layout.At(to), nil
}

// goal returns the path that is written in a symbolic link.
func (b *builder) goal(ctx context.Context, link conflict.Entry) (string, error) {
	if v, ok := b.analyzer.seen.Get("link" + link.OID); ok {
		return v.(string), nil
	}
	data, err := b.tree.Blob(ctx, link.OID)
	if err != nil {
		return "", fmt.Errorf("%s: %w", link.Path, err)
	}
	b.analyzer.seen.Add("link"+link.OID, string(data))
	return string(data), nil
}

// readLinks reads all symbolic links, for paths that lead through them.
func (b *builder) readLinks(ctx context.Context) error {
	for _, e := range b.layout.Sorted {
		if e.Mode != conflict.ModeLink || installed(e.Path) {
			continue
		}
		to, err := b.goal(ctx, e)
		if err != nil {
			return err
		}
		b.links[e.Path] = to
	}
	return nil
}

// define makes a file a definition node and returns its name.
func (b *builder) define(e conflict.Entry) string {
	name := conflict.DefinitionPrefix + e.Path
	if _, ok := b.defs[name]; !ok {
		b.defs[name] = digest.Of(e.Mode, e.OID)
	}
	return name
}

// bar makes files part of every hash.
func (b *builder) bar(entries ...conflict.Entry) {
	for _, e := range entries {
		if !b.barred[e.Path] {
			b.barred[e.Path] = true
			b.barrier = append(b.barrier, e)
		}
	}
}

// owner returns the package that a directory or file belongs to, nil if none.
func (b *builder) owner(at string) *pkg {
	p, ok := b.owners[at]
	if ok || at == "" {
		return p
	}
	p = b.owner(layout.Dir(at))
	b.owners[at] = p
	return p
}

// share makes a file part of the hash of each member of a root: of every hash
// if it is the root of the tree.
func (b *builder) share(r *root, e conflict.Entry) {
	if r.dir == "" {
		b.bar(e)
		return
	}
	r.files = append(r.files, e)
	b.barred[e.Path] = true
}

// fit is links, from memory if it can be.
func (b *builder) fit(want, version string) bool {
	key := [2]string{want, version}
	ok, known := b.fits[key]
	if !known {
		ok = links(want, version)
		b.fits[key] = ok
	}
	return ok
}

// validName reports whether a package may have this name.
func (b *builder) validName(name string) bool {
	ok, known := b.valid[name]
	if !known {
		ok = validName.MatchString(name)
		b.valid[name] = ok
	}
	return ok
}
