package several_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/several"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// shop is two build systems in two folders, and a file beside them.
var shop = conflicttest.New(map[string]string{
	"server/cart/deps": "_lib", "server/cart/cart.x": "", "server/_lib/deps": "", "server/lock": "1", "server/version": "1",
	"web/ui/deps": "", "web/site/deps": "ui", "web/site/index.html": "", "web/lock": "1", "web/.nvmrc": "",
	"Makefile": "all:", "shared/x": "",
})

func mustNew(t testing.TB, parts ...several.Part) conflict.Analyzer {
	t.Helper()
	a, err := several.New(parts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var (
	server = several.Part{Name: "go", Under: "server", Analyzer: toy{"go"}}
	web    = several.Part{Name: "web", Under: "web", Analyzer: toy{"web"}}
)

func needing(p several.Part, needs ...string) several.Part {
	p.Needs = needs
	return p
}

func guardedBy(p several.Part, globs ...string) several.Part {
	p.Barrier = globs
	return p
}

// TestBarrierFilesThatAreLinks holds that what moves all targets of an analyzer is read
// through links, whoever owns what they lead to.
func TestBarrierFilesThatAreLinks(t *testing.T) {
	tree := shop.With("web/site/conf", "").
		WithMode("web/lock", conflict.ModeLink, "site/conf").WithMode("shared/x", conflict.ModeLink, "../web/site/conf")
	next := tree.With("web/site/conf", "more")
	for name, a := range map[string]conflict.Analyzer{
		"whole":     mustNew(t, guardedBy(server, "shared/x"), web),
		"following": mustNew(t, several.Part{Name: "go", Under: "server", Barrier: []string{"shared/x"}, Analyzer: following{toy{"go"}}}, several.Part{Name: "web", Under: "web", Analyzer: following{toy{"web"}}}),
	} {
		near, err := conflict.Analyze(t.Context(), a, config.Analysis{}, tree)
		if err != nil || near.Unknown != "" {
			t.Fatal(err, near.Unknown)
		}
		snap, err := conflict.Advance(t.Context(), a, config.Analysis{}, near, next, changesOf(t, tree, next))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"go:cart", "web:site", "web:ui"}, conflict.FootprintOf(near, snap, "m").Affected); d != "" {
			t.Errorf("%s: affected (-want +got): %s", name, d)
		}
	}
}

func TestWhatAnEditAffects(t *testing.T) {
	both := []several.Part{server, web}
	rest := []string{config.TargetUnowned}
	for name, tt := range map[string]struct {
		parts []several.Part
		path  string
		want  []string
	}{
		"one target":                    {both, "server/cart/cart.x", []string{"go:cart"}},
		"what depends on it":            {both, "web/ui/deps", []string{"web:site", "web:ui"}},
		"through an internal node":      {both, "server/_lib/deps", []string{"go:cart"}},
		"a barrier file of one":         {both, "web/lock", []string{"web:site", "web:ui"}},
		"the salt of one":               {both, "server/version", []string{"go:cart", config.TargetUnowned}},
		"nobody's":                      {both, "Makefile", rest},
		"a file of nobody in a folder":  {both, "web/.nvmrc", rest},
		"the barrier of an entry":       {[]several.Part{server, guardedBy(web, "web/.nv*", "Makefile")}, "web/.nvmrc", []string{"web:site", "web:ui"}},
		"a barrier beyond the folder":   {[]several.Part{server, guardedBy(web, "web/.nv*", "Makefile")}, "Makefile", []string{"web:site", "web:ui"}},
		"what an analyzer needs":        {[]several.Part{needing(server, "web"), web}, "web/site/index.html", []string{"go:cart", "web:site"}},
		"a barrier of what one needs":   {[]several.Part{needing(server, "web"), web}, "web/lock", []string{"go:cart", "web:site", "web:ui"}},
		"needs go one way":              {[]several.Part{needing(server, "web"), web}, "server/cart/cart.x", []string{"go:cart"}},
		"needs of needs":                {[]several.Part{needing(server, "web"), needing(web, "x"), {Name: "x", Under: "shared", Barrier: []string{"shared/x"}, Analyzer: toy{}}}, "shared/x", []string{"go:cart", "web:site", "web:ui"}},
		"needs in a circle":             {[]several.Part{needing(server, "web"), needing(web, "go")}, "server/cart/cart.x", []string{"go:cart", "web:site", "web:ui"}},
		"two on one folder":             {[]several.Part{server, web, {Name: "again", Under: "web", Analyzer: toy{}}}, "web/ui/deps", []string{"again:site", "again:ui", "web:site", "web:ui"}},
		"an analyzer of the whole tree": {[]several.Part{web, {Name: "all", Analyzer: toy{}}}, "web/ui/deps", []string{"web:site", "web:ui"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, s := mustNew(t, tt.parts...), config.Analysis{Unowned: config.UnownedTarget}
			f := conflict.FootprintOf(mustAnalyze(t, a, s, shop), mustAnalyze(t, a, s, shop.With(tt.path, "ui")), "m")
			if d := cmp.Diff(tt.want, f.Affected); d != "" || f.All || f.Unknown != "" {
				t.Errorf("all %v, unknown %q, affected (-want +got): %s", f.All, f.Unknown, d)
			}
		})
	}
}

// TestDefinitions holds that what analyzers read of the graph is told apart,
// and that listings are of folders of the whole tree.
func TestDefinitions(t *testing.T) {
	g, err := mustNew(t, server, web).Graph(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range g.Definitions {
		names = append(names, d.Name)
	}
	if d := cmp.Diff([]string{"def:go:_lib", "def:go:cart", "def:web:site", "def:web:ui"}, names); d != "" {
		t.Error(d)
	}
	for _, n := range g.Targets {
		if n.Name == "web:site" {
			if d := cmp.Diff([]string{"list:./web/site", "def:web:site"}, n.Reads); d != "" || n.Alias != "site" {
				t.Errorf("alias %q: %s", n.Alias, d)
			}
		}
	}
}

func TestTargetsOfEachStep(t *testing.T) {
	s := mustAnalyze(t, mustNew(t, server, web), config.Analysis{Unowned: config.UnownedTarget}, shop)
	steps := []config.Step{{Name: "unit", Analyzer: "go", Dir: "server", Run: "test {targets}"}, {Name: "web", Analyzer: "web", Run: "test {targets}"},
		{Name: "lint", Scope: config.ScopeRepository}}
	got := map[string][]string{}
	for _, k := range conflict.Keys(nil, s, nil, steps) {
		for _, st := range steps {
			if st.Digest() == k.Step {
				got[st.Name] = append(got[st.Name], k.Target)
			}
		}
	}
	want := map[string][]string{"unit": {"go:cart", "unowned"}, "web": {"unowned", "web:site", "web:ui"}, "lint": {"tree"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got, want := steps[0].CommandFor([]string{"go:cart"}), "cd './server' || exit 1\ntest 'cart'"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoneCanRead holds that a tree of which no analyzer can read its part is one
// target, and that names which no graph may have are refused.
func TestNoneCanRead(t *testing.T) {
	for name, tt := range map[string]struct {
		analyzer    conflict.Analyzer
		tree        *conflicttest.Tree
		unknown     string
		provisional bool
	}{
		"an error":       {toy{}, shop.With("web/broken", "line 3"), "analyzer web in web/: line 3", false},
		"for now":        {fixed{err: conflict.ErrProvisional}, shop, "analyzer web in web/: " + conflict.ErrProvisional.Error(), true},
		"no graph":       {fixed{}, shop, "analyzer web in web/: it has no targets", false},
		"a name of ours": {fixed{graph: &conflict.Graph{Targets: []conflict.Target{{Name: "tree"}}}}, shop, `analyzer web in web/: the target name "tree" is reserved`, false},
		"a name that is a definition's": {fixed{graph: &conflict.Graph{Targets: []conflict.Target{{Name: "def:x"}}}}, shop,
			`analyzer web in web/: the target name "def:x" is reserved`, false},
		"a definition without prefix": {fixed{graph: &conflict.Graph{Definitions: []conflict.Definition{{Name: "x"}}}}, shop,
			`analyzer web in web/: the definition node "x" does not begin with "def:"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			broken := several.Part{Name: "web", Under: "web", Analyzer: tt.analyzer}
			s := mustAnalyze(t, mustNew(t, broken), config.Analysis{}, tt.tree)
			if s.Unknown != tt.unknown || s.Provisional != tt.provisional {
				t.Errorf("unknown %q, provisional %v", s.Unknown, s.Provisional)
			}
			if got := s.Targets(); len(got) != 1 || got[0].Target != config.TargetTree {
				t.Errorf("targets %v", got)
			}
			s = mustAnalyze(t, mustNew(t, server, broken), config.Analysis{}, tt.tree)
			want := []conflict.Unread{{Target: "web:tree", Why: tt.unknown, Provisional: tt.provisional}}
			if d := cmp.Diff(want, s.Unread); d != "" || s.Unknown != "" || s.Provisional != tt.provisional {
				t.Errorf("beside one that can: unknown %q, provisional %v, unread (-want +got): %s", s.Unknown, s.Provisional, d)
			}
			if d := cmp.Diff([]string{"go:cart", "web:tree"}, slices.Sorted(maps.Keys(names(s.Targets())))); d != "" {
				t.Error(d)
			}
		})
	}
	both := mustNew(t, several.Part{Name: "a", Under: "web", Analyzer: fixed{}}, several.Part{Name: "b", Under: "server", Analyzer: fixed{err: conflict.ErrProvisional}})
	s := mustAnalyze(t, both, config.Analysis{}, shop)
	if want := "analyzer a in web/: it has no targets; analyzer b in server/: " + conflict.ErrProvisional.Error(); s.Unknown != want || !s.Provisional {
		t.Errorf("unknown %q, provisional %v", s.Unknown, s.Provisional)
	}
	twice := several.Part{Name: "web", Under: "web", Analyzer: fixed{graph: &conflict.Graph{Targets: []conflict.Target{{Name: "a"}, {Name: "a"}}}}}
	if s := mustAnalyze(t, mustNew(t, server, twice), config.Analysis{}, shop); s.Unknown != `two targets are named "web:a"` {
		t.Errorf("a name twice: %q", s.Unknown)
	}
	failed := errors.New("the disk is gone")
	if _, err := conflict.Analyze(t.Context(), mustNew(t, server, web), config.Analysis{}, shop.Failing(failed)); !errors.Is(err, failed) {
		t.Errorf("a tree that cannot be read: %v", err)
	}
}

type fixed struct {
	graph *conflict.Graph
	err   error
}

func (fixed) ID() string                                                      { return "fixed/1" }
func (f fixed) Graph(context.Context, conflict.Tree) (*conflict.Graph, error) { return f.graph, f.err }

func TestNewSaysWhatIsWrong(t *testing.T) {
	for want, parts := range map[string][]several.Part{
		`"" cannot be the name of an analyzer`:                {{Analyzer: toy{}}},
		`"a:b" cannot be the name of an analyzer`:             {{Name: "a:b", Analyzer: toy{}}},
		`"def" cannot be the name of an analyzer`:             {{Name: "def", Analyzer: toy{}}},
		`two analyzers are named "a"`:                         {{Name: "a", Analyzer: toy{}}, {Name: "a", Analyzer: toy{}}},
		`analyzer a: "../x" is no folder of a tree`:           {{Name: "a", Under: "../x", Analyzer: toy{}}},
		`analyzer a has no targets: take it out`:              {{Name: "a"}},
		`analyzer a: barrier "[" is not a valid glob`:         {{Name: "a", Analyzer: toy{}, Barrier: []string{"["}}},
		`analyzer a needs "b", and there is no such analyzer`: {{Name: "a", Analyzer: toy{}, Needs: []string{"b"}}},
	} {
		if _, err := several.New(parts); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestIDs holds that whatever makes a difference is in the id.
func TestIDs(t *testing.T) {
	seen := map[string]int{}
	for i, parts := range [][]several.Part{
		{server}, {web}, {server, web}, {web, server}, {needing(server, "web"), web}, {server, needing(web, "go")}, {server, guardedBy(web, "a")}, {server, guardedBy(web, "a", "b")},
		{{Name: "go", Under: "server", Analyzer: toy{"other"}}, web}, {{Name: "og", Under: "server", Analyzer: toy{"go"}}, web}, {{Name: "go", Analyzer: toy{"go"}}, web},
	} {
		id := mustNew(t, parts...).ID()
		if at, twice := seen[id]; twice {
			t.Errorf("%d and %d have the id %s", at, i, id)
		}
		seen[id] = i
	}
}

// TestLinks holds that what a link leads to, out of the folder, is in the
// hashes of the analyzer's targets.
func TestLinks(t *testing.T) {
	base := shop.With("outer/a/b", "1").WithMode("outer/link", conflict.ModeLink, "a").With("Makefile2", "")
	for _, tt := range []struct {
		at, goal string
		moves    []string // of these edits those that reach web:
	}{
		{"web/ui/l", "../../outer/a", []string{"outer/a/b", "outer/a/new"}},
		{"web/l", "../Makefile", []string{"Makefile"}},
		{"web/ui/l", "../site", nil},
		{"web/ui/l", "/etc/passwd", nil},
		{"web/ui/l", "../../../etc/passwd", nil},
		{"web/ui/l", "/../../Makefile", nil},
		{"web/l", "../outer/link/b", []string{"Makefile", "Makefile2", "outer/a/b", "outer/a/new"}}, // through a link
		{"web/l", "../outer/link", []string{"Makefile", "Makefile2", "outer/a/b", "outer/a/new"}},
		{"web/l", "../outer", []string{"Makefile", "Makefile2", "outer/a/b", "outer/a/new"}}, // with a link in it
		{"web/l", "site/../../Makefile", []string{"Makefile", "Makefile2", "outer/a/b", "outer/a/new"}},
		{"web/l", "..", []string{"Makefile", "Makefile2", "outer/a/b", "outer/a/new"}},
		{"web/l", "../not/there", []string{"Makefile", "Makefile2", "outer/a/b", "outer/a/new"}},
	} {
		tree := base.WithMode(tt.at, conflict.ModeLink, tt.goal)
		a, s := mustNew(t, server, web), config.Analysis{Unowned: config.UnownedTarget}
		main := mustAnalyze(t, a, s, tree)
		var moves []string
		for _, path := range []string{"Makefile", "Makefile2", "outer/a/b", "outer/a/new"} {
			f := conflict.FootprintOf(main, mustAnalyze(t, a, s, tree.With(path, "new")), "m")
			if slices.Contains(f.Affected, "go:cart") {
				t.Errorf("%s → %s: an edit of %s reaches the other analyzer", tt.at, tt.goal, path)
			}
			if slices.Contains(f.Affected, "web:site") {
				moves = append(moves, path)
			}
		}
		if d := cmp.Diff(tt.moves, moves); d != "" {
			t.Errorf("%s → %s: %s", tt.at, tt.goal, d)
		}
	}
	link := base.WithMode("web/l", conflict.ModeLink, "x")
	failed := errors.New("gone")
	if _, err := mustNew(t, web).Graph(t.Context(), link.Failing(failed)); !errors.Is(err, failed) {
		t.Errorf("a link that cannot be read: %v", err)
	}
}

// TestTreeOfAFolder holds that the tree that an analyzer sees has another id
// whenever one of its files is another, and for nothing else.
func TestTreeOfAFolder(t *testing.T) {
	base := shop.With("web/vague", "")
	a, s := mustNew(t, server, web), config.Analysis{Unowned: config.UnownedTarget}
	main := mustAnalyze(t, a, s, base)
	for name, tt := range map[string]struct {
		tree *conflicttest.Tree
		want []string
	}{
		"content":   {base.With("web/.nvmrc", "20"), []string{config.TargetUnowned, "web:site", "web:ui"}},
		"mode":      {base.WithMode("web/.nvmrc", "100755", ""), []string{config.TargetUnowned, "web:site", "web:ui"}},
		"name":      {base.With("web/new", ""), []string{config.TargetUnowned, "web:site", "web:ui"}},
		"elsewhere": {base.With("server/new", ""), []string{config.TargetUnowned}},
	} {
		if d := cmp.Diff(tt.want, moved(main, mustAnalyze(t, a, s, tt.tree))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestPrograms holds that an analyzer that runs programs runs those of its
// folder on the target branch, and nothing under another configuration.
func TestPrograms(t *testing.T) {
	var ran []string
	part := several.Part{Name: "web", Under: "web", Analyzer: running{toy: toy{}, ran: &ran}}
	a := mustNew(t, server, part)
	guarded, ok := a.(conflict.Guarded)
	if !ok {
		t.Fatal("it is not guarded")
	}
	if _, follows := a.(conflict.Follower); follows {
		t.Error("what may be run changes with the target branch, and it follows")
	}
	if _, ok := mustNew(t, server, web).(conflict.Guarded); ok {
		t.Error("it is guarded without a part that runs programs")
	}
	ctx := t.Context()
	for _, untrusted := range []conflict.Analyzer{a, guarded.Trusting(nil)} {
		if _, err := untrusted.Graph(ctx, shop); !errors.Is(err, conflict.ErrProvisional) || len(ran) > 0 {
			t.Errorf("untrusted: %v, ran %v", err, ran)
		}
	}
	main := shop.With("web/tool", "x").With(config.Path, "1")
	trusting := guarded.Trusting(main)
	if _, err := trusting.Graph(ctx, main.With(config.Path, "command: evil")); !errors.Is(err, conflict.ErrProvisional) || len(ran) > 0 {
		t.Errorf("another configuration: %v, ran %v", err, ran)
	}
	if _, err := trusting.Graph(ctx, main.Without(config.Path)); !errors.Is(err, conflict.ErrProvisional) || len(ran) > 0 {
		t.Errorf("no configuration: %v, ran %v", err, ran)
	}
	g, err := trusting.Graph(ctx, main.With("server/new/deps", ""))
	if err != nil || len(g.Targets) == 0 || trusting.ID() != a.ID() {
		t.Fatalf("%v, %v", g, err)
	}
	if d := cmp.Diff([]string{".nvmrc lock site/deps site/index.html tool ui/deps"}, ran); d != "" {
		t.Error(d)
	}
	failed := errors.New("gone")
	if _, err := guarded.Trusting(unlisted{main, failed}).Graph(ctx, main); !errors.Is(err, conflict.ErrProvisional) || !errors.Is(err, failed) {
		t.Errorf("a target branch that cannot be read: %v", err)
	}
}

// unlisted is a tree whose files cannot be listed.
type unlisted struct {
	conflict.Tree
	err error
}

func (u unlisted) Files(context.Context) ([]conflict.Entry, error) { return nil, u.err }

// TestEveryFileIsInAKeyOrIgnored edits each file in turn under each policy.
func TestEveryFileIsInAKeyOrIgnored(t *testing.T) {
	tree := shop.With("docs/a", "").With("web/docs/b", "").With("server/x.md", "").With("web/_dead/deps", "").With("empty/lock", "").With(config.Path, "")
	parts := []several.Part{server, guardedBy(web, "web/.nv*"), {Name: "empty", Under: "empty", Analyzer: toy{}}}
	steps := []config.Step{{Name: "unit", Analyzer: "go"}, {Name: "web", Analyzer: "web"}, {Name: "empty", Analyzer: "empty"}}
	for _, s := range []config.Analysis{{}, {Unowned: config.UnownedTarget}, {Unowned: config.UnownedIgnore, Ignore: []string{"**/docs/**"}},
		{Unowned: config.UnownedIgnore, Ignore: []string{"**"}}, {Unowned: config.UnownedTarget, Ignore: []string{"docs/**"}}} {
		a := mustNew(t, parts...)
		main := mustAnalyze(t, a, s, tree)
		var silent []string
		for _, path := range tree.Paths() {
			if len(conflict.Keys(main, mustAnalyze(t, a, s, tree.With(path, "_lib ")), steps, steps)) == 0 {
				silent = append(silent, path)
			}
		}
		want := map[string]string{"": "", "**/docs/**": "docs/a web/docs/b", "docs/**": "docs/a",
			"**": "Makefile docs/a empty/lock server/x.md shared/x web/_dead/deps web/docs/b"}[strings.Join(s.Ignore, "")]
		if got := strings.Join(silent, " "); got != want {
			t.Errorf("%v: no key for %s, want %s", s, got, want)
		}
	}
}

// TestHostileFolders puts a build system under folders whose names mean
// something elsewhere.
func TestHostileFolders(t *testing.T) {
	for _, under := range []string{"a b", "it's", "$(x)", "`x`", "-rf", "é", "a:b", "*", "[a]", "web0", "web/", "..x", "tree", "def:x", "a\tb", "x/y/z", "\\"} {
		under = strings.TrimSuffix(under, "/")
		files := map[string]string{under + "0/deps": "", under + "-/x/deps": "", under + ".x/lock": "", under[:len(under)-1] + "/lock": ""}
		for path, text := range map[string]string{"one/deps": "two", "two/deps": "", "two/it's": "", "lock": ""} {
			files[under+"/"+path] = text
		}
		delete(files, "/lock")
		tree, s := conflicttest.New(files), config.Analysis{Unowned: config.UnownedTarget}
		a := mustNew(t, several.Part{Name: "p", Under: under, Analyzer: toy{}})
		main := mustAnalyze(t, a, s, tree)
		var got []string
		for _, h := range main.Targets() {
			got = append(got, h.Target)
		}
		if d := cmp.Diff([]string{"p:one", "p:two", config.TargetUnowned}, got); d != "" || main.Unknown != "" {
			t.Errorf("%q: %s %s", under, main.Unknown, d)
		}
		for path, want := range map[string][]string{"two/it's": {"p:one", "p:two"}, "lock": {"p:one", "p:two"}, "one/deps": {"p:one"}} {
			f := conflict.FootprintOf(main, mustAnalyze(t, a, s, tree.With(under+"/"+path, "two ")), "m")
			if d := cmp.Diff(want, f.Affected); d != "" {
				t.Errorf("%q, %s: %s", under, path, d)
			}
		}
	}
}

func names(targets []queue.TargetHash) map[string]queue.Digest {
	out := map[string]queue.Digest{}
	for _, h := range targets {
		out[h.Target] = h.Hash
	}
	return out
}

func moved(from, to *conflict.Snapshot) []string {
	a, b := names(from.Targets()), names(to.Targets())
	all := maps.Clone(a)
	maps.Copy(all, b)
	maps.DeleteFunc(all, func(n string, _ queue.Digest) bool { return a[n] == b[n] })
	return slices.Sorted(maps.Keys(all))
}

// batches is a tree that counts how its blobs are asked for.
type batches struct {
	*conflicttest.Tree
	asked *int
}

func (b batches) Blobs(ctx context.Context, oids []string) ([][]byte, error) {
	*b.asked++
	return conflict.Blobs(ctx, b.Tree, oids)
}

// reader is an analyzer that reads all files at once.
type reader struct{ toy }

func (a reader) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	var oids []string
	for _, e := range files {
		oids = append(oids, e.OID)
	}
	if _, err := conflict.Blobs(ctx, t, oids); err != nil {
		return nil, err
	}
	return a.toy.Graph(ctx, t)
}

// An analyzer under a folder reads many files for one exchange with git, as it
// does of a whole tree.
func TestBlobsOfAFolderAreReadAtOnce(t *testing.T) {
	a, err := several.New([]several.Part{{Name: "x", Under: "x", Analyzer: reader{toy{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	tree := batches{conflicttest.New(map[string]string{"x/a/deps": "", "x/b/deps": "a"}), &asked}
	if _, err := a.Graph(t.Context(), tree); err != nil || asked != 1 {
		t.Errorf("asked %d times for many, %v", asked, err)
	}
}
