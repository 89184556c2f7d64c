package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Folder is a Store in a folder, which servers may share.
type Folder struct {
	root  *os.Root
	bytes int64
}

var _ Store = (*Folder)(nil)

// suffix ends the names of archives.
const suffix = ".tar.zst"

// OpenFolder opens a folder, which is made if it is missing. Its archives take at most bytes
// together: the oldest are removed first. Close it.
func OpenFolder(dir string, bytes int64) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{root, bytes}, nil
}

// Close ends the use of the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Get implements Store.
func (f *Folder) Get(_ context.Context, id string) (io.ReadCloser, error) {
	return f.root.Open(id + suffix)
}

// Stat implements Store.
func (f *Folder) Stat(_ context.Context, id string) (time.Time, error) {
	info, err := f.root.Stat(id + suffix)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Put implements Store.
func (f *Folder) Put(ctx context.Context, id string, archive *os.File) error {
	making := fmt.Sprintf("new-%s-%d", id, os.Getpid())
	to, err := f.root.OpenFile(making, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, reader{ctx, archive})
	err = errors.Join(err, to.Close())
	if err == nil {
		err = f.root.Rename(making, id+suffix)
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(making))
	}
	return f.trim(id + suffix)
}

// trim removes the oldest archives until the rest is within the bound, but keeps the one that
// was just put there. It also removes unfinished files that are older than a day.
func (f *Folder) trim(keep string) error {
	found, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	total := int64(0)
	for _, d := range found {
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasPrefix(d.Name(), "new-") && time.Since(info.ModTime()) > 24*time.Hour {
			_ = f.root.Remove(d.Name()) // another process may have done so
		}
		if strings.HasSuffix(d.Name(), suffix) {
			all, total = append(all, info), total+info.Size()
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, info := range all {
		if total <= f.bytes {
			break
		}
		if info.Name() == keep {
			continue
		}
		if err := f.root.Remove(info.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= info.Size()
	}
	return nil
}

// reader is a reader that ends with its context.
type reader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
