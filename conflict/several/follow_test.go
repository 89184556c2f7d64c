package several_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/several"
)

// scripted says what it is told to say.
type scripted struct {
	toy
	patch *conflict.Patch
	err   error
}

func (s scripted) Follow(_ context.Context, _ any, _ []conflict.FileChange, t conflict.Tree) (*conflict.Patch, error) {
	t.ID()
	return s.patch, s.err
}

// TestWhatIsAboveAllOfOne follows changes that alter which targets an analyzer
// has, which another one needs.
func TestWhatIsAboveAllOfOne(t *testing.T) {
	target := func(name string, internal bool) conflict.Target {
		return conflict.Target{Name: name, Internal: internal}
	}
	for name, tt := range map[string]struct {
		patch conflict.Patch
		want  string // dependencies of web/*; "" where it is as it was
	}{
		"a target changes":        {conflict.Patch{Targets: []conflict.Target{target("ui", false)}}, ""},
		"a target comes":          {conflict.Patch{Targets: []conflict.Target{target("x", false)}}, "web web:site web:ui web:x"},
		"a target goes":           {conflict.Patch{Gone: []string{"ui"}}, "web web:site"},
		"a target is none longer": {conflict.Patch{Targets: []conflict.Target{target("ui", true)}}, "web web:site"},
		"an internal node comes":  {conflict.Patch{Targets: []conflict.Target{target("_x", true)}}, ""},
	} {
		a := mustNew(t, needing(server, "web"), several.Part{Name: "web", Under: "web", Analyzer: scripted{toy{}, &tt.patch, nil}}).(conflict.Follower)
		g, err := a.Graph(t.Context(), shop)
		if err != nil {
			t.Fatal(err)
		}
		next := shop.With("web/ui/x", "")
		p, err := a.Follow(t.Context(), g.Memo, changesOf(t, shop, next), next)
		if err != nil || p == nil {
			t.Fatalf("%s: %v, %v", name, p, err)
		}
		got := ""
		for _, n := range p.Targets {
			if n.Name == "web/*" {
				got = strings.Join(n.Deps, " ")
			}
		}
		if got != tt.want {
			t.Errorf("%s: web/* is above %q, want %q", name, got, tt.want)
		}
	}
}

// TestFollowingFails holds that an analyzer that fails leaves it to Graph, which makes
// its part one target, and that a tree that cannot be read is an error.
func TestFollowingFails(t *testing.T) {
	broken, gone := errors.New("line 3"), errors.New("the disk is gone")
	next := shop.With("web/ui/x", "")
	for name, tt := range map[string]struct {
		analyzer conflict.Analyzer
		tree     conflict.Tree
		want     string
	}{
		"an error":          {scripted{err: broken}, next, ""},
		"a reserved name":   {scripted{patch: &conflict.Patch{Targets: []conflict.Target{{Name: "tree"}}}}, next, ""},
		"files not listed":  {scripted{patch: &conflict.Patch{}}, unlisted{next, gone}, gone.Error()},
		"only as a whole":   {scripted{}, next, ""},
		"not a follower":    {toy{}, next, ""},
		"somebody's memory": {scripted{patch: &conflict.Patch{}}, next, ""},
	} {
		a := mustNew(t, server, several.Part{Name: "web", Under: "web", Analyzer: tt.analyzer}).(conflict.Follower)
		g, err := a.Graph(t.Context(), shop)
		if err != nil {
			t.Fatal(err)
		}
		memo := g.Memo
		if name == "somebody's memory" {
			memo = "mine"
		}
		p, err := a.Follow(t.Context(), memo, changesOf(t, shop, next), tt.tree)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if d := cmp.Diff(tt.want, got); d != "" || p != nil {
			t.Errorf("%s: %v %s", name, p, d)
		}
	}
}
