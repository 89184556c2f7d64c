package node_test

import (
	"context"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/node"
)

// counted is a tree that counts the ways to git.
type counted struct {
	conflict.Tree
	ways int
}

func (c *counted) Blob(ctx context.Context, oid string) ([]byte, error) {
	c.ways++
	return c.Tree.Blob(ctx, oid)
}

func (c *counted) Blobs(ctx context.Context, oids []string) ([][]byte, error) {
	c.ways++
	return conflict.Blobs(ctx, c.Tree, oids)
}

func TestFilesAreReadInBatches(t *testing.T) {
	a, tree := node.New(), large(100) // 1,100 files
	cold := &counted{Tree: tree}
	_, err := a.Graph(t.Context(), cold)
	must(t, err)
	warm := &counted{Tree: tree.With("packages/p1/src/new.ts", "import 'ext1'\n")}
	_, err = a.Graph(t.Context(), warm)
	must(t, err)
	if cold.ways > 30 || warm.ways != 1 {
		t.Errorf("%d ways to git for all, %d for one file", cold.ways, warm.ways)
	}
}
