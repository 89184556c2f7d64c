package config_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

func TestReporter(t *testing.T) {
	for _, test := range []struct{ run, before, last string }{
		{"go test -json {targets}", "", "go test -json {targets}"},
		{"CGO_ENABLED=0 go test -json -race {targets}\n", "", "CGO_ENABLED=0 go test -json -race {targets}"},
		{"go vet {targets} && go test -json {targets}", "go vet {targets}", "go test -json {targets}"},
		{"go vet {targets} &&\n  go test -json {targets}\n", "go vet {targets}", "go test -json {targets}"},
		{"go vet \\\n {targets} && make 'a b' \"$X\" && go test -json {targets}", "go vet \\\n {targets} && make 'a b' \"$X\"", "go test -json {targets}"},

		{"go test -json {targets} && go vet {targets}", "", ""}, // go vet may not have run
		{"go test {targets} -json && echo done", "", ""},
		{"go test -json {targets}; go vet {targets}", "", ""},
		{"go vet {targets}; go test -json {targets}", "", ""},
		{"set -e\ngo vet {targets}\ngo test -json {targets}", "", ""},
		{"go test -json {targets}\ngo vet {targets}", "", ""},
		{"go test -json {targets} | tee log", "", ""},
		{"go test -json {targets} || go vet {targets}", "", ""},
		{"go test -json {targets} &", "", ""},
		{"(go test -json {targets})", "", ""},
		{"{ go test -json {targets}; }", "", ""},
		{"! go test -json {targets}", "", ""},
		{"if go test -json {targets}; then go vet {targets}; fi", "", ""},
		{"trap 'go vet {targets}' EXIT && go test -json {targets}", "", ""},
		{"go test -json $(go list {targets})", "", ""},
		{"go test -json `go list {targets}`", "", ""},
		{"go test -json \"$(ls)\"", "", ""},
		{"go test -json ${X} {targets}", "", ""},
		{"go test -json {targets} # go vet", "", ""},
		{"go test -json {targets} > log", "", ""},
		{"go test -json 'a", "", ""},
		{"./test.sh {targets}", "", ""},
		{"make test-json", "", ""},
		{"go test {targets}", "", ""},
		{"go test {targets} -args -json", "", ""},
		{"&& go test -json {targets}", "", ""},
		{"go vet &&", "", ""},
		{"", "", ""},

		{"go vet ./... || exit 1\nfailed=0\nfor t in {targets}; do\n  go test -json \"$t\" || failed=1\ndone\nexit $failed\n", "go vet ./... || exit 1",
			"failed=0\nfor t in {targets}; do\ngo test -json \"$t\" || failed=1\ndone\nexit $failed"},
		{"failed=0\nfor t in {targets}; do\n  case $t in\n    ./...) go test -json ./... ;;\n    'a'|b*) go vet x && go test -json x ;;\n  esac || failed=1\ndone\nexit $failed", "",
			"failed=0\nfor t in {targets}; do\ncase $t in\n./...) go test -json ./... ;;\n'a'|b*) go vet x && go test -json x ;;\nesac || failed=1\ndone\nexit $failed"},
		{"failed=0\nfor t in {targets}; do\n  go test -json \"$t\" && go vet \"$t\" || failed=1\ndone\nexit $failed", "", ""},
		{"failed=0\nfor t in {targets}; do\n  go test -json \"$t\" || failed=1\n  go vet \"$t\" || failed=1\ndone\nexit $failed", "", ""},
		{"failed=0\nfor t in {targets}; do\n  go test -json \"$t\" || exit 1\ndone\nexit $failed", "", ""},
		{"failed=0\nfor t in {targets}; do\n  case $t in\n    *) go test -json \"$t\" || true ;;\n  esac || failed=1\ndone\nexit $failed", "", ""},
		{"failed=0\nfor t in {targets}; do\n  case $t in\n    *) go test -json \"$t\" ;;\n  esac || failed=1\n  go vet \"$t\"\ndone\nexit $failed", "", ""},
		{"go vet ./...\nfailed=0\nfor t in {targets}; do\n  go test -json \"$t\" || failed=1\ndone\nexit $failed", "", ""},
		{"failed=0\nfor t in {targets}; do\n  go test -json \"$t\" || failed=1\ndone\ngo vet ./... || failed=1\nexit $failed", "", ""},
	} {
		before, last, ok := (config.Step{Run: test.run, Report: config.ReportGoTestJSON}).Reporter()
		if before != test.before || last != test.last || ok != (test.last != "") {
			t.Errorf("%q: %q, %q, %v", test.run, before, last, ok)
		}
	}
}

// Each report's example is a step that the file may have, whose command is known to report,
// under its analyzer.
func TestEachReportsExample(t *testing.T) {
	for _, row := range config.Reports() {
		if !row.NamesTargets() {
			continue
		}
		analyzer := config.AnalyzerGo
		if row.Analyzers != nil {
			analyzer = row.Analyzers[0]
		}
		text := "version: 1\nanalysis: {analyzer: " + analyzer + "}\nsteps:\n  - name: unit\n    report: " + string(row.Name) + "\n    " + strings.ReplaceAll(row.Example, "\n", "\n    ") + "\n"
		c, err := config.Parse("q.yml", []byte(text))
		if err != nil {
			t.Errorf("%s\n%s", err, text)
			continue
		}
		if what, instead := c.Steps[0].Unread(); what != "" && row.Name != config.ReportTAP { // whose example is a script
			t.Errorf("%s: %s, %s", row.Name, what, instead)
		}
	}
}

// What is wrong with a report is refused where it is written, with what to do.
func TestReportsRefused(t *testing.T) {
	for _, test := range []struct{ analyzer, step, want string }{
		{"go", `run: "t {targets}", report: junit`, ":4:46: steps[0].report junit is read from files, and report_files does not say which: add report_files: [junit.xml], with the name that the command writes"},
		{"go", `run: "t {targets}", report_files: [x.xml]`, "steps[0].report_files are read by a report, and the step's is exit-code: say report: junit, bazel-bep or jest-json, or delete report_files"},
		{"go", `run: "t {targets}", report: go-test-json, report_files: [x]`, "go-test-json is read from standard output: delete report_files"},
		{"go", `run: "t {targets}", report: junit, report_files: [../x]`, `steps[0].report_files[0] is "../x"`},
		{"go", `run: "t {targets}", report: junit, report_files: ["[x"]`, `is not a valid glob`},
		{"go", `run: "t {targets}", report: bazel-bep, report_files: [bep.json]`, "report bazel-bep names labels of Bazel: set analysis.analyzer to bazel, or use report: exit-code"},
		{"bazel", `run: "t {targets}", report: bazel-bep, report_files: ["{target}/bep.json"]`, "report_files[0] names {target}, but bazel-bep itself names each label: write the file's name without it"},
		{"paths, areas: [{name: a, files: [a/**]}]", `run: "t {targets}", report: jest-json, report_files: [jest.json]`, "names packages of Node: set analysis.analyzer to node"},
		{"paths, areas: [{name: a, files: [a/**]}]", `run: "t {targets}", report: jest-json, report_files: ["{target}/jest.json"]`, ""},
		{"none", `run: t, report: tap`, "report tap names targets, and without an analyzer the tree is one target: set analysis.analyzer, or use report: exit-code"},
		{"go", `run: "t {targets}", report: junitt`, `steps[0].report`},
	} {
		_, err := config.Parse("q.yml", []byte("version: 1\nanalysis: {analyzer: "+test.analyzer+"}\nsteps:\n  - {name: unit, "+test.step+"}\n"))
		switch {
		case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s under %s: %v\nwant %s", test.step, test.analyzer, err, test.want)
		}
	}
}

// Which commands have a report that is whole.
func TestReportersByTool(t *testing.T) {
	for run, want := range map[string]bool{
		"junit: gotestsum --junitfile r {targets}":                                                     true,
		"junit: gotestsum {targets}":                                                                   false,
		"junit: npm ci && npx vitest run --reporter=junit":                                             true,
		"junit: npx vitest run --reporter=junit --bail 1":                                              false,
		"junit: npx jest --reporters=jest-junit":                                                       false,
		"junit: python3 -m pytest --junitxml r":                                                        true,
		"junit: pytest --junitxml r -x":                                                                false,
		"junit: mvn test":                                                                              false,
		"junit: cargo nextest run --no-fail-fast --profile ci":                                         true,
		"junit: cargo nextest run --profile ci":                                                        false,
		"bazel-bep: bazel test --build_event_json_file=r {targets}":                                    true,
		"bazel-bep: bazel test --build_event_json_file=r x || [ $? = 4 ]":                              true,
		"bazel-bep: bazel test --build_event_json_file=r x || [ $? = 3 ]":                              false,
		"bazel-bep: bazel test {targets}":                                                              false,
		"cargo-json: cargo +nightly test --message-format=json -p x":                                   true,
		"cargo-json: cargo test -p x":                                                                  false,
		"cargo-json: cargo nextest run --message-format libtest-json-plus":                             false,
		"jest-json: npx jest --json --outputFile=r":                                                    true,
		"jest-json: npx jest --json --outputFile=r --bail":                                             false,
		"jest-json: npm test -- --json":                                                                false,
		"jest-json: pnpm exec vitest run --reporter=json --outputFile r":                               true,
		"tap: node --test --test-reporter tap":                                                         true,
		"targets-json: make && ./report {targets}":                                                     true,
		"targets-json: ./report {targets} | tee log":                                                   false,
		"targets-json: failed=0\nfor t in {targets}; do\n  ./r \"$t\" || failed=1\ndone\nexit $failed": true,
	} {
		name, command, _ := strings.Cut(run, ": ")
		_, _, ok := (config.Step{Run: command, Report: config.Report(name)}).Reporter()
		if ok != want {
			t.Errorf("%s: %v", run, ok)
		}
	}
}
