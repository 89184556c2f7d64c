package mirror_test

import (
	"errors"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
)

// A mirror's memory of a branch may be old; the remote is asked for its tip.
func TestTipAtAsksTheRemote(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	m := r.fetched("main")
	next := r.commit("main", "next", files{"f": "2"}, base)
	if tip, err := m.Remotes.TipAt(t.Context(), r.remote(), "main"); err != nil || tip != next {
		t.Errorf("%s %v, want %s", tip, err, next)
	}
	if _, err := m.Remotes.TipAt(t.Context(), r.remote(), "gone"); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
	var transient *forge.Transient
	if _, err := m.Remotes.TipAt(t.Context(), forge.Remote{URL: r.dir + "-nowhere"}, "main"); !errors.As(err, &transient) {
		t.Error(err)
	}
}
