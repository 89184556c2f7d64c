package conflict_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// fixed is an analyzer that gives the same graph for every tree, or the files
// of the tree where a target of that name exists.
type fixed struct {
	id    string
	graph *conflict.Graph
	err   error
}

func (f fixed) ID() string                                                    { return f.id }
func (f fixed) Graph(context.Context, conflict.Tree) (*conflict.Graph, error) { return f.graph, f.err }

// folders makes each top-level folder with a file named "target" a target.
type folders struct{}

func (folders) ID() string { return "folders/1" }
func (folders) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	g := &conflict.Graph{}
	for _, e := range files {
		dir, base, _ := strings.Cut(e.Path, "/")
		if base != "target" {
			continue
		}
		target := conflict.Target{Name: dir, Kind: "folder", Reads: []string{conflict.ListingOf(dir)}}
		for _, f := range files {
			if strings.HasPrefix(f.Path, dir+"/") {
				target.Sources = append(target.Sources, f)
			}
		}
		g.Targets = append(g.Targets, target)
	}
	return g, nil
}

func mustAnalyze(t testing.TB, a conflict.Analyzer, s config.Analysis, tree conflict.Tree) *conflict.Snapshot {
	t.Helper()
	snap, err := conflict.Analyze(context.Background(), a, s, tree)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func graphSnapshot(t testing.TB, g *conflict.Graph) *conflict.Snapshot {
	t.Helper()
	return mustAnalyze(t, fixed{id: "fixed/1", graph: g}, config.Analysis{}, conflicttest.New(nil))
}

func hashOf(t testing.TB, s *conflict.Snapshot, target string) queue.Digest {
	t.Helper()
	for _, h := range s.Targets() {
		if h.Target == target {
			return h.Hash
		}
	}
	t.Fatalf("no target %s in %v", target, s.Targets())
	return ""
}

// repository has a file of each sort.
var repository = map[string]string{
	".submitqueue.yml":         "version: 1\n",
	".gitattributes":           "* text\n",
	".gitmodules":              "",
	".github/workflows/ci.yml": "on: push\n",
	".github/CODEOWNERS":       "* @me\n",
	".gitlab-ci.yml":           "",
	"Makefile":                 "all:\n",
	"docs/index.md":            "hello\n",
	"x/target":                 "",
	"x/readme.md":              "x\n",
	"y/target":                 "",
	"toolchain/version":        "1\n",
}

var unit = []config.Step{{Name: "unit", Run: "test {targets}", Scope: config.ScopeTargets}}

func TestEveryFileIsInAKeyOrIgnored(t *testing.T) {
	base := conflicttest.New(repository)
	for _, s := range []config.Analysis{
		{},
		{Unowned: config.UnownedIgnore, Ignore: []string{"docs/**"}},
		{Unowned: config.UnownedAll},
		{Unowned: config.UnownedTarget, Ignore: []string{"docs/**", "**/*.md"}, Barrier: []string{"toolchain/**"}},
		{Ignore: []string{"**"}},
	} {
		main := mustAnalyze(t, folders{}, s, base)
		for _, path := range base.Paths() {
			ignored := map[bool][]string{
				false: {"docs/index.md"},
				true:  {"docs/index.md", "Makefile", ".github/CODEOWNERS", "toolchain/version"},
			}[slices.Contains(s.Ignore, "**")]
			want := len(s.Ignore) == 0 || !slices.Contains(ignored, path)
			for how, tree := range map[string]*conflicttest.Tree{
				"content": base.With(path, base.Content(path)+"more"),
				"mode":    base.WithMode(path, "100755", base.Content(path)),
				"link":    base.WithMode(path, conflict.ModeLink, base.Content(path)),
			} {
				change := mustAnalyze(t, folders{}, s, tree)
				if got := len(conflict.Keys(main, change, unit, unit)) > 0; got != want {
					t.Errorf("%+v: the %s of %s is in a key: %v", s, how, path, got)
				}
				f := conflict.FootprintOf(main, change, "m")
				if empty := !f.All && len(f.Write) == 0; empty == want {
					t.Errorf("%+v: the %s of %s: footprint %+v", s, how, path, f)
				}
			}
		}
	}
}

func TestBarrierFiles(t *testing.T) {
	s := config.Analysis{Unowned: config.UnownedTarget, Barrier: []string{"toolchain/**"}}
	base := conflicttest.New(repository)
	main := mustAnalyze(t, folders{}, s, base)
	for _, path := range []string{".submitqueue.yml", ".gitattributes", ".gitmodules", ".github/workflows/ci.yml",
		".gitlab-ci.yml", "toolchain/version", "x/.gitattributes", ".github/workflows/new.yml"} {
		f := conflict.FootprintOf(main, mustAnalyze(t, folders{}, s, base.With(path, "new")), "m")
		want := queue.Footprint{Main: "m", Analyzer: "folders/1", All: true, Write: []string{"def:" + path},
			Affected: []string{config.TargetUnowned, "x", "y"}}
		if d := cmp.Diff(want, f); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	f := conflict.FootprintOf(main, mustAnalyze(t, folders{}, s, base.Without(".github").Without("toolchain/version")), "m")
	if d := cmp.Diff([]string{"def:.github/workflows/ci.yml", "def:toolchain/version"}, f.Write); d != "" {
		t.Error(d)
	}
}

func TestFootprintOfAPlainChange(t *testing.T) {
	s := config.Analysis{Unowned: config.UnownedTarget}
	base := conflicttest.New(repository)
	main := mustAnalyze(t, folders{}, s, base)
	if f := conflict.FootprintOf(main, main, "m"); f.All || len(f.Write) > 0 {
		t.Errorf("a change of nothing: %+v", f)
	}
	f := conflict.FootprintOf(main, mustAnalyze(t, folders{}, s, base.With("x/new", "").Without("y")), "m")
	want := queue.Footprint{Main: "m", Analyzer: "folders/1", Affected: []string{"x"}, Gone: 1,
		Write: []string{"list:.", "list:./x", "list:./y", "x", "y"}}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	f = conflict.FootprintOf(main, mustAnalyze(t, folders{}, s, base.With("Makefile", "new")), "m")
	want = queue.Footprint{Main: "m", Analyzer: "folders/1", Affected: []string{config.TargetUnowned}, Write: []string{config.TargetUnowned}}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	f = conflict.FootprintOf(main, mustAnalyze(t, folders{}, s, base.With("z/target", "")), "m")
	if d := cmp.Diff([]string{"list:./z"}, f.Read); d != "" {
		t.Errorf("a new target reads its listing: %s", d)
	}
	if f.Added != 1 || f.Gone != 0 {
		t.Errorf("%d targets are new and %d are gone, want one new one", f.Added, f.Gone)
	}
}

func TestAddedEdges(t *testing.T) {
	graph := func(lowDeps ...string) *conflict.Graph {
		return &conflict.Graph{Targets: []conflict.Target{
			{Name: "top", Deps: []string{"mid"}}, {Name: "mid", Deps: []string{"low"}}, {Name: "low", Deps: lowDeps},
			{Name: "util"}, {Name: "log"},
		}, Definitions: []conflict.Definition{{Name: "def:low", Digest: digest.Of(lowDeps...)}}}
	}
	f := conflict.FootprintOf(graphSnapshot(t, graph()), graphSnapshot(t, graph("util", "log", "phantom")), "m")
	up := []string{"low", "mid", "top"}
	want := queue.Footprint{Main: "m", Analyzer: "fixed/1", Affected: up, Write: append([]string{"def:low"}, up...),
		Read:  []string{"log", "phantom", "util"},
		Edges: []queue.AddedEdge{{To: "log", Up: up}, {To: "phantom", Up: up}, {To: "util", Up: up}}}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	back := conflict.FootprintOf(graphSnapshot(t, graph("util")), graphSnapshot(t, graph()), "m")
	if len(back.Edges)+len(back.Read) > 0 || !slices.Equal(back.Write, append([]string{"def:low"}, up...)) {
		t.Errorf("a removed edge: %+v", back)
	}
}

func TestWholeTree(t *testing.T) {
	tree := conflicttest.New(repository)
	broken := errors.New("syntax error")
	twice := &conflict.Graph{Targets: []conflict.Target{{Name: "a"}, {Name: "a"}}}
	tests := []struct {
		name     string
		analyzer conflict.Analyzer
		settings config.Analysis
		unknown  string
	}{
		{"no analyzer", nil, config.Analysis{}, ""},
		{"no graph by design", fixed{id: "f"}, config.Analysis{}, ""},
		{"an error", fixed{id: "f", err: broken}, config.Analysis{}, "syntax error"},
		{"a name twice", fixed{id: "f", graph: twice}, config.Analysis{}, `two targets are named "a"`},
		{"a reserved name", fixed{id: "f", graph: &conflict.Graph{Targets: []conflict.Target{{Name: "tree"}}}}, config.Analysis{}, `the target name "tree" is reserved`},
		{"a definition without prefix", fixed{id: "f", graph: &conflict.Graph{Definitions: []conflict.Definition{{Name: "x"}}}}, config.Analysis{}, `the definition node "x" does not begin with "def:"`},
		{"a definition twice", fixed{id: "f", graph: &conflict.Graph{Definitions: []conflict.Definition{{Name: "def:x"}, {Name: "def:x"}}}}, config.Analysis{}, `two definition nodes are named "def:x"`},
		{"a bad glob", folders{}, config.Analysis{Ignore: []string{"a", "[b"}}, `analysis.ignore[1]: "[b" is not a valid glob`},
		{"a bad barrier", folders{}, config.Analysis{Barrier: []string{"[b"}}, `analysis.barrier[0]: "[b" is not a valid glob`},
		{"a bad policy", folders{}, config.Analysis{Unowned: "none"}, `analysis.unowned: "none" is none of "all", "target" and "ignore"`},
		{"nothing to ignore", folders{}, config.Analysis{Unowned: config.UnownedIgnore}, `analysis.unowned: "ignore" needs globs in analysis.ignore: nothing is left out that is not written down`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			snap := mustAnalyze(t, tt.analyzer, tt.settings, tree)
			if snap.Unknown != tt.unknown {
				t.Errorf("unknown: %q, want %q", snap.Unknown, tt.unknown)
			}
			want := []queue.TargetHash{{Target: config.TargetTree, Hash: queue.Digest(tree.ID())}}
			if d := cmp.Diff(want, snap.Targets()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFootprintsOfWholeTrees(t *testing.T) {
	tree := conflicttest.New(repository)
	a, b := mustAnalyze(t, nil, config.Analysis{}, tree), mustAnalyze(t, nil, config.Analysis{}, tree.With("new", ""))
	f := conflict.FootprintOf(a, b, "m")
	if d := cmp.Diff(queue.Footprint{Main: "m", Analyzer: "none/1", Write: []string{"tree"}, Affected: []string{"tree"}}, f); d != "" {
		t.Error(d)
	}
	unknown := mustAnalyze(t, fixed{id: "none/1", err: errors.New("boom")}, config.Analysis{}, tree.With("new", ""))
	if f := conflict.FootprintOf(a, unknown, "m"); !f.All || f.Unknown != "boom" || !slices.Equal(f.Affected, []string{"tree"}) {
		t.Errorf("an unknown change: %+v", f)
	}
	if f := conflict.FootprintOf(unknown, a, "m"); !f.All || f.Unknown != "main: boom" {
		t.Errorf("an unknown main: %+v", f)
	}
	if f := conflict.FootprintOf(a, mustAnalyze(t, folders{}, config.Analysis{}, tree), "m"); !f.All || !slices.Equal(f.Affected, []string{"x", "y"}) {
		t.Errorf("another analyzer: %+v", f)
	}
}

func TestUnreadableTree(t *testing.T) {
	gone := errors.New("gone")
	reads := readsBlob{}
	if _, err := conflict.Analyze(context.Background(), reads, config.Analysis{}, conflicttest.New(repository).Failing(gone)); !errors.Is(err, gone) {
		t.Errorf("a missing blob: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := conflict.Analyze(ctx, nil, config.Analysis{}, conflicttest.New(repository)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestCancelledWhileAnalyzing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := conflict.Analyze(ctx, cancels(cancel), config.Analysis{}, conflicttest.New(repository)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

type cancels func()

func (cancels) ID() string { return "cancels" }
func (c cancels) Graph(ctx context.Context, _ conflict.Tree) (*conflict.Graph, error) {
	c()
	return nil, errors.New("half a graph")
}

// readsBlob hides why it failed, as analyzers may.
type readsBlob struct{ folders }

func (readsBlob) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	if _, err := t.Blob(ctx, "0"); err != nil {
		return nil, fmt.Errorf("cannot parse: %v", err)
	}
	return nil, nil
}

func TestAliases(t *testing.T) {
	s := graphSnapshot(t, &conflict.Graph{Targets: []conflict.Target{
		{Name: "./a", Alias: "m/a"}, {Name: "./b"}, {Name: "./c", Alias: "same"}, {Name: "./d", Alias: "same"}, {Name: "lib", Alias: "m/lib", Internal: true}}})
	if d := cmp.Diff(map[string]string{"m/a": "./a"}, s.Aliases()); d != "" {
		t.Error(d)
	}
	for target, want := range map[string]string{"./a": "m/a", "./b": "./b", "./c": "./c", "absent": "absent"} {
		if got := s.Alias(target); got != want {
			t.Errorf("the alias of %s is %q", target, got)
		}
	}
}
