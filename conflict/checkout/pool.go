package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// Options bound a pool. Zero values mean the defaults.
type Options struct {
	Size  int   // directories; 2, at most 3
	Files int   // of one tree; 1,000,000
	Bytes int64 // of one tree; 16 GiB
}

// ErrTree is in the errors that are the fault of a tree: it can never be
// checked out.
var ErrTree = errors.New("the tree cannot be checked out")

// Pool is a few directories that trees are checked out into. It is safe for
// concurrent use.
type Pool struct {
	options Options
	folds   bool // the file system does not tell A from a
	lock    *os.File
	tokens  chan struct{}

	mu   sync.Mutex
	idle []*slot // the last used one last
}

// slot is one directory of the pool.
type slot struct {
	path          string
	tree, program *area
	last          queue.TreeID
	stops         map[string]func() error // by name: they end the servers that live beside it
}

// Open takes a directory for this process and empties it. It fails when
// another process has it.
func Open(dir string, o Options) (*Pool, error) {
	if o.Size == 0 {
		o.Size = 2
	}
	if o.Files == 0 {
		o.Files = 1_000_000
	}
	if o.Bytes == 0 {
		o.Bytes = 16 << 30
	}
	if o.Size < 1 || o.Size > 3 {
		return nil, fmt.Errorf("checkouts: the size of a pool is 1 to 3, not %d", o.Size)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("checkouts: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // programs print real paths
	}
	if err != nil {
		return nil, fmt.Errorf("checkouts: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("checkouts: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("checkouts: another process uses %s: %w", dir, err), lock.Close())
	}
	p := &Pool{options: o, lock: lock, tokens: make(chan struct{}, o.Size)}
	if err := p.fill(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("checkouts: %w", err), lock.Close())
	}
	return p, nil
}

func (p *Pool) fill(dir string) error {
	for i := range p.options.Size {
		s := &slot{path: filepath.Join(dir, strconv.Itoa(i))}
		if err := removeAll(dir, strconv.Itoa(i)); err != nil {
			return err
		}
		if err := os.Mkdir(s.path, 0o700); err != nil {
			return err
		}
		s.tree, s.program = &area{slot: s.path, name: "tree"}, &area{slot: s.path, name: "program"}
		p.idle = append(p.idle, s)
	}
	_, err := os.Lstat(filepath.Join(dir, "LOCK"))
	p.folds = err == nil
	return nil
}

// Close ends the servers that Keep was told of and gives up the directory. All
// checkouts must have been released.
func (p *Pool) Close() error {
	var errs []error
	for _, s := range p.idle {
		for _, stop := range s.stops {
			errs = append(errs, stop())
		}
	}
	return errors.Join(append(errs, p.lock.Close())...)
}

// Dir is a tree as files, until it is released.
type Dir struct {
	Tree    string // the tree's files; a program may change them
	Program string // the given part of them, where nothing else of the tree is
	home    string
	tmp     string
	pool    *Pool
	slot    *slot
	once    sync.Once
}

// Checkout waits for a directory and makes it hold the tree, and Program hold
// the entries of it that program lists. An error is ErrTree if it is the tree's
// fault, conflict.ErrProvisional if it is this machine's, and otherwise an
// error of reading the tree or of ctx.
func (p *Pool) Checkout(ctx context.Context, t conflict.Tree, program []conflict.Entry) (*Dir, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	if len(files) > p.options.Files {
		return nil, fmt.Errorf("%w: it has more than %d files", ErrTree, p.options.Files)
	}
	all, err := newPlan(ctx, t, files, p.folds)
	if err != nil {
		return nil, err
	}
	part, err := newPlan(ctx, t, program, p.folds)
	if err != nil {
		return nil, err
	}
	s, err := p.take(ctx, t.ID())
	if err != nil {
		return nil, err
	}
	d := &Dir{Tree: filepath.Join(s.path, "tree"), Program: filepath.Join(s.path, "program"),
		home: filepath.Join(s.path, "home"), tmp: filepath.Join(s.path, "tmp"), pool: p, slot: s}
	left := p.options.Bytes
	if err = s.tree.sync(ctx, t, all, &left); err == nil {
		err = s.program.sync(ctx, t, part, &left)
	}
	if err == nil {
		err = d.scratch()
	}
	if err != nil {
		d.Release()
		return nil, err
	}
	return d, nil
}

// take waits for a directory: that of the same tree if it is idle, or the one
// used last, which most probably differs least.
func (p *Pool) take(ctx context.Context, id queue.TreeID) (*slot, error) {
	select {
	case p.tokens <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.idle, func(s *slot) bool { return s.last == id })
	if i < 0 {
		i = len(p.idle) - 1
	}
	s := p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	s.last = id
	return s, nil
}

// Release removes the files that programs left behind, as far as it can, and
// gives the directory back. Releasing twice is releasing once.
func (d *Dir) Release() {
	d.once.Do(func() {
		for _, a := range []*area{d.slot.tree, d.slot.program} {
			_ = a.tidy() // the next checkout looks again, and reports it
		}
		_ = d.scratch()
		d.pool.mu.Lock()
		d.pool.idle = append(d.pool.idle, d.slot)
		d.pool.mu.Unlock()
		<-d.pool.tokens
	})
}

// scratch empties the folders that programs have as HOME and TMPDIR.
func (d *Dir) scratch() error {
	for _, name := range []string{"home", "tmp"} {
		if err := removeAll(d.slot.path, name); err != nil {
			return provisional(err)
		}
		if err := os.Mkdir(filepath.Join(d.slot.path, name), 0o700); err != nil {
			return provisional(err)
		}
	}
	return nil
}

// neutral replaces the paths of the directory by names that are the same for every directory.
func (d *Dir) neutral(s string) string {
	return strings.NewReplacer(d.Tree, "/tree", d.Program, "/program", d.home, "/home", d.tmp, "/tmp", d.keep(), "/keep").Replace(s)
}

func provisional(err error) error {
	return fmt.Errorf("checkout: %w: %w", conflict.ErrProvisional, err)
}
