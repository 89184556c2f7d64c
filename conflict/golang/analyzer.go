package golang

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/submitqueue/submitqueue/conflict"
)

// Name is the analyzer's name in the configuration.
const Name = "go"

// cacheSize is how many scanned files an analyzer remembers: a few hundred
// bytes each.
const cacheSize = 1 << 16

// Options say on which platform packages must build to be targets. A package
// without a file for the platform is no target, as `go test` of it fails.
type Options struct {
	OS   string // GOOS; linux if empty
	Arch string // GOARCH; amd64 if empty
}

// Analyzer is the analyzer of Go modules. It remembers scanned files, so keep
// one for many trees.
type Analyzer struct {
	platform platform
	scans    *lru.Cache[source, scan]
}

var _ conflict.Follower = (*Analyzer)(nil)

// New returns an analyzer.
func New(o Options) *Analyzer {
	scans, _ := lru.New[source, scan](cacheSize) // an error is for sizes below one
	return &Analyzer{platform: newPlatform(cmp.Or(o.OS, "linux"), cmp.Or(o.Arch, "amd64")), scans: scans}
}

// ID returns name, version and platform.
func (a *Analyzer) ID() string { return Name + "/1 " + a.platform.os + "/" + a.platform.arch }

// Graph returns the packages of all modules of the tree. A tree without a
// module has no graph. Neither has a tree with a broken go.mod at its top, or
// with a broken go.work.
func (a *Analyzer) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	mods, err := readModules(ctx, t, files)
	if err != nil {
		return nil, err
	}
	if len(mods.byDir) == 0 {
		return nil, errors.New("the tree has no go.mod")
	}
	b := a.builder(t, &state{layout: newLayout(files), modules: mods})
	if err := b.followCopies(ctx); err != nil {
		return nil, fmt.Errorf("read vendored links: %w", err)
	}
	for dir := range b.now.layout.dirs.all() {
		b.dirty[dir] = true
	}
	if err := b.load(ctx); err != nil {
		return nil, fmt.Errorf("read packages: %w", err)
	}
	targets, _ := b.targets(&state{})
	for _, dir := range mods.dirs() {
		targets = append(targets, b.external(dir))
	}
	if b.now.natives > 0 {
		targets = append(targets, b.native())
	}
	return &conflict.Graph{Targets: targets, Barrier: mods.barrier, Salt: mods.salt, Memo: b.now}, nil
}
