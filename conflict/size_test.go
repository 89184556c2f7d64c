package conflict_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Caches of snapshots count their bytes, so files that a target owns count too: a
// tree of few targets may have many.
func TestSizeIsWhatASnapshotTakes(t *testing.T) {
	files := map[string]string{"a/BUILD": "", "b/BUILD": ""}
	for i := range 5_000 {
		files[fmt.Sprintf("a/some/longer/path/of/a/file/%04d", i)] = ""
	}
	tree := conflicttest.New(files)
	a, s := &flat{}, config.Analysis{}
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	at := mustAdvance(t, a, s, nil, tree, nil)
	var kept []*conflict.Snapshot
	before, size := heap(), 0
	for i := range 10 {
		next := tree.With("a/BUILD", fmt.Sprint(i))
		snap := mustAdvance(t, a, s, at, next, nil)
		kept = append(kept, snap)
		size += snap.Size()
	}
	about := func(what string, real int) {
		t.Helper()
		if size > 3*real || real > 3*size {
			t.Errorf("%s: it says %d bytes, and takes %d", what, size, real)
		}
	}
	for _, snap := range kept {
		conflict.Keys(nil, snap, nil, unit)
	}
	about("all looked at", heap()-before)
	before, size = heap(), 0
	for i := range 10 {
		next := tree.With(fmt.Sprintf("a/some/longer/path/of/a/new%d", i), fmt.Sprint(i))
		snap := mustAdvance(t, a, s, at, next, conflicttest.Changes(tree, next))
		kept = append(kept, snap)
		size += snap.Size()
		tree, at = next, snap
	}
	about("followed", heap()-before)
	runtime.KeepAlive(kept)
}

// flat has the one target a, which owns all there is in it.
type flat struct{ whole int }

func (*flat) ID() string { return "flat/1" }

func (a *flat) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	a.whole++
	files, err := t.Files(ctx)
	return &conflict.Graph{Targets: []conflict.Target{{Name: "a", Sources: files}}, Memo: a}, err
}

func (a *flat) Follow(ctx context.Context, _ any, files []conflict.FileChange, t conflict.Tree) (*conflict.Patch, error) {
	all, err := t.Files(ctx)
	return &conflict.Patch{Targets: []conflict.Target{{Name: "a", Sources: all}}, Memo: a}, err
}
