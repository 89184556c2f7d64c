package mirror_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
)

// A borrowed repository is merged in as a fetched one is, and is not touched.
func TestBorrowMergesAndWritesNothing(t *testing.T) {
	t.Parallel()
	r, fetched, base, a, b, c := world(t)
	moved := filepath.Join(t.TempDir(), "# odd \"name\"")
	if err := os.Rename(r.dir, moved); err != nil {
		t.Fatal(err)
	}
	before := listing(t, moved)
	m := must(mirror.Borrow(t.Context(), filepath.Join(t.TempDir(), "m"), filepath.Join(moved, "objects")))(t)
	want := must(fetched.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", b), pick("", c)}))(t)
	got := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", b), pick("", c)}))(t)
	if len(got) != 3 || got[0].Commit != want[0].Commit || got[1].Commit != want[1].Commit || !slices.Equal(got[2].Conflicts, want[2].Conflicts) {
		t.Errorf("%+v\n%+v", want, got)
	}
	tree := must(m.Objects.Tree(t.Context(), got[1].Commit))(t)
	if files := must(tree.Files(t.Context()))(t); len(files) != 4 {
		t.Errorf("%d files", len(files))
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if after := listing(t, moved); !slices.Equal(before, after) {
		t.Errorf("the repository has changed:\n%v\n%v", before, after)
	}
}

func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
