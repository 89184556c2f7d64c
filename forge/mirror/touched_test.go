package mirror_test

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func TestTouched(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"docs/a": "1", "docs/deep/b": "1", "src/x": "1", "src/y": "1", "one/two/three/f": "1", "top": "1"})
	for _, c := range []struct {
		name        string
		change      files
		paths, gone []string
	}{
		{"edited", files{"src/x": "2"}, []string{"src/x"}, nil},
		{"added and removed beside others", files{"src/x": "-", "src/z/w": "1"}, []string{"src/x", "src/z/w"}, nil},
		{"a directory moved", files{"docs/a": "-", "docs/deep/b": "-", "manual/a": "1", "manual/deep/b": "1"},
			[]string{"docs/a", "docs/deep/b", "manual/a", "manual/deep/b"}, []string{"docs"}},
		{"a part of it", files{"docs/deep/b": "-"}, []string{"docs/deep/b"}, []string{"docs/deep"}},
		{"the topmost only", files{"one/two/three/f": "-"}, []string{"one/two/three/f"}, []string{"one"}},
		{"a file in its place", files{"docs": "1"}, []string{"docs", "docs/a", "docs/deep/b"}, []string{"docs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tip := r.commit("b", c.name, c.change, base)
			m := r.fetched("main", "b")
			from, to := must(m.Objects.Tree(t.Context(), base))(t), must(m.Objects.Tree(t.Context(), tip))(t)
			paths, gone, err := m.Objects.Touched(t.Context(), from.ID(), to.ID())
			if err != nil || !slices.Equal(paths, c.paths) || !slices.Equal(gone, c.gone) {
				t.Errorf("%q, gone %q, %v; want %q, gone %q", paths, gone, err, c.paths, c.gone)
			}
		})
	}
	if _, _, err := r.fetched("main").Objects.Touched(t.Context(), "x", queue.TreeID(base)); err == nil {
		t.Error("no tree has no differences")
	}
}
