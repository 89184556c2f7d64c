package cargo

import (
	"context"
	"errors"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/submitqueue/submitqueue/conflict"
)

// Name is the analyzer's name in the configuration.
const Name = "cargo"

// Numbers of files that an analyzer remembers: a few kilobytes each manifest,
// up to some megabytes each lock file, some hundred bytes each source file.
const (
	keptManifests = 1 << 14
	keptLocks     = 1 << 6
	keptSources   = 1 << 16
)

// Analyzer is the analyzer of Cargo workspaces. It remembers the files that it
// has read, so keep one for many trees.
type Analyzer struct {
	manifests *lru.Cache[string, *manifest] // these by object id
	locks     *lru.Cache[string, *lock]
	sources   *lru.Cache[string, []string]
}

var _ conflict.Analyzer = (*Analyzer)(nil)

// New returns an analyzer.
func New() *Analyzer {
	var a Analyzer
	a.manifests, _ = lru.New[string, *manifest](keptManifests) // an error is for sizes below one
	a.locks, _ = lru.New[string, *lock](keptLocks)
	a.sources, _ = lru.New[string, []string](keptSources)
	return &a
}

// ID returns name and version.
func (a *Analyzer) ID() string { return Name + "/3" }

// Graph returns the crates of all workspaces of the tree. A tree without a
// package has no graph. Neither has a tree with a broken manifest, lock file or
// settings of Cargo: the error names file and line.
func (a *Analyzer) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	l := &loader{analyzer: a, tree: t, layout: newFolders(files), manifests: map[string]source{},
		workspaces: map[string]*workspace{}, crates: map[string]*crate{}}
	barrier, err := l.readConfig(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.readManifests(ctx); err != nil {
		return nil, err
	}
	if err := l.findWorkspaces(ctx); err != nil {
		return nil, err
	}
	if len(l.crates) == 0 {
		return nil, errors.New("the tree has no Cargo package")
	}
	if err := l.readLocks(ctx); err != nil {
		return nil, err
	}
	l.own()
	if err := l.readSources(ctx); err != nil {
		return nil, err
	}
	g, err := l.graph()
	if err != nil {
		return nil, err
	}
	g.Barrier = barrier
	return g, nil
}
