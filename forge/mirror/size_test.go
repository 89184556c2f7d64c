package mirror_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
)

func TestSize(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"a": "1\n2\n3\n4\n5\n", "gone": "x\ny\n", "image": "\x00\x01", "kept": "k\n"})
	tip := r.commit("b", "change", files{"a": "1\n2 changed\n3\n4\n5\n6\n", "gone": "-", "image": "\x00\x02", "new": "n\n"}, base)
	m := r.fetched("main", "b")
	from, to := must(m.Objects.Tree(t.Context(), base))(t), must(m.Objects.Tree(t.Context(), tip))(t)
	deltas := must(m.Objects.Diff(t.Context(), from.ID(), to.ID()))(t)
	got, ok, err := m.Objects.Size(t.Context(), deltas)
	if want := (mirror.Size{Added: 3, Removed: 3, Hunks: 4, Binaries: 1}); err != nil || !ok || got != want {
		t.Errorf("%+v, %v, %v; want %+v", got, ok, err, want)
	}
	if got, ok, err := m.Objects.Size(t.Context(), nil); err != nil || !ok || got != (mirror.Size{}) {
		t.Errorf("of nothing: %+v, %v, %v", got, ok, err)
	}
	if _, ok, err := m.Objects.Size(t.Context(), []mirror.Delta{{Path: "a", New: strings.Repeat("1", 40), Mode: "100644"}}); ok || err != nil {
		t.Errorf("what is not there was counted: %v, %v", ok, err)
	}
	if _, ok, err := m.Objects.Size(t.Context(), make([]mirror.Delta, 1001)); ok || err != nil {
		t.Errorf("a thousand files were read: %v, %v", ok, err)
	}
	if got, ok, err := m.Objects.Size(t.Context(), []mirror.Delta{{Path: "module", New: strings.Repeat("1", 40), Mode: "160000"}}); err != nil || !ok || got != (mirror.Size{}) {
		t.Errorf("of a submodule: %+v, %v, %v", got, ok, err)
	}
}

func TestStanding(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"a": "1"})
	r.commit("b", "one", files{"b": "1"}, base)
	head := r.commit("b", "two", files{"b": "2"})
	r.commit("main", "later", files{"a": "2"})
	r.commit("main", "later still", files{"a": "3"})
	tip := r.commit("main", "latest", files{"a": "4"})
	m := r.fetched("main", "b")
	if own, behind, ok, err := m.History.Standing(t.Context(), tip, head); err != nil || !ok || own != 2 || behind != 3 {
		t.Errorf("%d of its own, %d behind, %v, %v; want 2 and 3", own, behind, ok, err)
	}
	if own, behind, ok, err := m.History.Standing(t.Context(), tip, tip); err != nil || !ok || own != 0 || behind != 0 {
		t.Errorf("main itself: %d of its own, %d behind, %v, %v", own, behind, ok, err)
	}
	stranger := r.commit("s", "stranger", files{"s": "1"})
	m = r.fetched("main", "s")
	if own, _, ok, err := m.History.Standing(t.Context(), tip, stranger); err != nil || ok {
		t.Errorf("unrelated: %d of its own, %v, %v", own, ok, err)
	}
}
