package conflict_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/config"
)

// batches is a tree that reads many blobs at once, and counts how often.
type batches struct {
	*conflicttest.Tree
	calls *int
}

func (b batches) Blobs(ctx context.Context, oids []string) ([][]byte, error) {
	*b.calls++
	return conflict.Blobs(ctx, b.Tree, oids)
}

// reader is an analyzer that reads all files at once.
type reader struct{ read [][]byte }

func (*reader) ID() string { return "reader/1" }

func (r *reader) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	var oids []string
	for _, f := range files {
		oids = append(oids, f.OID)
	}
	if r.read, err = conflict.Blobs(ctx, t, oids); err != nil {
		return nil, errors.New("not readable")
	}
	return &conflict.Graph{}, nil
}

func TestBlobsAreReadAtOnceWhereTheTreeCan(t *testing.T) {
	tree, calls, r := conflicttest.New(map[string]string{"a": "1", "b": "2"}), 0, &reader{}
	for _, with := range []conflict.Tree{tree, batches{tree, &calls}} {
		if _, err := conflict.Analyze(t.Context(), r, config.Analysis{}, with); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([][]byte{[]byte("1"), []byte("2")}, r.read); d != "" {
			t.Error(d)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
	gone := errors.New("gone")
	for _, with := range []conflict.Tree{tree.Failing(gone), batches{tree.Failing(gone), &calls}} {
		if _, err := conflict.Analyze(t.Context(), r, config.Analysis{}, with); !errors.Is(err, gone) {
			t.Errorf("what could not be read is taken for a tree without a graph: %v", err)
		}
	}
}
