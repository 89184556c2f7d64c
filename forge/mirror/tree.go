package mirror

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// File is one entry of a tree: a file, a symbolic link (mode 120000) or a
// submodule (mode 160000; its OID is a commit of another repository).
type File struct {
	Path string // from the root, with slashes; hostile text
	Mode string // six octal digits, as git writes them
	OID  string
}

// Tree is the tree of a commit.
type Tree struct {
	objects *Objects
	id      queue.TreeID
}

// Tree returns the tree of a commit.
func (m *Objects) Tree(ctx context.Context, commit queue.CommitID) (*Tree, error) {
	info, err := m.info(ctx, commit)
	if err != nil {
		return nil, err
	}
	return &Tree{m, info.tree}, nil
}

// ID returns the tree's id.
func (t *Tree) ID() queue.TreeID { return t.id }

// Files returns all files of the tree by path in byte order. The slice is
// shared with other callers: do not change it.
func (t *Tree) Files(ctx context.Context) ([]File, error) { return t.objects.files(ctx, t.id) }

// Find returns the file at a path; false: there is none.
func (t *Tree) Find(ctx context.Context, path string) (File, bool, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return File{}, false, err
	}
	i, ok := slices.BinarySearchFunc(files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
	if !ok {
		return File{}, false, nil
	}
	return files[i], true, nil
}

// Blob returns the content of a file by its OID. ErrNotFound: the mirror has no
// such object.
func (t *Tree) Blob(ctx context.Context, oid string) ([]byte, error) {
	contents, err := t.Blobs(ctx, []string{oid})
	if err != nil {
		return nil, err
	}
	return contents[0], nil
}

// Blobs is Blob of many at once, in order: one exchange with git. All of them
// are in memory at the same time.
func (t *Tree) Blobs(ctx context.Context, oids []string) ([][]byte, error) {
	objects, err := t.objects.read(ctx, oids...)
	if err != nil {
		return nil, err
	}
	contents := make([][]byte, len(oids))
	for i, oid := range oids {
		if contents[i], err = objects[i].blob(oid); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// blob returns the content of an object, and an error if it is not a blob.
func (o object) blob(oid string) ([]byte, error) {
	switch o.kind {
	case "blob":
		return o.data, nil
	case "":
		return nil, &absent{kind: "blob", id: oid}
	case "oversized":
		return nil, fmt.Errorf("blob %s is larger than %d bytes", oid, maxObject)
	}
	return nil, fmt.Errorf("%s is a %s, not a blob", oid, o.kind)
}

// files lists a tree: from memory, or by the differences from a tree in memory, or
// as a whole.
func (m *Objects) files(ctx context.Context, id queue.TreeID) ([]File, error) {
	if files, ok := m.listings.get(id); ok {
		return files, nil
	}
	near, base, ok := m.near(id)
	var files []File
	var err error
	if ok {
		files, err = m.patched(ctx, near, base, id)
	} else {
		files, err = m.list(ctx, id)
	}
	if err != nil {
		return nil, fmt.Errorf("listing tree %s: %w", id, err)
	}
	m.listings.put(id, files, listingSize(files))
	return files, nil
}

// near returns a listed tree that differs little from id, as far as can be told.
func (m *Objects) near(id queue.TreeID) (near queue.TreeID, files []File, ok bool) {
	at := id
	for range 100 {
		next, known := m.nearby.get(at)
		if !known {
			break
		}
		if files, ok = m.listings.get(next); ok {
			return next, files, true
		}
		at = next
	}
	return m.listings.newest()
}

func (m *Objects) patched(ctx context.Context, near queue.TreeID, base []File, id queue.TreeID) ([]File, error) {
	changes, err := m.Diff(ctx, near, id)
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(base)+len(changes))
	for _, c := range changes {
		i := sort.Search(len(base), func(i int) bool { return base[i].Path >= c.Path })
		files = append(files, base[:i]...)
		if base = base[i:]; len(base) > 0 && base[0].Path == c.Path {
			base = base[1:]
		}
		if c.New != "" {
			files = append(files, File{Path: c.Path, Mode: c.Mode, OID: c.New})
		}
	}
	return append(files, base...), nil
}

func (m *Objects) list(ctx context.Context, id queue.TreeID) ([]File, error) {
	if err := m.Flush(ctx); err != nil {
		return nil, err
	}
	out, err := m.repo.git(ctx, "ls-tree", "-r", "-z", "--full-tree", string(id))
	if err != nil {
		return nil, err
	}
	text := string(out)
	files := make([]File, 0, strings.Count(text, "\x00"))
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\x00")
		head, path, ok := strings.Cut(line, "\t")
		words := strings.SplitN(head, " ", 3)
		if !ok || len(words) != 3 {
			return nil, fmt.Errorf("unexpected line %q", line)
		}
		files = append(files, File{Path: path, Mode: words[0], OID: words[2]})
	}
	return files, nil
}

// Delta is one file that differs between two trees.
type Delta struct {
	Path    string
	Old     string // object id before; "" when it is new
	OldMode string // mode before, as in File; "" when it is new
	New     string // object id after; "" when it is gone
	Mode    string // mode after; "" when it is gone
}

// Diff returns the files that differ between two trees, by path in byte order. A
// moved file counts as one that is gone and one that is new. The cost depends on
// the differences alone: only directories that differ are read, each once, by the
// process that reads all objects, and trees that the mirror has merged are read
// from memory. ErrNotFound: the mirror lacks one of the trees or a part of it.
func (m *Objects) Diff(ctx context.Context, from, to queue.TreeID) ([]Delta, error) {
	if !isID(string(from)) || !isID(string(to)) {
		return nil, fmt.Errorf("%q or %q is not a tree id", from, to)
	}
	if from == to {
		return nil, nil
	}
	deltas, err := m.diffTrees(ctx, from, to)
	sort.Slice(deltas, func(i, j int) bool { return deltas[i].Path < deltas[j].Path })
	return deltas, err
}

// ChangedPaths returns the paths that differ between two commits, in byte order.
func (m *Objects) ChangedPaths(ctx context.Context, from, to queue.CommitID) ([]string, error) {
	deltas, err := m.Changed(ctx, from, to)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(deltas))
	for i, d := range deltas {
		paths[i] = d.Path
	}
	return paths, nil
}

// Changed is Diff of the trees of two commits.
func (m *Objects) Changed(ctx context.Context, from, to queue.CommitID) ([]Delta, error) {
	infos, err := m.infos(ctx, []queue.CommitID{from, to})
	if err != nil {
		return nil, err
	}
	deltas, err := m.Diff(ctx, infos[from].tree, infos[to].tree)
	if err != nil {
		return nil, fmt.Errorf("comparing %s with %s: %w", from, to, err)
	}
	return deltas, nil
}
