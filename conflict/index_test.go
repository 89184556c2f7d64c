package conflict_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

func writes(names ...string) queue.Footprint { return queue.Footprint{Write: names} }

// adds is the footprint of a change whose target `from` starts to depend on `to`.
func adds(from, to string) queue.Footprint {
	return queue.Footprint{Write: []string{from}, Read: []string{to}, Edges: []queue.AddedEdge{{To: to, Up: []string{from}}}}
}

// a adds an edge T→U, b touches U, c touches T. What b and c do together to T
// is in no build unless the queue knows that they conflict.
func TestEdgeOfAThirdChange(t *testing.T) {
	x := conflict.NewIndex()
	x.Put("b", writes("U"))
	x.Put("c", writes("T"))
	if x.Conflict("b", "c") {
		t.Fatal("b and c conflict without a")
	}
	x.Put("a", adds("T", "U"))
	want := []queue.Conflict{
		{With: "a", Kind: queue.ConflictReadWrite, Witnesses: []string{"U"}},
		{With: "c", Kind: queue.ConflictTarget, Witnesses: []string{"T"}},
	}
	if d := cmp.Diff(want, x.Conflicts("b")); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff([]queue.ChangeID{"a", "b", "c"}, x.Affecting("T")); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff([]queue.ChangeID{"b"}, x.Affecting("U")); d != "" {
		t.Fatal(d)
	}
	x.Remove("a")
	if x.Conflict("b", "c") || x.Conflicts("b") != nil {
		t.Fatal("b and c conflict after a has gone")
	}
}

func TestKindsAndWitnesses(t *testing.T) {
	x := conflict.NewIndex()
	x.Put("me", queue.Footprint{Write: []string{"def:x", "list:./d", "t1", "t2", "t3", "t4", "t5", "t6"}, Read: []string{"list:./e"}})
	x.Put("all", queue.Footprint{All: true, Write: []string{"def:Makefile"}})
	x.Put("unknown", queue.Footprint{All: true, Unknown: "no go.mod"})
	x.Put("nothing", queue.Footprint{})
	x.Put("six", writes("t6", "t5", "t4", "t3", "t2", "t1", "def:x"))
	x.Put("reader", queue.Footprint{Read: []string{"t2", "def:x"}})
	x.Put("definition", writes("def:x"))
	x.Put("lists too", writes("list:./d"))
	x.Put("read by me", writes("list:./e"))
	x.Put("reads my listing", queue.Footprint{Read: []string{"list:./d"}})
	x.Put("other", writes("u"))
	want := []queue.Conflict{
		{With: "all", Kind: queue.ConflictGlobal, Witnesses: []string{"def:Makefile"}},
		{With: "definition", Kind: queue.ConflictDefinition, Witnesses: []string{"def:x"}},
		{With: "read by me", Kind: queue.ConflictReadWrite, Witnesses: []string{"list:./e"}},
		{With: "reader", Kind: queue.ConflictReadWrite, Witnesses: []string{"t2"}},
		{With: "reads my listing", Kind: queue.ConflictReadWrite, Witnesses: []string{"list:./d"}},
		{With: "six", Kind: queue.ConflictTarget, Witnesses: []string{"t1", "t2", "t3", "t4", "t5"}},
		{With: "unknown", Kind: queue.ConflictUnknown},
	}
	if d := cmp.Diff(want, x.Conflicts("me")); d != "" {
		t.Error(d)
	}
	if got := x.Conflicts("all"); len(got) != x.Len()-2 {
		t.Errorf("all conflicts with %d of %d", len(got), x.Len())
	}
	if got := x.Conflicts("nothing"); got != nil {
		t.Errorf("nothing conflicts with %v", got)
	}
	if got := x.Conflicts("absent"); got != nil {
		t.Errorf("a change that is not there conflicts with %v", got)
	}
	if x.Conflict("me", "me") || x.Conflict("me", "absent") {
		t.Error("a conflict with oneself or with nobody")
	}
	if d := cmp.Diff([]queue.ChangeID{"all", "unknown"}, x.Affecting("nobody writes this")); d != "" {
		t.Error(d)
	}
}

func TestFiveWitnessesAreEnough(t *testing.T) {
	x := conflict.NewIndex()
	names := []string{"1", "2", "3", "4", "5", "6", "7"}
	x.Put("a", writes(names...))
	x.Put("b", writes(names...))
	want := []queue.Conflict{{With: "b", Kind: queue.ConflictTarget, Witnesses: names[:5]}}
	if d := cmp.Diff(want, x.Conflicts("a")); d != "" {
		t.Error(d)
	}
}

// naive is the definition of Index, computed anew for each question.
type naive map[queue.ChangeID]queue.Footprint

func (n naive) closure(id queue.ChangeID) map[string]bool {
	set := map[string]bool{}
	for _, w := range n[id].Write {
		set[w] = true
	}
	for size := -1; size != len(set); {
		size = len(set)
		for _, f := range n {
			for _, e := range f.Edges {
				for _, up := range e.Up {
					if set[e.To] {
						set[up] = true
					}
				}
			}
		}
	}
	return set
}

func (n naive) conflict(a, b queue.ChangeID) bool {
	f, g := n[a], n[b]
	empty := func(f queue.Footprint) bool { return !f.All && len(f.Write)+len(f.Read) == 0 }
	switch {
	case a == b || empty(f) || empty(g):
		return false
	case f.All || g.All:
		return true
	}
	ca, cb := n.closure(a), n.closure(b)
	for w := range ca {
		if cb[w] && !strings.HasPrefix(w, conflict.ListingPrefix) {
			return true
		}
	}
	return slices.ContainsFunc(f.Read, func(r string) bool { return cb[r] }) ||
		slices.ContainsFunc(g.Read, func(r string) bool { return ca[r] })
}

func drawFootprint(t *rapid.T) queue.Footprint {
	if rapid.IntRange(0, 9).Draw(t, "all") == 0 {
		return queue.Footprint{All: true}
	}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "def:x", "list:./y"}), 0, 3, rapid.ID[string])
	f := queue.Footprint{Write: names.Draw(t, "write"), Read: names.Draw(t, "read")}
	for _, to := range f.Read {
		if rapid.Bool().Draw(t, "edge") {
			f.Edges = append(f.Edges, queue.AddedEdge{To: to, Up: f.Write})
		}
	}
	return f
}

func TestIndexIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, want := conflict.NewIndex(), naive{}
		ids := []queue.ChangeID{"1", "2", "3", "4", "5", "6"}
		for range rapid.IntRange(1, 20).Draw(t, "moves") {
			id := rapid.SampledFrom(ids).Draw(t, "id")
			switch rapid.IntRange(0, 2).Draw(t, "move") {
			case 0:
				x.Remove(id)
				delete(want, id)
			default:
				f := drawFootprint(t)
				x.Put(id, f)
				want[id] = f
			}
			if rapid.Bool().Draw(t, "ask") {
				check(t, x, want, ids)
			}
		}
		check(t, x, want, ids)
	})
}

func check(t *rapid.T, x *conflict.Index, want naive, ids []queue.ChangeID) {
	for _, a := range ids {
		var with []queue.ChangeID
		for _, b := range ids {
			if x.Conflict(a, b) != want.conflict(a, b) {
				t.Fatalf("conflict of %s and %s: %v\n%v", a, b, !want.conflict(a, b), want)
			}
			if want.conflict(a, b) {
				with = append(with, b)
			}
		}
		var got []queue.ChangeID
		for _, c := range x.Conflicts(a) {
			got = append(got, c.With)
			if !slices.IsSorted(c.Witnesses) || len(c.Witnesses) > 5 || len(c.Witnesses) == 0 && c.Kind != queue.ConflictGlobal {
				t.Fatalf("witnesses %v of %s", c.Witnesses, c.Kind)
			}
		}
		if !slices.Equal(got, with) {
			t.Fatalf("conflicts of %s: %v, want %v\n%v", a, got, with, want)
		}
	}
	for _, target := range []string{"a", "b", "c"} {
		var affecting []queue.ChangeID
		for _, id := range slices.Sorted(maps.Keys(want)) {
			if want[id].All || want.closure(id)[target] {
				affecting = append(affecting, id)
			}
		}
		if got := x.Affecting(target); !slices.Equal(got, affecting) {
			t.Fatalf("affecting %s: %v, want %v", target, got, affecting)
		}
	}
}

// shapes are what the queue meets: how many names each of 1,000 changes writes
// and where they meet.
func shapes() map[string]func(i int) queue.Footprint {
	names := func(area, n int) []string {
		list := make([]string, n)
		for k := range list {
			list[k] = fmt.Sprintf("area%03d/target%05d", area, k)
		}
		return list
	}
	mutual, large := names(0, 200), names(0, 5000)
	return map[string]func(i int) queue.Footprint{
		"50 areas":             func(i int) queue.Footprint { return queue.Footprint{Write: names(i%50, 20)} },
		"all mutual":           func(int) queue.Footprint { return queue.Footprint{Write: mutual} },
		"all mutual and large": func(int) queue.Footprint { return queue.Footprint{Write: large} },
		"all global":           func(int) queue.Footprint { return queue.Footprint{All: true} },
		"40 percent add edges": func(i int) queue.Footprint {
			f := queue.Footprint{Write: names(i%50, 20)}
			if i%5 < 2 {
				f.Read = names(i*7%50, 2)
				for _, to := range f.Read {
					f.Edges = append(f.Edges, queue.AddedEdge{To: to, Up: f.Write})
				}
			}
			return f
		},
	}
}

func BenchmarkIndex(b *testing.B) {
	for name, shape := range shapes() {
		b.Run(name, func(b *testing.B) {
			const pending = 1000
			ids := make([]queue.ChangeID, pending)
			prints := make([]queue.Footprint, pending)
			x := conflict.NewIndex()
			for i := range ids {
				ids[i] = queue.NewChangeID(i, "h", "c")
				prints[i] = shape(i)
				x.Put(ids[i], prints[i])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 1) % pending {
				x.Remove(ids[i])
				x.Put(ids[i], prints[i])
				x.Conflicts(ids[i])
			}
		})
	}
}
