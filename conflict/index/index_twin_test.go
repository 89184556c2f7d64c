package index_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
)

// naive is the definition of Index, computed anew for each question.
type naive struct {
	changes map[queue.ChangeID]queue.Footprint
	hubs    int // limit
}

// overlaid reports whether the edges of third changes count: the upper parts
// of edges, each once in a change, are not too many.
func (n naive) overlaid() bool {
	hubs := 0
	for _, f := range n.changes {
		parts := map[string]bool{}
		for _, e := range f.Edges {
			if len(e.Up) > 0 {
				parts[fmt.Sprint(e.Up)] = true
			}
		}
		hubs += len(parts)
	}
	return hubs <= n.hubs
}

func (n naive) closure(id queue.ChangeID) map[string]bool {
	set := map[string]bool{}
	for _, w := range n.changes[id].Write {
		set[w] = true
	}
	if !n.overlaid() {
		return set
	}
	for size := -1; size != len(set); {
		size = len(set)
		for _, f := range n.changes {
			for _, e := range f.Edges {
				if set[e.To] {
					for _, up := range e.Up {
						set[up] = true
					}
				}
			}
		}
	}
	return set
}

func empty(f queue.Footprint) bool { return !f.All && len(f.Write)+len(f.Read) == 0 }

// conflict returns the kind, "" for none, and the first names.
func (n naive) conflict(a, b queue.ChangeID, closures map[queue.ChangeID]map[string]bool) (queue.ConflictKind, []string) {
	f, g := n.changes[a], n.changes[b]
	switch {
	case a == b || empty(f) || empty(g):
		return "", nil
	case f.All || g.All:
		return queue.ConflictGlobal, nil
	}
	target := func(s string) bool {
		return !strings.HasPrefix(s, conflict.DefinitionPrefix) && !strings.HasPrefix(s, conflict.ListingPrefix)
	}
	definition := func(s string) bool { return strings.HasPrefix(s, conflict.DefinitionPrefix) }
	any := func(string) bool { return true }
	own := func(list []string) map[string]bool {
		set := map[string]bool{}
		for _, s := range list {
			set[s] = true
		}
		return set
	}
	wa, wb, ra, rb := own(f.Write), own(g.Write), own(f.Read), own(g.Read)
	both := func(like func(string) bool, pairs ...map[string]bool) []string {
		found := map[string]bool{}
		for i := 0; i < len(pairs); i += 2 {
			for s := range pairs[i] {
				if pairs[i+1][s] && like(s) {
					found[s] = true
				}
			}
		}
		list := slices.Sorted(maps.Keys(found))
		return list[:min(len(list), 5)]
	}
	ca, cb := closures[a], closures[b]
	for _, try := range []struct {
		kind  queue.ConflictKind
		names []string
	}{
		{queue.ConflictTarget, both(target, wa, wb)},
		{queue.ConflictReadWrite, both(target, wa, rb, ra, wb)},
		{queue.ConflictTarget, both(target, ca, cb)},
		{queue.ConflictDefinition, both(definition, ca, cb)},
		{queue.ConflictReadWrite, both(any, ca, rb, ra, cb)},
	} {
		if len(try.names) > 0 {
			return try.kind, try.names
		}
	}
	return "", nil
}

// check asks everything of an index.
func (n naive) check(t interface {
	Helper()
	Fatalf(string, ...any)
}, x *index.Index, targets []string) {
	t.Helper()
	ids := slices.Sorted(maps.Keys(n.changes))
	closures := map[queue.ChangeID]map[string]bool{}
	for _, id := range ids {
		closures[id] = n.closure(id)
	}
	if x.Len() != len(ids) {
		t.Fatalf("%d changes, not %d", x.Len(), len(ids))
	}
	for _, a := range ids {
		var want []queue.Conflict
		for _, b := range ids {
			kind, names := n.conflict(a, b, closures)
			if x.Conflict(a, b) != (kind != "") {
				t.Fatalf("conflict of %s and %s: want %q\n%v", a, b, kind, n.changes)
			}
			if kind != "" {
				want = append(want, queue.Conflict{With: b, Kind: kind, Witnesses: names})
			}
		}
		if d := cmp.Diff(want, x.Conflicts(a)); d != "" {
			t.Fatalf("conflicts of %s: %s\n%v", a, d, n.changes)
		}
		with := slices.Sorted(slices.Values(x.With(a)))
		if !slices.EqualFunc(with, want, func(id queue.ChangeID, k queue.Conflict) bool { return id == k.With }) {
			t.Fatalf("%s conflicts with %v, want %v", a, with, want)
		}
	}
	for _, target := range targets {
		var affecting []queue.ChangeID
		for _, id := range ids {
			if n.changes[id].All || closures[id][target] {
				affecting = append(affecting, id)
			}
		}
		if got := x.Affecting(target); !slices.Equal(got, affecting) {
			t.Fatalf("affecting %s: %v, want %v\n%v", target, got, affecting, n.changes)
		}
	}
}

// indexLimits force each way of storing and searching, and their mixtures.
var indexLimits = []struct{ dense, sets, hubs int }{
	{0, 1000, 1000}, {1000, 1000, 1000}, {1000, 0, 1000}, {1000, 1, 1000}, {3, 2, 1000}, {4, 0, 3}, {2, 1, 1}, {2, 1000, 0},
}

func drawFootprint(t *rapid.T) queue.Footprint {
	if rapid.IntRange(0, 9).Draw(t, "all") == 0 {
		return queue.Footprint{All: true}
	}
	pool := []string{"a", "b", "c", "d", "e", "f", "g", "u", "v", "w", "def:x", "def:y", "dee", "deg", "lisu", "list:./y", "list:./z"}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 0, 7, rapid.ID[string])
	f := queue.Footprint{Write: names.Draw(t, "write"), Read: names.Draw(t, "read")}
	for _, to := range f.Read {
		switch rapid.IntRange(0, 3).Draw(t, "edge") {
		case 0:
			f.Edges = append(f.Edges, queue.AddedEdge{To: to, Up: f.Write})
		case 1:
			f.Edges = append(f.Edges, queue.AddedEdge{To: to, Up: f.Write[len(f.Write)/2:]})
		}
	}
	return f
}

func TestIndexIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(indexLimits).Draw(t, "limits")
		x, want := index.NewWith(l.dense, l.sets, l.hubs), naive{map[queue.ChangeID]queue.Footprint{}, l.hubs}
		ids := []queue.ChangeID{"1", "2", "3", "4", "5", "6"}
		targets := []string{"a", "b", "c", "def:x", "no such"}
		for range rapid.IntRange(1, 20).Draw(t, "moves") {
			id := rapid.SampledFrom(ids).Draw(t, "id")
			switch rapid.IntRange(0, 2).Draw(t, "move") {
			case 0:
				x.Remove(id)
				delete(want.changes, id)
			default:
				f := drawFootprint(t)
				x.Put(id, f)
				want.changes[id] = f
			}
			if rapid.Bool().Draw(t, "ask") {
				want.check(t, x, targets)
			}
		}
		want.check(t, x, targets)
	})
}

// TestManyChanges has more changes than a block has slots, hubs that lead to
// hubs, and changes of all sizes that come, go and are replaced.
func TestManyChanges(t *testing.T) {
	for _, l := range append(indexLimits, struct{ dense, sets, hubs int }{20, 1, 25}) {
		t.Run(fmt.Sprint(l), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(l.dense), uint64(l.sets+l.hubs)))
			x, want := index.NewWith(l.dense, l.sets, l.hubs), naive{map[queue.ChangeID]queue.Footprint{}, l.hubs}
			some := func(of, n int) []string {
				set := map[string]bool{}
				from := r.IntN(of)
				for range n {
					set[fmt.Sprintf("t%03d", (from+r.IntN(1+2*n))%of)] = true
				}
				return slices.Sorted(maps.Keys(set))
			}
			for move := range 400 {
				id := queue.ChangeID(fmt.Sprintf("%02d", r.IntN(90)))
				if move%50 == 49 {
					want.check(t, x, some(400, 3))
				}
				if r.IntN(4) == 0 {
					x.Remove(id)
					delete(want.changes, id)
					continue
				}
				f := queue.Footprint{Write: some(400, 1+r.IntN(1+r.IntN(1+r.IntN(60))))}
				if r.IntN(3) == 0 {
					for range 1 + r.IntN(3) {
						to := some(400, 1)[0]
						f.Read = append(f.Read, to)
						f.Edges = append(f.Edges, queue.AddedEdge{To: to, Up: f.Write[r.IntN(len(f.Write)):]})
					}
				}
				x.Put(id, f)
				want.changes[id] = f
			}
		})
	}
}

// TestOrderOfPutsDoesNotMatter compares whole answers, witnesses included.
func TestOrderOfPutsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := []queue.ChangeID{"1", "2", "3", "4", "5"}
		prints := map[queue.ChangeID]queue.Footprint{}
		for _, id := range ids {
			prints[id] = drawFootprint(t)
		}
		l := rapid.SampledFrom(indexLimits).Draw(t, "limits")
		x, y := index.NewWith(l.dense, l.sets, l.hubs), index.NewWith(1000, 1000, l.hubs)
		for _, id := range ids {
			x.Put(id, prints[id])
		}
		for _, id := range rapid.Permutation(ids).Draw(t, "order") {
			y.Put(id, drawFootprint(t))
			y.Put("gone", drawFootprint(t))
			y.Put(id, prints[id])
			y.Remove("gone")
		}
		for _, id := range ids {
			if d := cmp.Diff(x.Conflicts(id), y.Conflicts(id)); d != "" {
				t.Fatalf("conflicts of %s: %s\n%v", id, d, prints)
			}
		}
	})
}

// TestTooManyHubs is what is said of a third change's edges beyond the limit:
// nothing, until there are fewer again.
func TestTooManyHubs(t *testing.T) {
	x := index.New()
	x.Put("b", writes("U"))
	x.Put("c", writes("T"))
	x.Put("a", adds("T", "U"))
	large := queue.Footprint{Write: []string{"X"}, Read: []string{"Y"}}
	for i := range index.MaxHubs {
		large.Edges = append(large.Edges, queue.AddedEdge{To: "Y", Up: []string{fmt.Sprintf("x%04d", i)}})
	}
	large.Edges = large.Edges[:index.MaxHubs-1]
	x.Put("many", large)
	if !x.Conflict("b", "c") {
		t.Error("the edge of a does not count at the limit")
	}
	x.Put("one more", adds("V", "W"))
	if x.Conflict("b", "c") || len(x.Affecting("T")) != 2 {
		t.Error("the edge of a counts between b and c beyond the limit")
	}
	if !x.Conflict("a", "b") || !x.Conflict("a", "c") {
		t.Error("the edge of a does not count for a")
	}
	x.Remove("one more")
	if !x.Conflict("b", "c") {
		t.Error("the edge of a does not count when the others have gone")
	}
}
