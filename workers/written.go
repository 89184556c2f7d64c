package workers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/workers/report"
)

// written finds the files that a step has written its report to. Those that were there
// before the step, of the commit or of an earlier step, count only if it has written them.
// Nothing of the step may run any more when they are read.
type written struct {
	root     *os.Root // the checkout: no link leads out of it
	patterns []string
	before   map[string]fs.FileInfo
	owner    int // the user that must own them; -1: any user
}

// maxSeen bounds how many entries of the checkout are looked at for each pattern.
const maxSeen = 5_000_000

// expect notes the files that are there before the step.
func (r *Runner) expect(ctx context.Context, read *report.Report) (*written, error) {
	if read == nil || len(read.Files()) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(r.files.checkout)
	if err != nil {
		return nil, err
	}
	w := &written{root: root, patterns: read.Files(), before: map[string]fs.FileInfo{}, owner: -1}
	if uid := r.files.guest.uidOf(); uid != 0 {
		w.owner = uid
	}
	err = w.each(ctx, func(name string) error {
		info, err := root.Lstat(name)
		if err == nil {
			w.before[name] = info
		}
		return nil // one that is gone again was not there
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return w, nil
}

// hand gives a trial the files that the step has written.
func (w *written) hand(ctx context.Context, trial *Trial) error {
	if w == nil {
		return nil
	}
	found, stale := 0, 0
	err := w.each(ctx, func(name string) error {
		if w.one(name, trial) {
			found++
		} else {
			stale++
		}
		if found > report.MaxFiles {
			return fmt.Errorf("the step has written more than %d files of its report", report.MaxFiles)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case found == 0 && stale > 0:
		trial.Notice(fmt.Sprintf("the step has not written its report: the file there (%s) is older than the step", some(w.patterns)))
	case found == 0:
		trial.Notice(fmt.Sprintf("the step has not written its report: there is no file %s", some(w.patterns)))
	}
	return nil
}

// close lets go of the checkout.
func (w *written) close() {
	if w != nil {
		_ = w.root.Close() // it was read only
	}
}

// unreadable is the content of a file that cannot be trusted: to read it is an error.
type unreadable struct{ why error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.why }

// one hands over one file, and reports whether the step has written it.
func (w *written) one(name string, trial *Trial) (fresh bool) {
	f, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for ever
	if err != nil {
		trial.File(name, unreadable{err})
		return true
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		trial.File(name, unreadable{err})
		return true
	}
	// A link could have a file that was there before under a new name.
	if at, err := w.root.Lstat(name); err != nil || !info.Mode().IsRegular() || !os.SameFile(at, info) {
		trial.File(name, unreadable{errors.New("it is not a regular file")})
		return true
	}
	if was := w.before[name]; was != nil && os.SameFile(was, info) && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime()) {
		return false
	}
	if owner, links := owned(info); w.owner >= 0 && (owner != w.owner || links > 1) {
		trial.File(name, unreadable{errors.New("it is not the step's own file")})
		return true
	}
	trial.File(name, f)
	return true
}

// each calls take with the files that match, each once, in order.
func (w *written) each(ctx context.Context, take func(name string) error) error {
	var names []string
	for _, p := range w.patterns {
		files := &counted{FS: w.root.FS(), ctx: ctx, left: maxSeen}
		err := doublestar.GlobWalk(files, p, func(name string, d fs.DirEntry) error {
			if len(names) > 2*report.MaxFiles {
				return fmt.Errorf("more than %d files match %s", 2*report.MaxFiles, p)
			}
			names = append(names, name)
			return nil
		}, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		if err == nil {
			err = files.err
		}
		if err != nil {
			return fmt.Errorf("look for %s: %w", p, err)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := take(name); err != nil {
			return err
		}
	}
	return nil
}

// counted is a file system that ends a walk that takes too long.
type counted struct {
	fs.FS
	ctx  context.Context
	left int
	err  error
}

// ReadDir implements fs.ReadDirFS.
func (c *counted) ReadDir(name string) ([]fs.DirEntry, error) {
	if c.err == nil {
		c.err = c.ctx.Err()
	}
	if c.err != nil {
		return nil, c.err
	}
	list, err := fs.ReadDir(c.FS, name)
	if c.left -= len(list); c.left < 0 {
		c.err = errors.New("there are too many files")
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		err = nil // a folder that cannot be read holds no report
	}
	return list, err
}

// Stat implements fs.StatFS.
func (c *counted) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }

// Lstat and ReadLink implement fs.ReadLinkFS.
func (c *counted) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.FS, name) }

// ReadLink implements fs.ReadLinkFS.
func (c *counted) ReadLink(name string) (string, error) { return fs.ReadLink(c.FS, name) }
