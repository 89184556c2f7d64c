package several

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// view is a folder of a tree as a tree.
type view struct {
	conflict.Tree
	under string
	load  func() ([]conflict.Entry, error) // all files of the whole tree

	mu    sync.Mutex
	files []conflict.Entry // nil: not asked for yet
	id    queue.TreeID
	err   error // why ID is not the id of these files
}

var _ conflict.BatchTree = (*view)(nil)

// viewOf returns the tree that a part sees. Without files they are asked for
// when the part needs them.
func viewOf(ctx context.Context, t conflict.Tree, under string, files []conflict.Entry) conflict.Tree {
	if under == "" {
		return t
	}
	v := &view{Tree: t, under: under, load: func() ([]conflict.Entry, error) { return t.Files(ctx) }}
	if files != nil {
		v.files = inside(files, under)
	}
	return v
}

// inside returns the files of a folder, named from there.
func inside(files []conflict.Entry, under string) []conflict.Entry {
	out := []conflict.Entry{}
	for _, e := range below(files, under) {
		e.Path = e.Path[len(under)+1:]
		out = append(out, e)
	}
	return out
}

// below returns the part of a sorted list that is in a folder.
func below(files []conflict.Entry, under string) []conflict.Entry {
	from, _ := find(files, under+"/")
	to, _ := find(files, under+"0") // "0" is next after "/"
	return files[from:to]
}

// find returns where a path is in a sorted list, or would be.
func find(files []conflict.Entry, path string) (at int, ok bool) {
	return slices.BinarySearchFunc(files, path, func(e conflict.Entry, p string) int { return strings.Compare(e.Path, p) })
}

// Files implements conflict.Tree.
func (v *view) Files(context.Context) ([]conflict.Entry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.list()
}

func (v *view) list() ([]conflict.Entry, error) {
	if v.files == nil {
		all, err := v.load()
		if err != nil {
			return nil, err
		}
		v.files = inside(all, v.under)
	}
	return v.files, nil
}

// Blobs implements conflict.BatchTree, as well as the whole tree does.
func (v *view) Blobs(ctx context.Context, oids []string) ([][]byte, error) {
	return conflict.Blobs(ctx, v.Tree, oids)
}

// ID implements conflict.Tree: the same files have the same id, whatever is
// beside their folder.
func (v *view) ID() queue.TreeID {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.id != "" {
		return v.id
	}
	files, err := v.list()
	if err != nil {
		v.err = err
		return v.Tree.ID()
	}
	fields := make([]string, 0, 3*len(files)+1)
	fields = append(fields, "view1")
	for _, e := range files {
		fields = append(fields, e.Path, e.Mode, e.OID)
	}
	v.id = queue.TreeID(digest.Of(fields...))
	return v.id
}

// links are the symbolic links that lead out of a folder of a tree.
type links struct {
	goals []string // files or folders of the whole tree that they lead to
	lost  bool     // one leads to nothing that can be seen in the list of files
}

// maxLinks bounds how many links are followed; further links are lost.
const maxLinks = 1000

// linksOf reads the links of a folder that lead out of it and stay in the tree.
func linksOf(ctx context.Context, t conflict.Tree, under string, files []conflict.Entry) (l links, err error) {
	if under == "" {
		return l, nil
	}
	for _, e := range below(files, under) {
		if e.Mode != conflict.ModeLink {
			continue
		}
		text, err := t.Blob(ctx, e.OID)
		if err != nil {
			return l, err
		}
		from := path.Dir(e.Path[len(under)+1:])
		if path.IsAbs(string(text)) || !climbs(path.Join(from, string(text))) && !winding(string(text)) {
			continue // out of the repository, or within the folder
		}
		switch goal := path.Join(path.Dir(e.Path), string(text)); {
		case goal == "." || winding(string(text)) || len(l.goals) >= maxLinks:
			l.lost = true
		case climbs(goal): // out of the repository
		case !there(files, goal):
			l.lost = true
		default:
			l.goals = append(l.goals, goal)
		}
	}
	slices.Sort(l.goals)
	l.goals = slices.Compact(l.goals)
	return l, nil
}

func climbs(clean string) bool { return clean == ".." || strings.HasPrefix(clean, "../") }

// winding reports whether a link goes up after it went down: through another
// link, the result is not where the names say.
func winding(text string) bool {
	down := false
	for _, name := range strings.Split(text, "/") {
		switch name {
		case "", ".":
		case "..":
			if down {
				return true
			}
		default:
			down = true
		}
	}
	return false
}

// there reports whether the list has a file or folder of this path. A link at
// its end leads further, so its goal is not known.
func there(files []conflict.Entry, goal string) bool {
	if at, ok := find(files, goal); ok {
		return files[at].Mode != conflict.ModeLink
	}
	in := below(files, goal)
	return len(in) > 0 && !slices.ContainsFunc(in, func(e conflict.Entry) bool { return e.Mode == conflict.ModeLink })
}

// reach reports whether one of the links leads to a file, or to a folder above it.
func (l links) reach(file string) bool {
	return slices.ContainsFunc(l.goals, func(g string) bool { return file == g || strings.HasPrefix(file, g+"/") })
}

// entries returns the files that the links lead to.
func (l links) entries(files []conflict.Entry) (out []conflict.Entry) {
	for _, g := range l.goals {
		if at, ok := find(files, g); ok {
			out = append(out, files[at])
		}
		out = append(out, below(files, g)...)
	}
	return out
}
