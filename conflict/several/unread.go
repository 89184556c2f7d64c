package several

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/config"
)

// whole is the graph of a part that cannot be read: one target over all files
// that the part sees.
//
// A folder belongs to its analyzer: the target claims the files in it, as the
// unknown targets would. A part of the whole tree claims nothing. Otherwise no
// file would be unowned while the part cannot be read, and a test of another part
// that reads an unowned file would not run.
func (p Part) whole(ctx context.Context, seen conflict.Tree) (*conflict.Graph, error) {
	files, err := seen.Files(ctx)
	if err != nil {
		return nil, err
	}
	t := conflict.Target{Name: config.TargetTree, Kind: "part that cannot be read"}
	if p.Under == "" {
		t.Inputs = files
	} else {
		t.Sources = files
	}
	return &conflict.Graph{Targets: []conflict.Target{t}}, nil
}

// unread says why the part has one target.
func (p Part) unread(err error) conflict.Unread {
	return conflict.Unread{Target: p.name(config.TargetTree), Why: err.Error(), Provisional: errors.Is(err, conflict.ErrProvisional)}
}
