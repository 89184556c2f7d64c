package conflict_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

func graphOf(targets ...conflict.Target) *conflict.Graph { return &conflict.Graph{Targets: targets} }

func TestHashDoesNotDependOnOrder(t *testing.T) {
	one, two := conflict.Entry{Path: "1", OID: "a"}, conflict.Entry{Path: "2", OID: "b"}
	a := graphSnapshot(t, graphOf(
		conflict.Target{Name: "t", Sources: []conflict.Entry{one, two}, Deps: []string{"u", "v"}}, conflict.Target{Name: "u"}, conflict.Target{Name: "v"}))
	b := graphSnapshot(t, graphOf(
		conflict.Target{Name: "v"}, conflict.Target{Name: "u"}, conflict.Target{Name: "t", Sources: []conflict.Entry{two, one, two}, Deps: []string{"v", "u", "v"}}))
	if d := cmp.Diff(a.Targets(), b.Targets()); d != "" {
		t.Error(d)
	}
}

func TestHashMovesWithEverything(t *testing.T) {
	entry := conflict.Entry{Path: "p", Mode: "100644", OID: "o"}
	full := conflict.Target{Name: "t", Kind: "k", Attrs: "a", Sources: []conflict.Entry{entry}, Inputs: []conflict.Entry{entry}, Deps: []string{"u"}}
	base := graphOf(full, conflict.Target{Name: "u"})
	seen := map[queue.Digest]string{hashOf(t, graphSnapshot(t, base), "t"): "nothing"}
	note := func(what string, s *conflict.Snapshot) {
		t.Helper()
		h := hashOf(t, s, "t")
		if same, ok := seen[h]; ok {
			t.Errorf("%s and %s give one hash", what, same)
		}
		seen[h] = what
	}
	edit := func(what string, change func(*conflict.Target)) {
		t.Helper()
		c := full
		change(&c)
		note(what, graphSnapshot(t, graphOf(c, conflict.Target{Name: "u"})))
	}
	edit("kind", func(c *conflict.Target) { c.Kind = "l" })
	edit("attributes", func(c *conflict.Target) { c.Attrs = "b" })
	edit("path", func(c *conflict.Target) { c.Sources = []conflict.Entry{{Path: "q", Mode: "100644", OID: "o"}} })
	edit("mode", func(c *conflict.Target) { c.Sources = []conflict.Entry{{Path: "p", Mode: "100755", OID: "o"}} })
	edit("content", func(c *conflict.Target) { c.Sources = []conflict.Entry{{Path: "p", Mode: "100644", OID: "n"}} })
	edit("no source", func(c *conflict.Target) { c.Sources = nil })
	edit("no input", func(c *conflict.Target) { c.Inputs = nil })
	edit("a byte in the next field", func(c *conflict.Target) { c.Kind, c.Attrs = "ka", "" })
	edit("no dependency", func(c *conflict.Target) { c.Deps = nil })
	edit("a missing dependency", func(c *conflict.Target) { c.Deps = []string{"missing"} })
	edit("another missing dependency", func(c *conflict.Target) { c.Deps = []string{"lost"} })
	note("a dependency's content", graphSnapshot(t, graphOf(full, conflict.Target{Name: "u", Attrs: "b"})))
	note("salt", graphSnapshot(t, &conflict.Graph{Targets: base.Targets, Salt: []string{"go 1.22"}}))
	none := conflicttest.New(nil)
	note("analyzer", mustAnalyze(t, fixed{id: "fixed/2", graph: base}, config.Analysis{}, none))
	for what, s := range map[string]config.Analysis{
		"policy": {Unowned: config.UnownedTarget}, "ignore": {Ignore: []string{"x"}}, "barrier": {Barrier: []string{"x"}},
		"area": {Areas: []config.Area{{Name: "x"}}}, "needs": {Areas: []config.Area{{Name: "x", Needs: []string{"y"}}}},
	} {
		note(what, mustAnalyze(t, fixed{id: "fixed/1", graph: base}, s, none))
	}
}

func TestCyclesAreHashedAsOne(t *testing.T) {
	ring := func(attrs queue.Digest) *conflict.Snapshot {
		return graphSnapshot(t, graphOf(
			conflict.Target{Name: "a", Deps: []string{"b"}}, conflict.Target{Name: "b", Deps: []string{"c", "leaf"}},
			conflict.Target{Name: "c", Deps: []string{"a"}, Attrs: attrs}, conflict.Target{Name: "self", Deps: []string{"self"}},
			conflict.Target{Name: "leaf"}, conflict.Target{Name: "above", Deps: []string{"b"}}))
	}
	one, two := ring("1"), ring("2")
	if d := cmp.Diff([][]string{{"a", "b", "c"}, {"self"}}, one.Cycles); d != "" {
		t.Error(d)
	}
	f := conflict.FootprintOf(one, two, "m")
	if !slices.Equal(f.Affected, []string{"a", "above", "b", "c"}) {
		t.Errorf("affected: %v", f.Affected)
	}
}

// A file that only unverifiable nodes claim is unowned: it would be in no key
// otherwise.
func TestUnreachableClaimsAreUnowned(t *testing.T) {
	tree := conflicttest.New(map[string]string{"lib/x": "1"})
	files, _ := tree.Files(t.Context())
	lib := conflict.Target{Name: "lib", Internal: true, Sources: files}
	s := config.Analysis{Unowned: config.UnownedTarget}
	alone := mustAnalyze(t, fixed{id: "f", graph: graphOf(lib)}, s, tree)
	if len(alone.Targets()) != 1 || alone.Targets()[0].Target != config.TargetUnowned {
		t.Errorf("targets of a lonely library: %v", alone.Targets())
	}
	used := mustAnalyze(t, fixed{id: "f", graph: graphOf(lib, conflict.Target{Name: "app", Deps: []string{"lib"}})}, s, tree)
	if len(used.Targets()) != 1 || used.Targets()[0].Target != "app" {
		t.Errorf("targets with a user of the library: %v", used.Targets())
	}
}

// layers is a graph of n targets with three dependencies and two files each.
func layers(n int) *conflict.Graph {
	g := &conflict.Graph{Targets: make([]conflict.Target, n)}
	name := func(i int) string { return "./services/area/package" + string(digest.Of(string(rune(i)))[:8]) }
	for i := range n {
		t := &g.Targets[i]
		t.Name = name(i)
		for k := 1; k <= 3; k++ {
			if i >= k*7 {
				t.Deps = append(t.Deps, name(i-k*7))
			}
		}
		for _, f := range []string{"/a.go", "/b.go"} {
			t.Sources = append(t.Sources, conflict.Entry{Path: t.Name + f, Mode: "100644", OID: string(digest.Of(t.Name, f)[:40])})
		}
	}
	return g
}

func BenchmarkAnalyze(b *testing.B) {
	g := layers(10_000)
	tree := conflicttest.New(nil)
	b.ReportAllocs()
	for b.Loop() {
		mustAnalyze(b, fixed{id: "f", graph: g}, config.Analysis{}, tree)
	}
}

func BenchmarkKeys(b *testing.B) {
	g := layers(10_000)
	main := graphSnapshot(b, g)
	g.Targets[5_000].Attrs = "new"
	change := graphSnapshot(b, g)
	for b.Loop() {
		conflict.Keys(main, change, unit, unit)
	}
}

func BenchmarkFootprintOf(b *testing.B) {
	g := layers(10_000)
	main := graphSnapshot(b, g)
	g.Targets[5_000].Deps = nil
	change := graphSnapshot(b, g)
	for b.Loop() {
		conflict.FootprintOf(change, main, "m")
	}
}

// TestFormatOfHashes holds the format, which is part of every analyzer's version.
// With a change of the hashes expected here all analyzers need a new version, and
// the former format has to stay for their elders (see Versioned): else an upgrade
// of the server builds everything again, and its proofs are for other content.
func TestFormatOfHashes(t *testing.T) {
	s := graphSnapshot(t, &conflict.Graph{Salt: []string{"salt"}, Definitions: []conflict.Definition{{Name: "def:d", Digest: "x"}}, Targets: []conflict.Target{
		{Name: "t", Kind: "k", Attrs: "a", Sources: []conflict.Entry{{Path: "p", Mode: "100644", OID: "o"}}, Deps: []string{"u"}, Reads: []string{"def:d"}},
		{Name: "u", Deps: []string{"v"}}, {Name: "v", Internal: true, Deps: []string{"u"}}, {Name: "leaf"},
	}})
	for target, want := range map[string]queue.Digest{
		"t":    "e92666ebbf542e10520d08aa40fcd650792fbddf3dbcae32e1043ead06b92a02",
		"leaf": "06bd9200677212d4586f8ac037cd2c3f834bcf3f2498469a126281b6ea4f56cf",
		"u":    "4411d09f84e47acd18b34e22a4c080dded68165f8d59cc315f2ef512a1d5e51e",
	} {
		if got := hashOf(t, s, target); got != want {
			t.Errorf("the hash of %s is %s; want %s", target, got, want)
		}
	}
}
