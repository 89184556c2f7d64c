package index_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
)

func writes(names ...string) queue.Footprint { return queue.Footprint{Write: names} }

// adds is the footprint of a change whose target `from` starts to depend on `to`.
func adds(from, to string) queue.Footprint {
	return queue.Footprint{Write: []string{from}, Read: []string{to}, Edges: []queue.AddedEdge{{To: to, Up: []string{from}}}}
}

// a adds an edge T→U, b touches U, c touches T. The effect of b and c together
// on T is in no build unless the queue knows that they conflict.
func TestEdgeOfAThirdChange(t *testing.T) {
	x := index.New()
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
	x := index.New()
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
	x := index.New()
	names := []string{"1", "2", "3", "4", "5", "6", "7"}
	x.Put("a", writes(names...))
	x.Put("b", writes(names...))
	want := []queue.Conflict{{With: "b", Kind: queue.ConflictTarget, Witnesses: names[:5]}}
	if d := cmp.Diff(want, x.Conflicts("a")); d != "" {
		t.Error(d)
	}
}

// Names come by way of several hubs, none of which has all of them in order: the
// witnesses are the first of all.
func TestWitnessesByWayOfSeveralHubs(t *testing.T) {
	up := []string{"b", "d", "e", "g"}
	for _, l := range indexLimits {
		if l.hubs < 1000 {
			continue // the edges of others do not count there
		}
		x := index.NewWith(l.dense, l.sets, l.hubs)
		x.Put("1", writes("g"))
		x.Put("2", adds("c", "a"))
		x.Put("3", queue.Footprint{Write: []string{"a"}, Read: []string{"a", "g"},
			Edges: []queue.AddedEdge{{To: "a", Up: []string{"a"}}, {To: "g", Up: []string{"a"}}}})
		x.Put("4", queue.Footprint{Write: up, Read: []string{"a", "c"}, Edges: []queue.AddedEdge{{To: "a", Up: up}, {To: "c", Up: up}}})
		want := []queue.Conflict{
			{With: "1", Kind: queue.ConflictTarget, Witnesses: []string{"a", "b", "c", "d", "e"}},
			{With: "3", Kind: queue.ConflictReadWrite, Witnesses: []string{"a"}},
			{With: "4", Kind: queue.ConflictReadWrite, Witnesses: []string{"c"}},
		}
		if d := cmp.Diff(want, x.Conflicts("2")); d != "" {
			t.Errorf("%+v: %s", l, d)
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
			x := index.New()
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
