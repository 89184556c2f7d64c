package app

import (
	"context"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
)

// TreeOf lets the conflict package read a tree of the mirror.
func TreeOf(t *mirror.Tree) conflict.Tree { return tree{t} }

type tree struct{ *mirror.Tree }

// Files implements conflict.Tree.
func (t tree) Files(ctx context.Context) ([]conflict.Entry, error) {
	files, err := t.Tree.Files(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]conflict.Entry, len(files))
	for i, f := range files {
		out[i] = conflict.Entry(f)
	}
	return out, nil
}

// FileChanges tells the conflict package which files differ between two trees of the
// mirror. It is never nil: an empty result says that nothing differs.
func FileChanges(deltas []mirror.Delta) []conflict.FileChange {
	files := make([]conflict.FileChange, len(deltas))
	for i, d := range deltas {
		files[i].Path = d.Path
		if d.Old != "" {
			files[i].From = conflict.Entry{Path: d.Path, Mode: d.OldMode, OID: d.Old}
		}
		if d.New != "" {
			files[i].To = conflict.Entry{Path: d.Path, Mode: d.Mode, OID: d.New}
		}
	}
	return files
}
