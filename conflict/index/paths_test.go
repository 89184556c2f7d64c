package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
)

func TestTextual(t *testing.T) {
	x := index.New()
	x.Put("moves docs", queue.Footprint{Paths: []string{"docs", "docs/intro.md", "manual/intro.md"}})
	x.Put("adds to docs", queue.Footprint{Paths: []string{"docs/deep/setup.md"}})
	x.Put("beside", queue.Footprint{Paths: []string{"docs.md", "manual/other.md"}})
	x.Put("nowhere", queue.Footprint{})
	x.Put("target too", queue.Footprint{Write: []string{"t"}, Paths: []string{"manual/intro.md", "src/t"}})
	x.Put("same target", queue.Footprint{Write: []string{"t"}, Paths: []string{"src/t"}})
	x.Put("unknown", queue.Footprint{All: true, Unknown: "no go.mod"})
	want := map[queue.ChangeID][]queue.Conflict{
		"moves docs": {
			{With: "adds to docs", Kind: queue.ConflictTextual, Witnesses: []string{"docs"}},
			{With: "target too", Kind: queue.ConflictTextual, Witnesses: []string{"manual/intro.md"}},
		},
		"adds to docs": {{With: "moves docs", Kind: queue.ConflictTextual, Witnesses: []string{"docs/deep/setup.md"}}},
		"target too": {
			{With: "moves docs", Kind: queue.ConflictTextual, Witnesses: []string{"manual/intro.md"}},
			{With: "same target", Kind: queue.ConflictTarget, Witnesses: []string{"t"}},
			{With: "unknown", Kind: queue.ConflictUnknown},
		},
		"beside": nil, "nowhere": nil,
	}
	for id, conflicts := range want {
		if d := cmp.Diff(conflicts, x.Conflicts(id)); d != "" {
			t.Errorf("%s: %s", id, d)
		}
	}
	if got := x.Textual("target too"); !slices.Equal(got, []queue.ChangeID{"moves docs"}) {
		t.Errorf("only textual: %q", got)
	}
	if x.OnlyTextual("target too", "same target") || !x.OnlyTextual("target too", "moves docs") {
		t.Error("OnlyTextual does not tell them apart")
	}

	// Once one of two is known to merge with the other, nothing is between them.
	x.Put("adds to docs", queue.Footprint{Paths: []string{"docs/deep/setup.md"}, Merges: []queue.ChangeID{"moves docs"}})
	if x.Conflict("moves docs", "adds to docs") || x.Conflicts("adds to docs") != nil {
		t.Error("they conflict though they merge")
	}
	x.Remove("moves docs")
	if got := x.Textual("target too"); got != nil {
		t.Errorf("with one that has gone: %q", got)
	}
}

// The index against the definition, in any order of changes that come and go.
func TestTextualAgainstTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index.New()
		now := map[queue.ChangeID]queue.Footprint{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			id := queue.ChangeID(fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "id")))
			if rapid.IntRange(0, 4).Draw(t, "remove") == 0 {
				x.Remove(id)
				delete(now, id)
				continue
			}
			f := queue.Footprint{Paths: conflict.TouchedPaths(rapid.SliceOfN(rapid.SampledFrom(
				[]string{"a", "a/b", "a/b/c", "a.b", "a/c", "d/e", "d", "", "d/e/f"}), 0, 4).Draw(t, "paths"), nil)}
			if rapid.IntRange(0, 3).Draw(t, "writes") == 0 {
				f.Write = []string{"t"}
			}
			if rapid.IntRange(0, 3).Draw(t, "merges") == 0 {
				f.Merges = []queue.ChangeID{queue.ChangeID(fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "with")))}
			}
			x.Put(id, f)
			now[id] = f
		}
		for a, f := range now {
			kinds := map[queue.ChangeID]queue.ConflictKind{}
			for _, k := range x.Conflicts(a) {
				kinds[k.With] = k.Kind
			}
			for b, g := range now {
				want := queue.ConflictKind("")
				switch {
				case a == b:
				case len(f.Write) > 0 && len(g.Write) > 0:
					want = queue.ConflictTarget
				case slices.Contains(f.Merges, b), slices.Contains(g.Merges, a):
				case overlap(f.Paths, g.Paths):
					want = queue.ConflictTextual
				}
				if kinds[b] != want || x.Conflict(a, b) != (want != "") || x.OnlyTextual(a, b) != (want == queue.ConflictTextual) {
					t.Fatalf("%s %+v and %s %+v: %q, want %q", a, f, b, g, kinds[b], want)
				}
			}
		}
	})
}

func overlap(a, b []string) bool {
	within := func(p, dir string) bool { return dir == "" || p == dir || strings.HasPrefix(p, dir+"/") }
	return slices.ContainsFunc(a, func(p string) bool {
		return slices.ContainsFunc(b, func(q string) bool { return within(p, q) || within(q, p) })
	})
}
