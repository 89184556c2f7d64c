package gn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
)

// Name is the analyzer's name in the configuration.
const Name = "gn"

// buildDir is the build directory in a checkout.
const buildDir = ".submitqueue-gn"

// Bounds of GN.
const (
	maxOutput = 256 << 20 // bytes of a description
	maxMemory = 8 << 10   // MiB
)

// Analyzer is the analyzer of GN. It remembers what files include, so keep one for many
// trees.
type Analyzer struct {
	timeout  time.Duration
	pool     *checkout.Pool
	includes *lru.Cache[string, []string] // by object id
	lookups  int                          // for what the sources of one tree include
}

var _ conflict.Analyzer = (*Analyzer)(nil)

// New returns an analyzer that runs GN in checkouts of the pool, each of its
// runs for at most the timeout (0: a minute). Without a pool it has no graph
// of any tree.
func New(timeout time.Duration, pool *checkout.Pool) *Analyzer {
	includes, _ := lru.New[string, []string](keptIncludes) // an error is for sizes below one
	return &Analyzer{timeout, pool, includes, mostLookups}
}

// ID returns name and version. GN's own version is in the salt.
func (a *Analyzer) ID() string { return Name + "/2" }

// Graph returns the targets that GN describes.
func (a *Analyzer) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	if _, err := exec.LookPath("gn"); err != nil {
		return nil, fmt.Errorf("gn cannot be run here: %w: %w", conflict.ErrProvisional, err)
	}
	if a.pool == nil {
		return nil, fmt.Errorf("gn cannot be run here: there are no checkouts: %w", conflict.ErrProvisional)
	}
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	s, err := scan(ctx, t, files)
	if err != nil {
		return nil, err
	}
	d, err := a.pool.Checkout(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	dotfile := filepath.Join(d.Program, "dotfile.gn")
	if err := prepare(d, s, dotfile); err != nil {
		return nil, err
	}
	r := run{a, d, dotfile}
	if _, err := r.gn(ctx, true, "gen", buildDir, "--script-executable=/nonexistent"); err != nil {
		return nil, s.explain(err)
	}
	if err := s.checkRead(filepath.Join(d.Tree, buildDir, "build.ninja.d"), dotfile); err != nil {
		return nil, err
	}
	if err := forgetMade(d.Tree); err != nil {
		return nil, fmt.Errorf("checkout: %w: %w", conflict.ErrProvisional, err)
	}
	version, err := r.gn(ctx, false, "--version")
	if err != nil {
		return nil, fmt.Errorf("gn --version: %w", err)
	}
	described, err := r.gn(ctx, false, "desc", buildDir, "*", "--format=json", "--all-toolchains")
	if err != nil {
		return nil, fmt.Errorf("gn desc: %w", err)
	}
	runtime, err := r.gn(ctx, false, "desc", buildDir, "*", "runtime_deps", "--format=json", "--all-toolchains")
	if err != nil {
		return nil, fmt.Errorf("gn desc: %w", err)
	}
	g, err := s.graph(described, runtime)
	if err != nil {
		return nil, fmt.Errorf("gn desc: %w", err)
	}
	if err := a.include(ctx, t, s, g); err != nil {
		return nil, err
	}
	g.Salt = []string{"gn " + strings.TrimSpace(string(version))}
	return g, nil
}

// forgetMade removes the definitions that a run has made, args.gn among them: the
// next run would take them for files of the tree.
func forgetMade(tree string) error {
	root, err := os.OpenRoot(filepath.Join(tree, buildDir))
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !definition(file) {
			return err
		}
		return root.Remove(filepath.FromSlash(file))
	})
}

// prepare makes a checkout safe for GN.
func prepare(d *checkout.Dir, s *scanned, dotfile string) error {
	if _, err := os.Lstat(filepath.Join(d.Tree, buildDir)); err == nil {
		return fmt.Errorf("the tree has %s, the name of gn's build directory here", buildDir)
	}
	root, err := os.OpenRoot(d.Tree)
	if err != nil {
		return fmt.Errorf("checkout: %w: %w", conflict.ErrProvisional, err)
	}
	defer root.Close()
	for path := range s.refused {
		if err := root.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("checkout: %w: %w", conflict.ErrProvisional, err)
		}
	}
	if err := os.WriteFile(dotfile, []byte(s.dotfile), 0o600); err != nil {
		return fmt.Errorf("checkout: %w: %w", conflict.ErrProvisional, err)
	}
	return nil
}

// run is GN in a checkout.
type run struct {
	*Analyzer
	dir     *checkout.Dir
	dotfile string
}

// gn runs GN. Its messages are on standard output: with messages, they go to
// standard error, so that an error shows them.
func (r run) gn(ctx context.Context, messages bool, args ...string) ([]byte, error) {
	script := `exec "$@"`
	if messages {
		script += " >&2"
	}
	argv := append([]string{"/bin/sh", "-c", script, "sh", "gn"}, args...)
	argv = append(argv, "--root="+r.dir.Tree, "--dotfile="+r.dotfile)
	return r.dir.Run(ctx, checkout.Program{Argv: argv, Dir: r.dir.Tree, Timeout: r.timeout, Output: maxOutput, Memory: maxMemory})
}
