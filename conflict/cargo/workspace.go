package cargo

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// workspace is a directory where Cargo resolves versions and builds: one with a
// [workspace] table, or the directory of a package that is in no workspace.
type workspace struct {
	dir     string
	m       *manifest
	members map[string]bool     // directories of its packages
	used    map[string]bool     // those and the path dependencies of all of them
	reads   []string            // listings that its member globs look at
	astray  []string            // member globs that no directory of the tree stands for, and whatever else Cargo may refuse the whole of it for
	patched map[string][]string // package → directories that replace packages of other sources
	lock    *lock               // nil if there is none
}

// source is a manifest of the tree.
type source struct {
	entry conflict.Entry
	*manifest
}

// loader finds the workspaces of one tree.
type loader struct {
	analyzer   *Analyzer
	tree       conflict.Tree
	layout     *folders
	manifests  map[string]source // by directory
	workspaces map[string]*workspace
	crates     map[string]*crate
	config     settings
}

const manifestName = "Cargo.toml"

// readManifests reads every Cargo.toml of the tree.
func (l *loader) readManifests(ctx context.Context) error {
	for _, e := range l.layout.Sorted {
		if path.Base(e.Path) != manifestName || e.Mode == conflict.ModeSubmodule {
			continue
		}
		at, err := l.goal(ctx, e)
		if err != nil {
			return err
		}
		if at.OID == "" {
			l.manifests[layout.Dir(e.Path)] = source{e, &manifest{broken: &fault{1, "a symbolic link that leads to no file"}}}
			continue
		}
		m, ok := l.analyzer.manifests.Get(at.OID)
		if !ok {
			src, err := l.tree.Blob(ctx, at.OID)
			if err != nil {
				return err
			}
			m = readManifest(src)
			l.analyzer.manifests.Add(at.OID, m)
		}
		l.manifests[layout.Dir(e.Path)] = source{e, m}
	}
	return nil
}

// goal returns the regular file that an entry is or leads to.
func (l *loader) goal(ctx context.Context, e conflict.Entry) (conflict.Entry, error) {
	p, _, ok, err := l.layout.Resolve(e.Path, l.link(ctx))
	if err != nil || !ok {
		return conflict.Entry{}, err
	}
	return l.layout.ByPath[p], nil
}

func (l *loader) link(ctx context.Context) func(conflict.Entry) (string, error) {
	return func(e conflict.Entry) (string, error) {
		to, err := l.tree.Blob(ctx, e.OID)
		return string(to), err
	}
}

// err returns the error of a manifest that Cargo would have to read.
func (s source) err() error {
	if s.manifest == nil || s.broken == nil {
		return nil
	}
	return s.broken.at(s.entry.Path)
}

// root returns the workspace that Cargo would find for a package: the nearest
// [workspace] upwards that does not exclude it, nil if there is none.
func (l *loader) root(dir string) *workspace {
	if m := l.manifests[dir]; m.manifest != nil && m.pointer != "" {
		if to, ok := layout.Join(dir, m.pointer); ok {
			return l.workspaces[strings.TrimSuffix(strings.TrimSuffix(to, manifestName), "/")]
		}
	}
	for d := dir; ; d = layout.Dir(d) {
		if m := l.manifests[d]; m.manifest != nil && m.workspace != nil && (d == dir || !m.excludes(d, dir)) {
			return l.workspaces[d]
		}
		if d == "" {
			return nil
		}
	}
}

// excludes reports whether a workspace leaves out a directory.
func (m *manifest) excludes(root, dir string) bool {
	below := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool {
			at, ok := layout.Join(root, p)
			return ok && within(dir, at)
		})
	}
	return below(m.workspace.exclude) && !below(m.workspace.members)
}

// aside reports whether a manifest without a reference to it is taken for a
// file of a test, a template or a copy of a foreign package.
func aside(dir string) bool {
	for _, elem := range strings.Split(dir, "/") {
		switch elem {
		case "tests", "testdata", "fixtures", "templates", "vendor", "target":
			return true
		}
		if strings.HasPrefix(elem, ".") && elem != "" {
			return true
		}
	}
	return false
}

// findWorkspaces makes the workspaces and all crates that they are built of.
func (l *loader) findWorkspaces(ctx context.Context) error {
	dirs := make([]string, 0, len(l.manifests))
	for d := range l.manifests {
		dirs = append(dirs, d)
	}
	slices.SortFunc(dirs, func(a, b string) int {
		if d := depth(a) - depth(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, d := range dirs {
		if l.manifests[d].workspace != nil {
			l.workspaces[d] = &workspace{dir: d, m: l.manifests[d].manifest, members: map[string]bool{}, used: map[string]bool{}}
		}
	}
	// A workspace in a fixture, or within another one that it belongs to by its
	// files alone, counts only if a package refers to it.
	for _, d := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch m, home := l.manifests[d], l.root(d); {
		case aside(d):
		case m.broken != nil && home == nil:
			return m.err()
		case m.broken != nil, home == nil && !m.isPackage:
		case home == nil:
			if err := l.alone(ctx, d); err != nil {
				return err
			}
		case home.dir == d:
			if err := l.expand(ctx, home); err != nil {
				return err
			}
		}
	}
	return nil
}

func depth(dir string) int {
	if dir == "" {
		return 0
	}
	return 1 + strings.Count(dir, "/")
}
