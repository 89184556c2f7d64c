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

// What init writes for a build system with a report is a command whose passes count beside
// a failure.
func TestStepsReport(t *testing.T) {
	pkg := func(name, test string) string { return `{"name": "` + name + `", "scripts": {"test": "` + test + `"}}` }
	for name, c := range map[string]struct {
		files  map[string]string
		report string
		in     string // report_files
	}{
		"go":    {map[string]string{"go.mod": "module m\n"}, "go-test-json", ""},
		"cargo": {map[string]string{"Cargo.toml": "[workspace]\n", "Cargo.lock": ""}, "cargo-json", ""},
		"bazel": {map[string]string{"MODULE.bazel": ""}, "bazel-bep", "bep.json"},
		"jest": {map[string]string{"package.json": `{"workspaces": ["packages/*"]}`, "package-lock.json": "", "packages/a/package.json": pkg("@x/a", "jest --ci"), "packages/b/package.json": pkg("@x/b", "jest --ci")},
			"jest-json", "packages/*/test-report.json"},
		"vitest": {map[string]string{"web/package.json": `{}`, "web/pnpm-workspace.yaml": "packages: ['libs/*', app]\n", "web/libs/a/package.json": pkg("a", "vitest run"), "web/libs/a/src/a.test.ts": "", "web/app/package.json": pkg("b", "vitest run"), "web/app/b.spec.tsx": ""},
			"jest-json", "*/test-report.json libs/*/test-report.json"},
		"vitest without tests": {map[string]string{"package.json": `{"workspaces": ["packages/*"]}`, "packages/a/package.json": pkg("@x/a", "vitest run"), "packages/b/package.json": pkg("@x/b", "vitest run"), "packages/b/b.test.js": ""}, "", ""},
		"jest and others":      {map[string]string{"package.json": `{"workspaces": ["packages/*"]}`, "packages/a/package.json": pkg("@x/a", "jest"), "packages/b/package.json": pkg("@x/b", "vitest run")}, "", ""},
		"jest and lint":        {map[string]string{"package.json": `{"workspaces": ["packages/*"]}`, "packages/a/package.json": pkg("@x/a", "eslint . && jest")}, "", ""},
		"jest under turbo":     {map[string]string{"package.json": `{"workspaces": ["packages/*"]}`, "turbo.json": "{}", "packages/a/package.json": pkg("@x/a", "jest")}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := Tree{Read: func(f string) string { return c.files[f] }}
			for f := range c.files {
				in.Files = append(in.Files, f)
			}
			slices.Sort(in.Files)
			list := All().Detect(in)
			if len(list) != 1 || list[0].Report != c.report || strings.Join(list[0].Files, " ") != c.in {
				t.Fatalf("%+v", list)
			}
			s := config.Step{Run: list[0].Run, Report: config.Report(list[0].Report)}
			if what, instead := s.Unread(); what != "" {
				t.Errorf("no %s counts beside a failure: %s\n%s", what, instead, s.Run)
			}
		})
	}
}
