package mirror_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// whole fails unless the mirror has all that a commit reaches, undamaged.
func whole(t *testing.T, m *mirror.Mirror, id queue.CommitID) {
	t.Helper()
	for _, args := range [][]string{
		{"rev-list", "--objects", "--quiet", string(id)},
		{"fsck", "--strict", "--no-dangling", "--no-progress"},
	} {
		out, err := exec.Command("git", append([]string{"--git-dir=" + m.Dir()}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
}

func TestHeadsOfARepositoryNearBy(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "first", files{"a/x": "1", "a/y": "2", "b/z": "3"})
	m := r.fetched()
	first := r.commit("one", "1", files{"a/x": "one", "new/deep/er": "1", "+x run": "#!", "@ link": "a/x"}, base)
	head := r.commit("one", "2", files{"a/x": "1", "a/y": "-"})
	side := r.commit("side", "s", files{"b/z": "side"}, base)
	merge := r.commit("both", "m", files{"c": "c"}, head, side)
	refs := []mirror.HeadRef{{Ref: "refs/heads/both", Want: merge}, {Ref: "refs/heads/one", Want: head}, {Ref: "refs/heads/one", Want: first}}
	for i, err := range must(m.Remotes.FetchHeads(t.Context(), r.remote(), refs))(t) {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	whole(t, m, merge)
	if merged := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{{Parent: base, Head: merge, Message: "m"}}))(t); !merged[0].Clean() {
		t.Errorf("%+v", merged[0])
	}
}

func TestHeadNearByThatHasMoved(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "first", files{"a": "1"})
	m := r.fetched()
	old := r.commit("x", "1", files{"a": "2"}, base)
	r.commit("x", "2", files{"a": "3"}, base)
	refs := []mirror.HeadRef{{Ref: "refs/heads/x", Want: old}, {Ref: "refs/heads/none", Want: old}}
	errs := must(m.Remotes.FetchHeads(t.Context(), r.remote(), refs))(t)
	if !errors.Is(errs[0], mirror.ErrHeadMoved) || !errors.Is(errs[1], forge.ErrNotFound) {
		t.Errorf("%v", errs)
	}
}

func TestHeadNearByThatIsLarge(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]files{
		"many files": func() files {
			f := files{}
			for i := range 600 {
				f[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprint(i)
			}
			return f
		}(),
		"one file": {"large": strings.Repeat("0123456789abcdef", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			base := r.commit("main", "first", files{"a": "1"})
			m := r.fetched()
			head := r.commit("x", "1", change, base)
			if err := m.Remotes.FetchHead(t.Context(), r.remote(), "refs/heads/x", head); err != nil {
				t.Fatal(err)
			}
			whole(t, m, head)
		})
	}
}
