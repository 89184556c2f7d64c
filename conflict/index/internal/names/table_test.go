package names_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict/index/internal/names"
)

// TestTable compares a table with a map, over lists that are held and let go.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table names.Table
		type held struct {
			list []string
			ids  []names.ID
		}
		var lists []held
		for range rapid.IntRange(1, 30).Draw(t, "moves") {
			if len(lists) > 0 && rapid.Bool().Draw(t, "let go") {
				at := rapid.IntRange(0, len(lists)-1).Draw(t, "which")
				table.Release(lists[at].ids)
				lists = slices.Delete(lists, at, at+1)
				table.SweepNow()
			} else {
				list := draw(t)
				lists = append(lists, held{list, table.Add(nil, list)})
			}
			known := map[string]names.ID{}
			for _, h := range lists {
				for i, s := range h.list {
					if id, ok := known[s]; ok && id != h.ids[i] {
						t.Fatalf("%q is %d and %d", s, id, h.ids[i])
					}
					known[s] = h.ids[i]
					if got := table.Text(h.ids[i]); got != s {
						t.Fatalf("%d is %q, not %q", h.ids[i], got, s)
					}
					if int(h.ids[i]) >= table.Len() {
						t.Fatalf("the id %d of %d", h.ids[i], table.Len())
					}
				}
			}
			for i := range 60 {
				s := fmt.Sprint("n", i)
				want, held := known[s]
				if id, ok := table.Find(s); ok != held || ok && id != want {
					t.Fatalf("find %q: %d, %v; want %d, %v", s, id, ok, want, held)
				}
			}
		}
	})
}

func draw(t *rapid.T) []string {
	from, to := rapid.IntRange(0, 60).Draw(t, "from"), rapid.IntRange(0, 60).Draw(t, "to")
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprint("n", i))
	}
	slices.Sort(list)
	return list
}

func TestTextsOfAllSizes(t *testing.T) {
	var table names.Table
	var list []string
	for _, n := range []int{0, 1, 65_534, 65_535, 65_536, 65_537, 200_000, 2, 65_533, 3} {
		list = append(list, strings.Repeat("x", n))
	}
	for i := range 10_000 {
		list = append(list, fmt.Sprintf("name %d", i))
	}
	ids := table.Add(nil, list)
	check := func() {
		t.Helper()
		for i, id := range ids {
			if table.Text(id) != list[i] {
				t.Fatalf("text %d of %d bytes is another", i, len(list[i]))
			}
		}
	}
	check()
	if again := table.Add(nil, list); !slices.Equal(ids, again) {
		t.Fatal("the same names have other ids")
	}
	table.Release(ids)
	table.SweepNow()
	check()
}

// TestSweepUsesIdsAgain lets a table not grow with what has gone.
func TestSweepUsesIdsAgain(t *testing.T) {
	var table names.Table
	for round := range 100 {
		list := make([]string, 5000)
		for i := range list {
			list[i] = fmt.Sprintf("round %d name %d", round, i)
		}
		ids := table.Add(nil, list)
		table.Sweep()
		table.Release(ids)
	}
	if table.Len() > 4*5000 {
		t.Errorf("room for %d names after 100 rounds of 5,000", table.Len())
	}
}

func BenchmarkAdd(b *testing.B) {
	list := make([]string, 200_000)
	for i := range list {
		list[i] = fmt.Sprintf("//area%03d/team%02d/pkg%06d:lib", i/700, i/70%10, i)
	}
	var table names.Table
	table.Add(nil, list)
	ids := make([]names.ID, 0, len(list))
	for b.Loop() {
		table.Release(table.Add(ids, list))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/name")
}
