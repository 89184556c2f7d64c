package mirror

import (
	"context"
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// revert makes the commit that reverts Revert on Parent: the three-way merge of
// Parent with the first parent of Revert, with Revert as the base. The same pick on
// the same parent makes the same commit.
func (m *Merges) revert(ctx context.Context, p Pick) (Merged, error) {
	parent, err := m.objects.info(ctx, p.Parent)
	if err != nil {
		return Merged{}, err
	}
	culprit, err := m.objects.info(ctx, p.Revert)
	if err != nil {
		return Merged{}, err
	}
	if len(culprit.parents) == 0 {
		return Merged{Refused: fmt.Sprintf("commit %s is the first that there is: it cannot be reverted", p.Revert)}, nil
	}
	before, err := m.objects.info(ctx, culprit.parents[0])
	if err != nil {
		return Merged{}, err
	}
	result, err := m.mergeContents(ctx, culprit.tree, parent.tree, before.tree)
	switch {
	case err != nil:
		return Merged{}, err
	case result.refused != "" || len(result.conflicts) > 0:
		return Merged{Conflicts: result.conflicts, Refused: result.refused}, nil
	case result.tree == parent.tree:
		return Merged{Commit: p.Parent, Tree: parent.tree, Empty: true}, nil
	}
	info := commitInfo{tree: result.tree, parents: []queue.CommitID{p.Parent}, date: max(parent.date, int64(p.Date)/1000), message: replayed(p.Message, "")}
	return m.made(ctx, info, parent.tree)
}
