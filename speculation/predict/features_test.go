package predict_test

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// cased is what Case and PairCase have in common.
type cased interface {
	Vector(dst []float64) []float64
	json.Marshaler
	json.Unmarshaler
}

var tables = map[string]struct {
	features func() []predict.Feature
	unknown  func() cased
}{
	"Case":     {predict.Features, func() cased { return predict.NewCase() }},
	"PairCase": {predict.PairFeatures, func() cased { return predict.NewPairCase() }},
}

func TestFeaturesAreComplete(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for table, f := range tables {
		seen := map[string]bool{}
		for _, x := range f.features() {
			if !name.MatchString(x.Name) || seen[x.Name] || x.Meaning == "" || strings.Contains(x.Meaning, "\n") ||
				!slices.Contains([]string{"analysis", "forge", "git", "queue"}, x.Source) {
				t.Errorf("%s: %+v", table, x)
			}
			seen[x.Name] = true
		}
		f.features()[0].Name = "changed"
		if f.features()[0].Name == "changed" {
			t.Errorf("%s: whoever reads the table can change it", table)
		}
	}
}

// Names are stable and their order is, since stored models and rows hold them: columns
// are only ever appended, and the new one is appended here, too.
func TestFeaturesAreAppendOnly(t *testing.T) {
	for table, want := range map[string]string{
		"Case": "affected new_targets gone_targets everything graph commits files dirs lines_added lines_removed hunks binaries build_files test_files " +
			"behind checks_passed checks_failed checks_pending attempts pushes approvals revert test_plan open_hours " +
			"author_success author_changes author_days author_paths builds_passed builds_failed height " +
			"targets_failed targets_red targets_flaked main_passed queue_success queue_failing estimate",
		"PairCase": "shared_targets shared_share shared_dirs same_author overlap_hours gap_hours co_change",
	} {
		var names []string
		for _, f := range tables[table].features() {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has\n%s\nwant\n%s", table, got, want)
		}
	}
}

// Each name of a case moves the column of that name and no other.
func TestColumnsAreTheirOwn(t *testing.T) {
	for table, f := range tables {
		for i, x := range f.features() {
			c := f.unknown()
			if err := c.UnmarshalJSON(fmt.Appendf(nil, `{%q: 1, "of_another_version": 7}`, x.Name)); err != nil {
				t.Fatal(err)
			}
			for j, v := range c.Vector(nil) {
				if math.IsNaN(v) != (i != j) {
					t.Errorf("%s: with %s known, column %d is %v", table, x.Name, j, v)
				}
			}
			if v := c.Vector(nil)[i]; v != 1 && v != math.Ln2 {
				t.Errorf("%s: 1 of %s is %v", table, x.Name, v)
			}
			if out, err := json.Marshal(c); err != nil || string(out) != fmt.Sprintf(`{%q:1}`, x.Name) {
				t.Errorf("%s: %s, %v", table, out, err)
			}
		}
		if err := f.unknown().UnmarshalJSON([]byte(`{"affected": "many"}`)); err == nil {
			t.Errorf("%s: a word was read as a number", table)
		}
	}
}

// A row has as many columns as there are features, whatever is in a case, and nothing in
// it is infinite; what comes back from JSON is the same row.
func TestVectorIsBounded(t *testing.T) {
	for table, f := range tables {
		t.Run(table, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				known := map[string]float64{}
				for _, x := range f.features() {
					if rapid.Bool().Draw(r, "known") {
						known[x.Name] = rapid.Float64().Draw(r, x.Name)
					}
				}
				c := f.unknown()
				data, err := json.Marshal(known)
				if err != nil {
					r.Fatal(err)
				}
				if err := c.UnmarshalJSON(data); err != nil {
					r.Fatal(err)
				}
				row := c.Vector(make([]float64, rapid.IntRange(0, 99).Draw(r, "room")))
				if len(row) != len(f.features()) {
					r.Fatalf("%d columns, want %d", len(row), len(f.features()))
				}
				for i, v := range row {
					name := f.features()[i].Name
					x, is := known[name]
					if math.IsInf(v, 0) || math.IsNaN(v) && is && x >= 0 || !math.IsNaN(v) && !is {
						r.Fatalf("%s of %v is %v", name, x, v)
					}
				}
				if data, err = c.MarshalJSON(); err != nil {
					r.Fatal(err)
				}
				again := f.unknown()
				if err := again.UnmarshalJSON(data); err != nil {
					r.Fatal(err)
				}
				if a, b := fmt.Sprint(row), fmt.Sprint(again.Vector(nil)); a != b {
					r.Fatalf("%s came back as %s", a, b)
				}
			})
		})
	}
	c := predict.NewCase()
	c.Affected, c.Revert, c.AuthorSuccess = math.Inf(1), math.Inf(-1), 0.5
	for i, v := range c.Vector(nil) {
		if math.IsNaN(v) == (predict.Features()[i].Name == "author_success") {
			t.Errorf("%s is %v", predict.Features()[i].Name, v)
		}
	}
}

func TestVectorAllocatesNothing(t *testing.T) {
	c, dst := predict.NewCase(), make([]float64, 0, 64)
	if n := testing.AllocsPerRun(100, func() { dst = c.Vector(dst) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The package documentation has the tables as they are.
func TestFeaturesAreDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "predict.go", nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	doc := file.Doc.Text()
	for table, f := range tables {
		var want strings.Builder
		for _, x := range f.features() {
			static := "dynamic"
			if x.Static {
				static = "static"
			}
			fmt.Fprintf(&want, "\t%-15s %-8s %-7s %s\n", x.Name, x.Source, static, x.Meaning)
		}
		if !strings.Contains(doc, want.String()) {
			t.Errorf("the documentation of package predict, in predict.go, lacks the table of %s:\n%s", table, regexp.MustCompile(`(?m)^`).ReplaceAllString(want.String(), "//"))
		}
	}
}
