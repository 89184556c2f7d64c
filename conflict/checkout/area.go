package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
)

// area is a folder that is made to hold the files of a plan.
type area struct {
	slot  string // the folder that the folder is in
	name  string
	known map[string]written
}

// written is a file as it was when it had been written.
type written struct {
	entry conflict.Entry
	stamp stamp
}

// sync makes the folder hold the files of the plan. left is how many bytes may
// still be written.
func (a *area) sync(ctx context.Context, t conflict.Tree, p *plan, left *int64) error {
	root, err := a.open()
	if err != nil {
		return provisional(err)
	}
	defer root.Close()
	there, err := a.prune(root, ".", func(path string, dir bool) bool {
		if dir {
			return p.dirs[path]
		}
		e, ok := p.files[path]
		return ok && e == a.known[path].entry
	})
	if err != nil {
		return provisional(err)
	}
	for path := range a.known {
		if !there[path] {
			delete(a.known, path)
		}
	}
	for dir := range p.dirs {
		if !there[dir] {
			if err := root.MkdirAll(dir, 0o700); err != nil {
				return provisional(err)
			}
		}
	}
	var last int64 // when a file was written
	for _, path := range p.order {
		if there[path] {
			if *left -= a.known[path].stamp.size; *left < 0 {
				return tooLarge()
			}
			continue
		}
		if err := a.write(ctx, root, t, p.files[path], left); err != nil {
			return err
		}
		last = max(last, a.known[path].stamp.changed)
	}
	return a.outlast(ctx, last)
}

// outlast waits until the file system gives new files a later time, so that a
// file that is written from now on is not taken for an earlier one.
func (a *area) outlast(ctx context.Context, last int64) error {
	if last == 0 {
		return nil
	}
	f, err := os.CreateTemp(a.slot, "clock")
	if err != nil {
		return provisional(err)
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }() // it has one byte, and is removed with the slot
	for {
		if _, err := f.WriteAt([]byte{0}, 0); err != nil {
			return provisional(err)
		}
		info, err := f.Stat()
		if err != nil {
			return provisional(err)
		}
		if stampOf(info).changed != last { // or the clock was set back
			return nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func tooLarge() error { return fmt.Errorf("%w: its files are too large together", ErrTree) }

// write makes one file where there is none. It is known once all of it is written.
func (a *area) write(ctx context.Context, root *os.Root, t conflict.Tree, e conflict.Entry, left *int64) error {
	content, err := t.Blob(ctx, e.OID)
	if err != nil {
		return err
	}
	if *left -= int64(len(content)); *left < 0 {
		return tooLarge()
	}
	if e.Mode == conflict.ModeLink {
		err = root.Symlink(string(content), e.Path)
	} else {
		err = writeFile(root, e, content)
	}
	if err != nil {
		return provisional(err)
	}
	info, err := root.Lstat(e.Path)
	if err != nil {
		return provisional(err)
	}
	a.known[e.Path] = written{e, stampOf(info)}
	return nil
}

func writeFile(root *os.Root, e conflict.Entry, content []byte) error {
	perm := os.FileMode(0o600)
	if e.Mode == "100755" {
		perm = 0o700
	}
	f, err := root.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// tidy removes files and folders that sync has not written.
func (a *area) tidy() error {
	root, err := a.open()
	if err != nil {
		return err
	}
	defer root.Close()
	dirs := map[string]bool{}
	for path := range a.known {
		for dir := parent(path); dir != "" && !dirs[dir]; dir = parent(dir) {
			dirs[dir] = true
		}
	}
	_, err = a.prune(root, ".", func(path string, dir bool) bool { return !dir || dirs[path] })
	return err
}

// open opens the folder, a new one if there is none or a program has put
// something else there.
func (a *area) open() (*os.Root, error) {
	path := filepath.Join(a.slot, a.name)
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = errors.Join(os.Remove(path), fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) {
		a.known = nil
		err = os.Mkdir(path, 0o700)
	}
	if err != nil {
		return nil, err
	}
	if a.known == nil {
		a.known = map[string]written{}
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(path)
}

// prune walks a folder, removes entries that keep refuses or that are not as
// they were written, and returns the paths that are left.
func (a *area) prune(root *os.Root, dir string, keep func(path string, dir bool) bool) (map[string]bool, error) {
	there := map[string]bool{}
	for todo := []string{dir}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		inner, err := a.pruneOne(root, at, keep, there)
		if err != nil {
			return nil, err
		}
		todo = append(todo, inner...)
	}
	return there, nil
}

// pruneOne prunes one folder and returns the folders in it that are left. It
// opens the folder once: each name of a path costs two calls of the system.
func (a *area) pruneOne(root *os.Root, dir string, keep func(path string, dir bool) bool, there map[string]bool) (inner []string, err error) {
	in, err := root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	entries, err := readDir(in)
	if err != nil {
		return nil, err
	}
	for _, d := range entries {
		name, path := d.Name(), d.Name()
		if dir != "." {
			path = dir + "/" + path
		}
		info, err := in.Lstat(name)
		if err != nil {
			return nil, err
		}
		switch {
		case info.IsDir():
			if info.Mode().Perm() != 0o700 {
				if err := in.Chmod(name, 0o700); err != nil {
					return nil, err
				}
			}
			if !keep(path, true) {
				if err := removeIn(in, name); err != nil {
					return nil, err
				}
				continue
			}
			there[path] = true
			inner = append(inner, path)
		case keep(path, false) && a.asWritten(path, info):
			there[path] = true
		default:
			if err := in.Remove(name); err != nil {
				return nil, err
			}
		}
	}
	return inner, nil
}

// asWritten reports whether a file is as sync has written it.
func (a *area) asWritten(path string, info fs.FileInfo) bool {
	w, ok := a.known[path]
	return ok && w.stamp.sure && w.stamp == stampOf(info)
}

func readDir(root *os.Root) ([]fs.DirEntry, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	return entries, errors.Join(err, f.Close())
}

// removeIn removes a folder in which folders may be closed to us.
func removeIn(root *os.Root, path string) error {
	if root.RemoveAll(path) == nil {
		return nil
	}
	empty := area{known: map[string]written{}}
	if _, err := empty.prune(root, path, func(string, bool) bool { return false }); err != nil {
		return err
	}
	return root.RemoveAll(path)
}

func removeAll(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		if err := root.Chmod(name, 0o700); err != nil {
			return err
		}
		return removeIn(root, name)
	}
	return root.RemoveAll(name)
}
