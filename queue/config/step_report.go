package config

import (
	"fmt"
	"slices"
	"strings"
)

// ReportRow is one way to read a step's results, and what it asks of the step. Package
// workers/report reads them.
type ReportRow struct {
	Name Report
	// Noun is the word for one of the targets that it names, as in "no package has
	// passed", and Of the words for all of them, as in "Go packages"; "": it names none,
	// and the exit status stands for all. Analyzers are the analyzers of these targets;
	// nil: any.
	Noun, Of  string
	Analyzers []string
	// Files says whether the report is in files; Places, whether the name of a file can
	// tell the target.
	Files  InFiles
	Places bool
	// Reports says whether a simple command, in words, has a report that is whole: a
	// target that it does not name has not run.
	Reports func(words []string) bool
	// Ending is the end of a command that reports, and Example the lines of a step with
	// such a command; for people.
	Ending, Example string
}

// InFiles says where a report is.
type InFiles int

// A report is in one of these places.
const (
	InOutput    InFiles = iota // on standard output alone
	InAnyPlace                 // on standard output, or in files
	InFilesOnly                // in files alone
)

// Reports returns the ways to read a step's results.
func Reports() []ReportRow {
	return []ReportRow{
		{Name: ReportExitCode},
		{Name: ReportGoTestJSON, Noun: "package", Of: "Go packages", Analyzers: []string{AnalyzerGo}, Reports: isGoTestJSON,
			Ending: "go test -json", Example: "run: go vet {targets} && go test -json {targets}"},
		{Name: ReportJUnit, Noun: "target", Of: "targets", Files: InFilesOnly, Places: true, Reports: isJUnit,
			Ending: "a test runner that writes all suites, such as pytest --junitxml", Example: "run: gotestsum --junitfile junit.xml -- {targets}\nreport_files: [junit.xml]"},
		{Name: ReportBazelBEP, Noun: "label", Of: "labels of Bazel", Analyzers: []string{AnalyzerBazel}, Files: InFilesOnly, Reports: isBazelBEP,
			Ending: "bazel test --build_event_json_file=bep.json", Example: "run: bazel test --keep_going --test_output=errors --build_event_json_file=bep.json {targets} || [ $? = 4 ]\nreport_files: [bep.json]"},
		{Name: ReportCargoJSON, Noun: "package", Of: "packages of Cargo", Analyzers: []string{AnalyzerCargo}, Reports: isCargoJSON,
			Ending: "cargo test --message-format json", Example: cargoExample},
		{Name: ReportJestJSON, Noun: "package", Of: "packages of Node", Analyzers: []string{AnalyzerNode}, Files: InFilesOnly, Places: true, Reports: isJestJSON,
			Ending: "npx jest --json --outputFile=jest.json", Example: "run: npm ci && npx jest --json --outputFile=jest.json {targets}\nreport_files: [jest.json]"},
		{Name: ReportTAP, Noun: "target", Of: "targets", Files: InAnyPlace, Places: true, Reports: isTAP,
			Ending: "a runner that prints TAP, such as node --test --test-reporter=tap", Example: "run: ./tap.sh {targets}"},
		{Name: ReportTargetsJSON, Noun: "target", Of: "targets", Files: InAnyPlace, Reports: func(words []string) bool { return len(words) > 0 },
			Ending: "one simple command that reports", Example: "run: ./test.sh {targets}"},
	}
}

const cargoExample = `run: |
  failed=0
  for t in {targets}; do
    cargo test --locked --message-format json -p "$t" || failed=1
  done
  exit $failed`

// row returns the row of a report; for an unknown report, a row like that of exit codes.
func (r Report) row() ReportRow {
	for _, row := range Reports() {
		if row.Name == r {
			return row
		}
	}
	return ReportRow{Name: r}
}

// NamesTargets reports whether results are read for each target: a failure of several
// changes' targets can then be told apart.
func (r ReportRow) NamesTargets() bool { return r.Of != "" }

// NamesTargets reports whether the step's report names targets.
func (s Step) NamesTargets() bool { return s.Report.row().NamesTargets() }

// Unread returns, for people, the word for the targets that no failed run of the step
// passes, though its report names them, and what to do about it. The cause is that
// Reporter cannot split the step's command. "": there is no such cause.
func (s Step) Unread() (what, instead string) {
	row := s.Report.row()
	if _, _, ok := s.Reporter(); ok || !row.NamesTargets() {
		return "", ""
	}
	run, _, _ := strings.Cut(row.Example, "\n")
	if row.Name == ReportCargoJSON {
		return row.Noun, "end the command with " + row.Ending + ", after &&, or write the loop of the documentation's table of reports"
	}
	return row.Noun, "end the command with " + row.Ending + ", after && (" + strings.TrimPrefix(run, "run: ") + ")"
}

// checkReport refuses a report that cannot name the targets of its step.
func checkReport(d *document, path string, s Step, a Analysis, row ReportRow) {
	checkReportFiles(d, path, s, row)
	if !row.NamesTargets() {
		return
	}
	p, _ := a.part(s)
	known := d.read("analysis")
	of := a.of(s)
	placed := row.Places && len(s.ReportFiles) > 0 && !slices.ContainsFunc(s.ReportFiles, func(g string) bool { return !strings.Contains(g, TargetPlaceholder) })
	switch {
	case s.Scope == ScopeRepository:
		d.report(path+".report", "%s.report %s needs scope: targets, found scope: repository", path, row.Name)
	case !known:
	case row.Analyzers == nil && !a.HasTargets():
		d.report(path+".report", "%s.report %s names %s, and without an analyzer the tree is one target: set analysis.analyzer, or use report: exit-code", path, row.Name, row.Of)
	case row.Analyzers != nil && !slices.Contains(row.Analyzers, of) && !placed:
		names := strings.Join(row.Analyzers, " or ")
		instead := "set analysis.analyzer to " + names
		if len(a.Analyzers) > 0 {
			instead = "let the step verify the targets of an analyzer " + names
		}
		d.report(path+".report", "%s.report %s names %s: %s, or use report: exit-code", path, row.Name, row.Of, instead)
	}
	if dir := s.Dir; dir != "" && dir != p.Under && (dir != "." || p.Under != "") && known {
		d.report(path+".dir", "%s.dir is not the folder that the step's analyzer is under, and its %ss are named from there: "+
			"delete dir, or use report: exit-code", path, row.Noun)
	}
}

// checkReportFiles refuses files for a report that is not in files, and a report in files
// without their names.
func checkReportFiles(d *document, path string, s Step, row ReportRow) {
	at := path + ".report_files"
	switch {
	case d.refused[at]:
		return
	case row.Files == InFilesOnly && len(s.ReportFiles) == 0:
		_, files, _ := strings.Cut(row.Example, "report_files: ")
		d.report(path+".report", "%s.report %s is read from files, and report_files does not say which: add report_files: %s, with the name that the command writes", path, row.Name, files)
	case !row.NamesTargets() && len(s.ReportFiles) > 0:
		d.report(at, "%s are read by a report, and the step's is %s: say report: junit, bazel-bep or jest-json, or delete report_files", at, ReportExitCode)
	case row.Files == InOutput && len(s.ReportFiles) > 0:
		d.report(at, "%s: %s is read from standard output: delete report_files", at, row.Name)
	}
	d.globs(at, s.ReportFiles)
	for i, g := range s.ReportFiles {
		if sub := fmt.Sprintf("%s[%d]", at, i); strings.Contains(g, TargetPlaceholder) && row.NamesTargets() && !row.Places && !d.refused[sub] {
			d.report(sub, "%s names %s, but %s itself names each %s: write the file's name without it", sub, TargetPlaceholder, row.Name, row.Noun)
		}
	}
}
