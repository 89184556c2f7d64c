package bazel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
)

// Name is the analyzer's name in the configuration.
const Name = "bazel"

// Bounds of an analyzer's memory.
const (
	keptPackages = 1 << 15 // records, a few kilobytes each
	keptScans    = 1 << 16
)

// Analyzer is the analyzer of Bazel. It remembers Bazel's answers about
// packages, so keep one for many trees.
type Analyzer struct {
	timeout time.Duration
	pool    *checkout.Pool
	turn    chan struct{} // held by the goroutine that runs Bazel
	records *lru.Cache[string, []*kept]
	scans   *lru.Cache[string, source] // by object id

	mu       sync.Mutex
	versions map[string]string // of programs
	last     *targeted         // the target branch's last tree
	fetched  *fetched          // its repositories; only the holder of turn may use them
}

var _ conflict.Guarded = (*Analyzer)(nil)

// New returns an analyzer that runs Bazel in checkouts of the pool, each of its
// runs for at most the timeout (0: a minute). Without a pool it has no graph
// of any tree.
func New(timeout time.Duration, pool *checkout.Pool) *Analyzer {
	records, _ := lru.New[string, []*kept](keptPackages) // errors are for sizes below one
	scans, _ := lru.New[string, source](keptScans)
	return &Analyzer{timeout: timeout, pool: pool, turn: make(chan struct{}, 1), records: records, scans: scans, versions: map[string]string{}}
}

// ID returns name and version. Bazel's own version is in the salt.
func (a *Analyzer) ID() string { return Name + "/3" }

// Graph returns the graph of a tree in which no package loads anything from
// external repositories.
func (a *Analyzer) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	return a.Trusting(nil).Graph(ctx, t)
}

// Trusting implements conflict.Guarded.
func (a *Analyzer) Trusting(target conflict.Tree) conflict.Analyzer { return trusting{a, target} }

// trusting is the analyzer that may fetch the repositories of a target branch.
type trusting struct {
	*Analyzer
	target conflict.Tree
}

// Graph returns the targets that Bazel names.
func (a trusting) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	program, err := exec.LookPath("bazel")
	if err != nil {
		return nil, fmt.Errorf("bazel cannot be run here: install it as bazel (apt-get install bazel-bootstrap, or a release of it) and put it on the server's PATH: %w: %w", conflict.ErrProvisional, err)
	}
	if a.pool == nil {
		return nil, fmt.Errorf("bazel cannot be run here: there are no checkouts: %w", conflict.ErrProvisional)
	}
	s, err := a.scan(ctx, t)
	if err != nil {
		return nil, err
	}
	select { // one Bazel at a time: two together take twice the memory and are hardly faster
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.version, err = a.version(ctx, program, t); err != nil {
		return nil, err
	}
	if s.externals, err = a.externals(ctx, program, s); err != nil {
		return nil, err
	}
	if err := a.load(ctx, program, s); err != nil {
		return nil, err
	}
	return a.graph(ctx, s)
}

// scanned is a tree on its way to a graph.
type scanned struct {
	tree      conflict.Tree
	layout    *layout
	workspace string   // its name
	outer     []string // labels in other repositories that packages load
	rc        []string // rc files, and all files that they import
	deletes   []string // folders that would be packages, were there no option that says otherwise
	version   string   // Bazel's
	externals *externals
	records   map[string]*record // by folder
}

// roots are the files that make a folder a workspace, those that count first.
var roots = []string{"WORKSPACE.bazel", "WORKSPACE", "MODULE.bazel", "REPO.bazel"}

// prelude is a file that Bazel puts before every BUILD file.
const prelude = "tools/build_rules/prelude_bazel"

// scan reads a tree as far as that needs no Bazel.
func (a *Analyzer) scan(ctx context.Context, t conflict.Tree) (*scanned, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	l, err := newLayout(ctx, t, files)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(roots, func(file string) bool { _, ok := l.byPath[file]; return ok }) {
		return nil, errors.New("the tree has no WORKSPACE or MODULE.bazel at its root")
	}
	if len(l.packages) == 0 {
		return nil, errors.New("the tree has no BUILD file")
	}
	if _, ok := l.resolve(prelude); ok {
		return nil, fmt.Errorf("the tree has %s, which is a part of every BUILD file and may load others, but Bazel's answers do not name it: load what it defines where it is used, and remove it", prelude)
	}
	s := &scanned{tree: t, layout: l, records: map[string]*record{}}
	if s.workspace, err = s.workspaceName(ctx); err != nil {
		return nil, err
	}
	if s.rc, err = s.rcFiles(ctx); err != nil {
		return nil, err
	}
	deleted, err := s.deleted(ctx)
	if err != nil {
		return nil, err
	}
	for _, dir := range slices.Sorted(maps.Keys(deleted)) {
		if _, is := l.packages[dir]; is {
			s.deletes = append(s.deletes, dir)
		}
	}
	if err := l.remove(func(dir string) bool { return deleted[dir] }); err != nil {
		return nil, err
	}
	s.outer, err = a.outerLoads(ctx, s)
	return s, err
}

// load gets the records of all packages: from memory, and the others from Bazel.
func (a *Analyzer) load(ctx context.Context, program string, s *scanned) error {
	var ask []string
	for dir, p := range s.layout.packages {
		if r := a.recall(s, p); r != nil {
			s.records[dir] = r
		} else {
			ask = append(ask, dir)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	slices.Sort(ask)
	d, err := a.pool.Checkout(ctx, s.shown(), nil)
	if err != nil {
		return err
	}
	defer d.Release()
	bazel, err := newServer(program, d, a.timeout)
	if err != nil {
		return err
	}
	out, err := bazel.query(ctx, ask, s.deletes)
	if err != nil {
		return a.doubt(s, err)
	}
	records, err := parse(out, s.workspace)
	if err != nil {
		return err
	}
	for _, dir := range ask {
		r := records[dir]
		if r == nil || r.build == "" {
			return fmt.Errorf("bazel has not said anything of the package //%s", dir)
		}
		if r.broken {
			return fmt.Errorf("the package //%s has errors", dir)
		}
		if err := a.remember(ctx, s, s.layout.packages[dir], r); err != nil {
			return err
		}
		s.records[dir] = r
	}
	return nil
}
