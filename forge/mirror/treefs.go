package mirror

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// FS returns the files of a commit as git has them, without symbolic links and
// submodules. Contents are read when a file is opened; ctx bounds that.
func (m *Mirror) FS(ctx context.Context, commit queue.CommitID) (out fs.FS, err error) {
	err = m.mending(ctx, func() error {
		t, err := m.Objects.Tree(ctx, commit)
		if err != nil {
			return err
		}
		files, err := t.Files(ctx)
		out = treeFS{ctx, t, files}
		return err
	}, commit)
	return out, err
}

// treeFS is a tree, its files sorted by path.
type treeFS struct {
	ctx   context.Context
	tree  *Tree
	files []File
}

// Open implements fs.FS.
func (t treeFS) Open(name string) (fs.File, error) {
	gone := &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	if !fs.ValidPath(name) {
		gone.Err = fs.ErrInvalid
		return nil, gone
	}
	i := sort.Search(len(t.files), func(i int) bool { return t.files[i].Path >= name })
	if i < len(t.files) && t.files[i].Path == name {
		if !strings.HasPrefix(t.files[i].Mode, "100") {
			return nil, gone
		}
		data, err := t.tree.Blob(t.ctx, t.files[i].OID)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &treeFile{Reader: bytes.NewReader(data), info: treeInfo{name: path.Base(name), size: int64(len(data))}}, nil
	}
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	from := sort.Search(len(t.files), func(i int) bool { return t.files[i].Path >= prefix })
	var entries []fs.DirEntry
	for _, f := range t.files[from:] {
		rest, in := strings.CutPrefix(f.Path, prefix)
		if !in {
			break
		}
		first, _, deeper := strings.Cut(rest, "/")
		if n := len(entries); n > 0 && entries[n-1].Name() == first {
			continue
		}
		if deeper || strings.HasPrefix(f.Mode, "100") {
			entries = append(entries, treeInfo{name: first, dir: deeper})
		}
	}
	if len(entries) == 0 && name != "." {
		return nil, gone
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return &treeFile{Reader: bytes.NewReader(nil), info: treeInfo{name: path.Base(name), dir: true}, entries: entries}, nil
}

// treeFile is an open file or folder of a tree.
type treeFile struct {
	*bytes.Reader
	info    treeInfo
	entries []fs.DirEntry
}

// Stat implements fs.File.
func (f *treeFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements fs.File.
func (f *treeFile) Close() error { return nil }

// ReadDir implements fs.ReadDirFile.
func (f *treeFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		out := f.entries
		f.entries = nil
		return out, nil
	}
	if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	out := f.entries[:n]
	f.entries = f.entries[n:]
	return out, nil
}

// treeInfo describes a file or folder of a tree.
type treeInfo struct {
	name string
	size int64
	dir  bool
}

func (i treeInfo) Name() string               { return i.name }
func (i treeInfo) Size() int64                { return i.size }
func (i treeInfo) ModTime() time.Time         { return time.Time{} }
func (i treeInfo) IsDir() bool                { return i.dir }
func (i treeInfo) Sys() any                   { return nil }
func (i treeInfo) Type() fs.FileMode          { return i.Mode().Type() }
func (i treeInfo) Info() (fs.FileInfo, error) { return i, nil }
func (i treeInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
