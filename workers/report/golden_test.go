package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/report"
)

var update = flag.Bool("update", false, "write the golden files")

// repository is what the recorded runs are of.
var repository = fstest.MapFS{
	"go.mod":                         {Data: []byte("module example.com/m\n")},
	"package.json":                   {Data: []byte(`{"name":"root","workspaces":["packages/*"]}`)},
	"packages/good/package.json":     {Data: []byte(`{"name":"@x/good"}`)},
	"packages/bad/package.json":      {Data: []byte(`{"name":"@x/bad"}`)},
	"packages/broken/package.json":   {Data: []byte(`{"name":"@x/broken"}`)},
	"packages/empty/package.json":    {Data: []byte(`{"name":"@x/empty"}`)},
	"packages/untold/package.json":   {Data: []byte(`{"name":"@x/untold"}`)},
	"node_modules/jest/package.json": {Data: []byte(`{"name":"jest"}`)},
}

// recordings are what real tools have written: Go 1.26 with gotestsum 1.13, Cargo 1.95,
// Jest 29.7 with jest-junit, Vitest 1.6, Node 20 and Bazel 4.2.3.
var recordings = []struct {
	file    string
	step    config.Step
	targets string
	code    int
	output  bool // it is what the step has printed
}{
	{"gotestsum.xml", config.Step{Report: config.ReportJUnit, Run: "gotestsum --junitfile r {targets}", ReportFiles: []string{"r"}}, "./good ./bad ./broken ./empty ./untold", 1, false},
	{"vitest.xml", config.Step{Report: config.ReportJUnit, Run: "npx vitest run --reporter=junit", ReportFiles: []string{"r"}}, "@x/good @x/bad @x/broken @x/empty @x/untold", 1, false},
	{"jest-junit.xml", config.Step{Report: config.ReportJUnit, Run: "npx jest --reporters=jest-junit", ReportFiles: []string{"r"}}, "@x/good @x/bad @x/broken @x/empty @x/untold", 1, false},
	{"jest.json", config.Step{Report: config.ReportJestJSON, Run: "npx jest --json --outputFile=r", ReportFiles: []string{"r"}}, "@x/good @x/bad @x/broken @x/empty @x/untold", 1, false},
	{"vitest.json", config.Step{Report: config.ReportJestJSON, Run: "npx vitest run --reporter=json --outputFile=r", ReportFiles: []string{"r"}}, "@x/good @x/bad @x/broken @x/empty @x/untold", 1, false},
	{"bep.jsonl", config.Step{Report: config.ReportBazelBEP, Run: "bazel test -k --build_event_json_file=r {targets} || [ $? = 4 ]", ReportFiles: []string{"r"}}, "//a:good //a:bad //a:flaky //a:gen //a:broken //a:needs //a:missing //a:alias //a:untold", 1, false},
	{"bep-cached.jsonl", config.Step{Report: config.ReportBazelBEP, Run: "bazel test --build_event_json_file=r {targets}", ReportFiles: []string{"r"}}, "//a:good //a:bad //a:flaky", 3, false},
	{"node.tap", config.Step{Report: config.ReportTAP, Run: "node --test --test-reporter=tap"}, "adds fails todo skip fine untold", 1, true},
	{"cargo-good.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json -p good-crate"}, "good-crate", 0, true},
	{"cargo-bad.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json -p bad-crate"}, "bad-crate", 101, true},
	{"cargo-failfast.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json -p bad-crate -p good-crate"}, "bad-crate good-crate", 101, true},
	{"cargo-goes-on.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json -p bad-crate -p good-crate --no-fail-fast"}, "bad-crate good-crate", 101, true},
	{"cargo-broken.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json -p broken-crate -p good-crate"}, "broken-crate good-crate", 101, true},
	{"cargo-below.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json -p user-crate"}, "user-crate", 101, true},
	{"cargo-libtest.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json -p bad-crate -p good-crate --no-fail-fast -- -Z unstable-options --format json"}, "bad-crate good-crate", 101, true},
	{"cargo-crash.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json -p crash-crate -p good-crate --no-fail-fast"}, "crash-crate good-crate", 101, true},
	{"cargo-alone.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json --manifest-path ./crates/bad/Cargo.toml"}, "./crates/bad", 101, true},
	{"nextest.txt", config.Step{Report: config.ReportCargoJSON, Run: "cargo nextest run --no-fail-fast --message-format libtest-json-plus"}, "good-crate bad-crate untold", 100, true},
}

// TestRecordings: what is made of the reports of real tools.
func TestRecordings(t *testing.T) {
	for _, r := range recordings {
		t.Run(r.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", r.file))
			if err != nil {
				t.Fatal(err)
			}
			targets := strings.Fields(r.targets)
			v := judged(t, repository, r.step, targets, data, r.output, r.code)
			got := text(v)
			golden := filepath.Join("testdata", r.file+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || got != string(want) {
				t.Errorf("%v; got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// judged reads a report, and returns the verdict.
func judged(t *testing.T, files fs.FS, step config.Step, targets []string, data []byte, output bool, code int) report.Verdict {
	t.Helper()
	step.Scope = config.ScopeTargets
	r, err := report.All().For(files, step, targets)
	if err != nil {
		t.Fatal(err)
	}
	if first, _, ok := strings.Cut(r.Step().Run, " $(pwd -P)"); ok {
		r.Line(strings.TrimPrefix(first, `echo "`)+" /src", tidy) // the folder that the command ran in
	}
	if output {
		for line := range bytes.Lines(data) {
			for _, said := range r.Line(strings.TrimSuffix(string(line), "\n"), tidy) {
				if !utf8.ValidString(said) {
					t.Errorf("said %q", said)
				}
			}
		}
	} else if err := r.File("r", bytes.NewReader(data), tidy); err != nil {
		t.Logf("report: %v", err)
	}
	return r.Judge(code, targets)
}

func tidy(line string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(line, "\r", ""), "\uFFFD")
}

// text is a verdict for people.
func text(v report.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\npassed %s\nunknown %s\n", v.Outcome, strings.Join(v.Passed, " "), strings.Join(v.Unknown, " "))
	for _, f := range v.Failed {
		fmt.Fprintf(&b, "\nfailed %s\n%s\n", f.Target, f.Tail)
	}
	return b.String()
}
