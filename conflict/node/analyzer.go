package node

import (
	"context"
	"errors"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// Name is the analyzer's name in the configuration.
const Name = "node"

// cacheSize is how many files an analyzer remembers: a few hundred bytes each,
// except lock files.
const cacheSize = 1 << 16

// Analyzer is the analyzer of JavaScript workspaces. It remembers the files
// that it has read, so keep one for many trees.
type Analyzer struct {
	seen *lru.Cache[string, any] // by kind and object id
}

var _ conflict.Analyzer = (*Analyzer)(nil)

// New returns an analyzer.
func New() *Analyzer {
	seen, _ := lru.New[string, any](cacheSize) // an error is for sizes below one
	return &Analyzer{seen: seen}
}

// ID returns name and version.
func (a *Analyzer) ID() string { return Name + "/3" }

// Graph returns the packages of all workspaces of the tree. A tree without a
// package.json has no graph. Neither has a tree in which the package.json of a
// package, or the configuration of its workspace, cannot be read.
func (a *Analyzer) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	b := newBuilder(a, t, layout.New(files))
	for _, step := range []func(context.Context) error{b.readManifests, b.discover, b.readLinks, b.readLocks, b.claim, b.configure, b.readSources, b.scan} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return b.graph(), nil
}

var errNone = errors.New("the tree has no package.json")
