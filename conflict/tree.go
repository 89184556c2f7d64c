package conflict

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
)

// Entry is one blob, symbolic link or submodule of a tree, as git holds it.
type Entry struct {
	Path string // from the root of the tree, with slashes
	Mode string // git's, in octal: 100644, 100755, 120000 (link) or 160000 (submodule)
	OID  string // object id in lower-case hexadecimal
}

// The modes that are not of a regular file.
const (
	ModeLink      = "120000"
	ModeSubmodule = "160000"
)

// Tree is read access to one git tree. It never changes, so an implementation
// may cache. One analysis asks for one thing at a time.
type Tree interface {
	// ID names the content of the tree.
	ID() queue.TreeID
	// Files returns all entries of the tree and its sub-trees, sorted by path.
	// The caller does not modify the slice.
	Files(ctx context.Context) ([]Entry, error)
	// Blob returns the content of a blob of this tree. The caller does not
	// modify it.
	Blob(ctx context.Context, oid string) ([]byte, error)
}

// BatchTree is a Tree that reads many blobs faster than one after the other.
type BatchTree interface {
	Tree
	// Blobs is Blob of many, in their order.
	Blobs(ctx context.Context, oids []string) ([][]byte, error)
}

// Blobs returns the contents of blobs of a tree, in their order: at once, if
// the tree can.
func Blobs(ctx context.Context, t Tree, oids []string) ([][]byte, error) {
	if b, ok := t.(BatchTree); ok {
		return b.Blobs(ctx, oids)
	}
	contents := make([][]byte, len(oids))
	for i, oid := range oids {
		var err error
		if contents[i], err = t.Blob(ctx, oid); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// watchedTree remembers the first failure to read, so that Analyze can tell an
// analyzer that could not read from one that could not understand.
type watchedTree struct {
	Tree
	files []Entry
	err   error
}

func (t *watchedTree) Files(ctx context.Context) ([]Entry, error) {
	if t.files != nil {
		return t.files, nil
	}
	return t.Tree.Files(ctx)
}

func (t *watchedTree) Blob(ctx context.Context, oid string) ([]byte, error) {
	b, err := t.Tree.Blob(ctx, oid)
	if err != nil && t.err == nil {
		t.err = err
	}
	return b, err
}

// Blobs implements BatchTree.
func (t *watchedTree) Blobs(ctx context.Context, oids []string) ([][]byte, error) {
	contents, err := Blobs(ctx, t.Tree, oids)
	if err != nil && t.err == nil {
		t.err = err
	}
	return contents, err
}
