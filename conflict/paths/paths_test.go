package paths_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/none"
	"github.com/submitqueue/submitqueue/conflict/paths"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var areas = []config.Area{
	{Name: "api", Files: []string{"api/**", "shared.txt"}},
	{Name: "web", Files: []string{"web/**", "shared.txt"}, Needs: []string{"api"}},
	{Name: "empty", Files: []string{"nothing/**"}},
}

func mustAnalyze(t *testing.T, areas []config.Area, tree conflict.Tree) *conflict.Snapshot {
	t.Helper()
	a, err := paths.New(areas)
	if err != nil {
		t.Fatal(err)
	}
	s, err := conflict.Analyze(context.Background(), a, config.Analysis{Unowned: config.UnownedTarget, Areas: areas}, tree)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatAnEditAffects(t *testing.T) {
	base := conflicttest.New(map[string]string{"api/v1.proto": "", "web/index.html": "", "shared.txt": "", "readme": ""})
	main := mustAnalyze(t, areas, base)
	for path, want := range map[string][]string{
		"api/v1.proto":     {"api", "web"},
		"web/index.html":   {"web"},
		"shared.txt":       {"api", "web"},
		"readme":           {config.TargetUnowned},
		"nothing/new":      {"empty"},
		"web/deep/new.css": {"web"},
	} {
		f := conflict.FootprintOf(main, mustAnalyze(t, areas, base.With(path, "new")), "m")
		if d := cmp.Diff(want, f.Affected); d != "" || f.All {
			t.Errorf("%s: all %v %s", path, f.All, d)
		}
	}
	other := append([]config.Area{{Name: "api", Files: []string{"api/**"}}}, areas[1:]...)
	if f := conflict.FootprintOf(main, mustAnalyze(t, other, base), "m"); !f.All {
		t.Error("a change of the areas is not global")
	}
}

// An area with a link has what the link leads to, whichever area that is in.
func TestAnAreaIsReadThroughItsLinks(t *testing.T) {
	base := conflicttest.New(map[string]string{"api/v1.proto": "", "web/index.html": "1"}).
		WithMode("api/page.html", conflict.ModeLink, "../pages/index.html").WithMode("pages", conflict.ModeLink, "web")
	f := conflict.FootprintOf(mustAnalyze(t, areas, base), mustAnalyze(t, areas, base.With("web/index.html", "2")), "m")
	if !slices.Contains(f.Affected, "api") {
		t.Errorf("an edit of what a file of api leads to affects %q", f.Affected)
	}
	gone := errors.New("gone")
	a, err := paths.New(areas)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conflict.Analyze(t.Context(), a, config.Analysis{Areas: areas}, base.Failing(gone)); !errors.Is(err, gone) {
		t.Errorf("a link that cannot be read: %v", err)
	}
}

func TestNewNamesTheField(t *testing.T) {
	files := []string{"x/**"}
	for want, areas := range map[string][]config.Area{
		`analysis.areas: the analyzer paths needs at least one area`:                                     nil,
		`analysis.areas[0].name: "" is empty, reserved or not made of letters, digits and ._/- only`:     {{Files: files}},
		`analysis.areas[0].name: "tree" is empty, reserved or not made of letters, digits and ._/- only`: {{Name: "tree", Files: files}},
		`analysis.areas[0].name: "a b" is empty, reserved or not made of letters, digits and ._/- only`:  {{Name: "a b", Files: files}},
		`analysis.areas[1].name: "a" is the name of analysis.areas[0] already`:                           {{Name: "a", Files: files}, {Name: "a", Files: files}},
		`analysis.areas[0].files: "a" has no globs`:                                                      {{Name: "a"}},
		`analysis.areas[0].files[1]: "[" is not a valid glob`:                                            {{Name: "a", Files: []string{"x", "["}}},
		`analysis.areas[0].needs[0]: there is no area "b"`:                                               {{Name: "a", Files: files, Needs: []string{"b"}}},
		`analysis.areas[0].needs[0]: "a" needs itself`:                                                   {{Name: "a", Files: files, Needs: []string{"a"}}},
	} {
		if _, err := paths.New(areas); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestUnreadableTree(t *testing.T) {
	a, err := paths.New(areas)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Graph(ctx, conflicttest.New(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNone(t *testing.T) {
	tree := conflicttest.New(map[string]string{"a": ""})
	s, err := conflict.Analyze(context.Background(), none.Analyzer{}, config.Analysis{}, tree)
	if err != nil || s.Unknown != "" || len(s.Targets()) != 1 || s.Targets()[0].Hash != queue.Digest(tree.ID()) {
		t.Errorf("%+v, %v", s, err)
	}
	without, err := conflict.Analyze(context.Background(), nil, config.Analysis{}, tree)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(without.Targets(), s.Targets()); d != "" || without.Analyzer != s.Analyzer {
		t.Errorf("none is not the same as no analyzer: %s", d)
	}
}
