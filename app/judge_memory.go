package app

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// from returns the judgement of a tree close to another one, and the files that differ.
// Where no judgement is remembered, both are empty.
func (j *judge) from(ctx context.Context, near queue.CommitID, to treeBy) (judged, []conflict.FileChange, error) {
	var at queue.TreeID
	if near != "" {
		t, err := j.mirror.Objects.Tree(ctx, near)
		if err != nil {
			return judged{}, nil, err
		}
		at = t.ID()
	}
	j.mu.Lock()
	base, ok := j.byTree[treeBy{at, to.by}]
	for i := len(j.order) - 1; i >= 0 && !ok; i-- {
		if last := j.order[i]; last.by == to.by {
			at = last.tree
			base, ok = j.byTree[last]
		}
	}
	j.mu.Unlock()
	if !ok {
		return judged{}, nil, nil
	}
	deltas, err := j.mirror.Objects.Diff(ctx, at, to.tree)
	if errors.Is(err, forge.ErrNotFound) {
		return judged{}, nil, nil // the mirror has thrown away the remembered tree; if the other tree is missing, a later read fails
	}
	if err != nil {
		return judged{}, nil, err
	}
	return base, FileChanges(deltas), nil
}

// keep remembers the judgement of a tree; the oldest ones make room.
func (j *judge) keep(id treeBy, v judged) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, ok := j.byTree[id]; ok {
		return
	}
	for len(j.order) > 0 && (len(j.order) >= keptTrees || j.size+v.snapshot.Size() > keptBytes) {
		j.size -= j.byTree[j.order[0]].snapshot.Size()
		delete(j.byTree, j.order[0])
		j.order = j.order[1:]
	}
	j.byTree[id] = v
	j.order = append(j.order, id)
	j.size += v.snapshot.Size()
}
