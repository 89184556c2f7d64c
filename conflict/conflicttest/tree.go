// Package conflicttest has trees in memory, for tests of code that reads a
// conflict.Tree; a small build system with changes to it (Words), and the
// content of its targets without any hash (Contents); and the tests that each
// analyzer must pass (Suite).
package conflicttest

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// Tree is a tree in memory. With and similar methods return changed copies; a
// Tree never changes.
type Tree struct {
	entries map[string]conflict.Entry
	blobs   map[string][]byte
	sorted  []conflict.Entry
	id      queue.TreeID
	fail    error
}

var _ conflict.Tree = (*Tree)(nil)

// New returns a tree of regular files: path → content. Blob ids are git's.
func New(files map[string]string) *Tree {
	t := &Tree{entries: map[string]conflict.Entry{}, blobs: map[string][]byte{}}
	for path, content := range files {
		t.put(path, "100644", content)
	}
	return t.seal()
}

func (t *Tree) put(path, mode, content string) {
	h := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(content), content)))
	oid := hex.EncodeToString(h[:])
	t.entries[path] = conflict.Entry{Path: path, Mode: mode, OID: oid}
	t.blobs[oid] = []byte(content)
}

func (t *Tree) seal() *Tree {
	t.sorted = slices.SortedFunc(maps.Values(t.entries), func(a, b conflict.Entry) int { return strings.Compare(a.Path, b.Path) })
	var all strings.Builder
	for _, e := range t.sorted {
		fmt.Fprintf(&all, "%s %s %s\x00", e.Mode, e.OID, e.Path)
	}
	h := sha1.Sum([]byte(all.String()))
	t.id = queue.TreeID(hex.EncodeToString(h[:]))
	return t
}

func (t *Tree) clone() *Tree {
	return &Tree{entries: maps.Clone(t.entries), blobs: maps.Clone(t.blobs), fail: t.fail}
}

// With returns the tree with a regular file added or replaced.
func (t *Tree) With(path, content string) *Tree { return t.WithMode(path, "100644", content) }

// WithMode is With for any mode: the content of a link is its goal, that of a
// submodule names its commit.
func (t *Tree) WithMode(path, mode, content string) *Tree {
	c := t.clone()
	c.put(path, mode, content)
	return c.seal()
}

// Without returns the tree without a path and all below it.
func (t *Tree) Without(path string) *Tree {
	c := t.clone()
	maps.DeleteFunc(c.entries, func(p string, _ conflict.Entry) bool { return p == path || strings.HasPrefix(p, path+"/") })
	return c.seal()
}

// Failing returns the tree with every read of a blob failing.
func (t *Tree) Failing(err error) *Tree {
	c := t.clone()
	c.fail = err
	return c.seal()
}

// Paths returns the paths of the tree, sorted.
func (t *Tree) Paths() []string { return slices.Sorted(maps.Keys(t.entries)) }

// Content returns the content of a file, "" if there is none.
func (t *Tree) Content(path string) string { return string(t.blobs[t.entries[path].OID]) }

// ID names the content; it is no real tree id.
func (t *Tree) ID() queue.TreeID { return t.id }

// Files returns all entries, sorted by path.
func (t *Tree) Files(ctx context.Context) ([]conflict.Entry, error) { return t.sorted, ctx.Err() }

// Blob returns the content of a blob, or the error that Failing was given.
func (t *Tree) Blob(ctx context.Context, oid string) ([]byte, error) {
	if t.fail != nil {
		return nil, t.fail
	}
	b, ok := t.blobs[oid]
	if !ok {
		return nil, fmt.Errorf("no blob %s", oid)
	}
	return b, ctx.Err()
}
