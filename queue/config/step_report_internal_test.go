package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A report is a row: what it demands of a step is refused in its words.
func TestAddAReport(t *testing.T) {
	row := ReportRow{Name: "ticks", Noun: "crate", Of: "crates of Cargo", Analyzers: []string{AnalyzerCargo}}
	for _, test := range []struct{ analyzer, step, want string }{
		{"cargo", `run: "t {targets}"`, ""},
		{"cargo", `run: t, scope: repository`, "steps[0].report ticks needs scope: targets, found scope: repository"},
		{"cargo", `run: "t {targets}", dir: other`, "its crates are named from there: delete dir"},
		{"go", `run: "t {targets}"`, "steps[0].report ticks names crates of Cargo: set analysis.analyzer to cargo, or use report: exit-code"},
	} {
		text := "version: 1\nanalysis: {analyzer: " + test.analyzer + "}\nsteps:\n  - {name: unit, report: exit-code, " + test.step + "}\n"
		d, c := &document{findings: newFindings("f", text), refused: map[string]bool{}}, &Config{}
		d.root = parseYAML(d.findings, text)
		d.decode(c, nil)
		checkReport(d, "steps[0]", c.Steps[0], c.Analysis, row)
		got := ""
		if err := d.result(); err != nil {
			got = err.Error()
		}
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s under %s: %q, want %q", test.step, test.analyzer, got, test.want)
		}
	}
}

// The words of the file are those of the table: one that is missing could not be chosen.
func TestEachReportIsAWordOfTheFile(t *testing.T) {
	f, _ := reflect.TypeFor[Step]().FieldByName("Report")
	var words, rows []string
	for part := range strings.SplitSeq(f.Tag.Get("jsonschema"), ",") {
		if word, ok := strings.CutPrefix(part, "enum="); ok {
			words = append(words, word)
		}
	}
	for _, row := range Reports() {
		rows = append(rows, string(row.Name))
	}
	if !slices.Equal(words, rows) {
		t.Errorf("the file may say %v, the table has %v", words, rows)
	}
}
