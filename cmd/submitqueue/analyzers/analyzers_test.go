package analyzers

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/none"
	"github.com/submitqueue/submitqueue/queue/config"
)

// What the file may name and the table has not would stop a queue; what is in the table
// only, nobody could choose.
func TestTheFileNamesWhatIsInTheTable(t *testing.T) {
	var words, rows []string
	f, _ := reflect.TypeFor[config.Analysis]().FieldByName("Analyzer")
	for part := range strings.SplitSeq(f.Tag.Get("jsonschema"), ",") {
		if word, ok := strings.CutPrefix(part, "enum="); ok {
			words = append(words, word)
		}
	}
	for _, row := range All() {
		rows = append(rows, row.Name)
		s := config.Analysis{Analyzer: row.Name, Command: "list", Areas: []config.Area{{Name: "a", Files: []string{"**"}}}}
		if a, err := All().Of(s); err != nil || (a == nil) != (row.Name == config.AnalyzerNone) {
			t.Errorf("%s makes %v, %v", row.Name, a, err)
		}
		if (row.Find == nil) != (row.Markers == nil) {
			t.Errorf("%s is recognised by init, or by inspect, and not by both", row.Name)
		}
	}
	slices.Sort(words)
	slices.Sort(rows)
	if !slices.Equal(words, rows) {
		t.Errorf("the file may name %v, the table has %v", words, rows)
	}
}

// An analyzer is a row: it is made by its name, with its pool, alone and beside others,
// and found in a repository, where what a workspace builds as a whole hides what is in it.
func TestAddAnAnalyzer(t *testing.T) {
	var with []*checkout.Pool
	table := append(All(), Row{Name: "toy", Whole: true, Markers: []string{"toys"},
		New: func(_ config.Analysis, pool *checkout.Pool) (conflict.Analyzer, error) {
			with = append(with, pool)
			return none.Analyzer{}, nil
		},
		Find: func(t Tree) []Found { return t.workspaces(Found{Run: "play {targets}"}, "toys") }})
	alone := config.Analysis{Analyzer: "toy"}
	beside := config.Analysis{Analyzers: []config.SubAnalysis{{Analyzer: "toy", Name: "t", Under: "box"}, {Analyzer: "go", Name: "g"}}}
	pool := &checkout.Pool{}
	for _, s := range []config.Analysis{alone, beside} {
		if a, err := table.With(pool)(s); err != nil || a == nil || with[len(with)-1] != pool {
			t.Errorf("%+v makes %v, %v", s, a, err)
		}
		if _, err := All().Of(s); err == nil || !strings.Contains(err.Error(), `"toy" is not known`) {
			t.Errorf("%+v without the row: %v", s, err)
		}
	}
	in := Tree{Files: []string{"box/go.mod", "box/toys", "go.mod"}, Read: func(string) string { return "" }}
	var got []string
	for _, f := range table.Detect(in) {
		got = append(got, f.Analyzer+" in "+f.Under)
	}
	if want := []string{"toy in box", "go in "}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
