package mirror

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// The memory of a mirror is bounded in bytes for any text that others write.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m, err := Open(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	long := strings.Repeat("x", 1<<20)
	for i := range 40 {
		info := commitInfo{message: long, parents: []queue.CommitID{"p"}}
		m.Objects.commits.put(queue.CommitID(fmt.Sprint(i)), info, info.size())
		conflict := merged{conflicts: []string{long, long}}
		m.Merges.merges.put(mergeKey{rules: i}, conflict, conflict.size())
		entries := []treeEntry{{name: long}}
		m.Objects.trees.put(fmt.Sprint(i), entries, treeSize(entries))
		files := make([]File, 100_000)
		m.Objects.listings.put(queue.TreeID(fmt.Sprint(i)), files, listingSize(files))
	}
	for what, n := range map[string][2]int{
		"commits":  {len(m.Objects.commits.keys()), 11},
		"merges":   {len(m.Merges.merges.keys()), 3},
		"trees":    {len(m.Objects.trees.keys()), 15},
		"listings": {len(m.Objects.listings.keys()), 4},
	} {
		if n[0] != n[1] {
			t.Errorf("%d %s are kept, want %d", n[0], what, n[1])
		}
	}
}
