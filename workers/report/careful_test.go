package report_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/report"
)

// careful are reports that must not pass what they do not prove.
var careful = []struct {
	name   string
	step   config.Step
	code   int
	output string            // of the step
	files  map[string]string // that it has written
	passed string            // of a, b, and c
	failed string
}{
	{"targets-json", config.Step{Report: config.ReportTargetsJSON, Run: "./t"}, 1,
		"hello\nsubmitqueue: {\"target\":\"a\",\"result\":\"passed\",\"seconds\":2}\nsubmitqueue: {\"target\":\"b\",\"result\":\"failed\",\"output\":\"why\"}\nsubmitqueue: {\"target\":\"c\",\"result\":\"skipped\"}", nil, "a", "b"},
	{"failed sticks", config.Step{Report: config.ReportTargetsJSON, Run: "./t"}, 0,
		"submitqueue: {\"target\":\"a\",\"result\":\"failed\"}\nsubmitqueue: {\"target\":\"a\",\"result\":\"passed\"}", nil, "", "a"},
	{"a line that makes no sense", config.Step{Report: config.ReportTargetsJSON, Run: "./t"}, 0,
		"submitqueue: {\"target\":\"a\",\"result\":\"passed\"}\nsubmitqueue: {\"target\":\"b\",\"result\":\"fail", nil, "", ""},
	{"a result of another word", config.Step{Report: config.ReportTargetsJSON, Run: "./t", ReportFiles: []string{"r"}}, 0,
		"", map[string]string{"r": `{"target":"a","result":"ok"}`}, "", ""},
	{"more after the report", config.Step{Report: config.ReportTargetsJSON, Run: "./t; ./lint"}, 1,
		"submitqueue: {\"target\":\"a\",\"result\":\"passed\"}\nsubmitqueue: {\"target\":\"b\",\"result\":\"failed\"}", nil, "", "b"},

	{"junit, a suite of nobody fails", config.Step{Report: config.ReportJUnit, Run: "pytest --junitxml=r", ReportFiles: []string{"r"}}, 1,
		"", map[string]string{"r": `<testsuites><testsuite name="a"><testcase name="x"/></testsuite><testsuite name="b"><testcase name="x"><failure/></testcase></testsuite><testsuite name="?"><testcase name="x"><error/></testcase></testsuite></testsuites>`}, "", "b"},
	{"junit, a suite says more than its cases", config.Step{Report: config.ReportJUnit, Run: "pytest --junitxml=r", ReportFiles: []string{"r"}}, 1,
		"", map[string]string{"r": `<testsuites><testsuite name="a" errors="1"><testcase name="x"/></testsuite><testsuite name="b"><testcase name="x"/></testsuite></testsuites>`}, "b", "a"},
	{"junit, cut", config.Step{Report: config.ReportJUnit, Run: "pytest --junitxml=r", ReportFiles: []string{"r"}}, 0,
		"", map[string]string{"r": `<testsuites><testsuite name="a"><testcase name="x"/></testsuite>`}, "", ""},
	{"junit, by place", config.Step{Report: config.ReportJUnit, Run: "pytest --junitxml=r", ReportFiles: []string{"{target}/out/*.xml"}}, 1,
		"", map[string]string{"a/out/1.xml": `<testsuite name="x"><testcase name="x"/></testsuite>`, "b/out/1.xml": `<testsuite name="a"><testcase name="x"><failure message="no"/></testcase></testsuite>`, "z/out/1.xml": `<testsuite name="c"><testcase name="x"/></testsuite>`}, "a", "b"},
	{"junit, nested and bare", config.Step{Report: config.ReportJUnit, Run: "pytest --junitxml=r", ReportFiles: []string{"r"}}, 0,
		"", map[string]string{"r": `<testsuite name="a"><testsuite><testsuite name=""><testcase name="x"/></testsuite></testsuite></testsuite>`}, "a", ""},
	{"junit, an entity that grows", config.Step{Report: config.ReportJUnit, Run: "pytest --junitxml=r", ReportFiles: []string{"r"}}, 0,
		"", map[string]string{"r": `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite name="a"><testcase name="x"><system-out>&b;</system-out></testcase></testsuite>`}, "", ""},
	{"junit, deep", config.Step{Report: config.ReportJUnit, Run: "pytest --junitxml=r", ReportFiles: []string{"r"}}, 0,
		"", map[string]string{"r": `<testsuite name="a"><testcase name="x"/></testsuite>` + strings.Repeat("<testsuite>", 100)}, "", ""},
	{"junit, a runner that may have left out some", config.Step{Report: config.ReportJUnit, Run: "npx jest --reporters=jest-junit", ReportFiles: []string{"r"}}, 1,
		"", map[string]string{"r": `<testsuites><testsuite name="a"><testcase name="x"/></testsuite><testsuite name="b"><testcase name="x"><failure/></testcase></testsuite></testsuites>`}, "", "b"},

	{"jest, cut short", config.Step{Report: config.ReportJestJSON, Run: "npx jest --json --outputFile=r", ReportFiles: []string{"r"}}, 1,
		"", map[string]string{"r": `{"numTotalTestSuites":3,"numRuntimeErrorTestSuites":0,"testResults":[{"name":"p/a/x.js","status":"passed"},{"name":"p/b/x.js","status":"failed"}]}`}, "", "b"},
	{"jest, whole", config.Step{Report: config.ReportJestJSON, Run: "npx jest --json --outputFile=r", ReportFiles: []string{"r"}}, 1,
		"", map[string]string{"r": `{"numTotalTestSuites":2,"numRuntimeErrorTestSuites":0,"testResults":[{"name":"p/a/x.js","status":"passed"},{"name":"p/b/x.js","status":"failed"}]}`}, "a", "b"},
	{"jest, interrupted", config.Step{Report: config.ReportJestJSON, Run: "npx jest --json --outputFile=r", ReportFiles: []string{"r"}}, 0,
		"", map[string]string{"r": `{"wasInterrupted":true,"testResults":[{"name":"p/a/x.js","status":"passed"}]}`}, "", ""},
	{"jest, a file elsewhere fails", config.Step{Report: config.ReportJestJSON, Run: "npx jest --json --outputFile=r", ReportFiles: []string{"r"}}, 0,
		"", map[string]string{"r": `{"testResults":[{"name":"p/a/x.js","status":"passed"},{"name":"../x.js","status":"failed"}]}`}, "", ""},
	{"jest, a package without tests", config.Step{Report: config.ReportJestJSON, Run: "for t in {targets}; do npx jest; done", ReportFiles: []string{"p/*/r"}}, 0,
		"", map[string]string{"p/a/r": `{"success":true,"testResults":[]}`, "p/b/r": `{"success":false,"testResults":[]}`}, "a", ""},

	{"tap, a plan that is not kept", config.Step{Report: config.ReportTAP, Run: "node --test --test-reporter=tap"}, 0,
		"TAP version 13\nok 1 - a\n1..2", nil, "", ""},
	{"tap, no plan", config.Step{Report: config.ReportTAP, Run: "node --test --test-reporter=tap"}, 0, "TAP version 13\nok 1 - a", nil, "", ""},
	{"tap, bails out", config.Step{Report: config.ReportTAP, Run: "node --test --test-reporter=tap"}, 0, "1..1\nok 1 - a\nBail out! no disk", nil, "", ""},
	{"tap 14", config.Step{Report: config.ReportTAP, Run: "node --test --test-reporter=tap"}, 1,
		"TAP version 14\n1..3\n# Subtest: a\n    not ok 1 - inner # TODO\n    1..1\nok 1 - a\nnot ok 2 - b\n  ---\n  message: why\n  ...\nok 3 - c # SKIP later", nil, "a c", "b"},

	{"bazel, cut", config.Step{Report: config.ReportBazelBEP, Run: "bazel test --build_event_json_file=r", ReportFiles: []string{"r"}}, 0,
		"", map[string]string{"r": `{"id":{"started":{}},"started":{"command":"test"}}` + "\n" + `{"id":{"targetCompleted":{"label":"a"}},"completed":{"success":true}}`}, "", ""},
	{"bazel, a test that was built and not run", config.Step{Report: config.ReportBazelBEP, Run: "bazel test --build_event_json_file=r", ReportFiles: []string{"r"}}, 0,
		"", map[string]string{"r": `{"id":{"started":{}},"started":{"command":"test"}}` + "\n" + `{"id":{"targetCompleted":{"label":"a"}},"children":[{"testSummary":{"label":"a"}}],"completed":{"success":true}}` + "\n" + `{"id":{},"lastMessage":true}`}, "", ""},
	{"bazel, stopped and not analyzed", config.Step{Report: config.ReportBazelBEP, Run: "bazel test --build_event_json_file=r", ReportFiles: []string{"r"}}, 1,
		"", map[string]string{"r": `{"id":{"started":{}},"started":{"command":"test"}}` + "\n" + `{"id":{"targetCompleted":{"label":"a"}},"aborted":{"reason":"USER_INTERRUPTED"}}` + "\n" + `{"id":{"targetCompleted":{"label":"b"}},"aborted":{"reason":"ANALYSIS_FAILURE"}}` + "\n" + `{"id":{},"lastMessage":true}`}, "", "b"},

	{"cargo, a program that was not run", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --no-run --message-format json"}, 0,
		`{"reason":"compiler-artifact","package_id":"path+file:///s/a#0.1.0","target":{"kind":["lib"],"name":"a","doctest":true},"profile":{"test":true},"executable":"/t/a-1"}` + "\n" + `{"reason":"build-finished","success":true}`, nil, "", ""},
	{"cargo, a package of a registry has the name", config.Step{Report: config.ReportCargoJSON, Run: "cargo test --message-format json"}, 0,
		`{"reason":"compiler-artifact","package_id":"registry+https://x#a@0.1.0","target":{"kind":["lib"],"name":"a"},"profile":{"test":false}}` + "\n" + `{"reason":"build-finished","success":true}`, nil, "", ""},
}

func TestCareful(t *testing.T) {
	files := fstest.MapFS{"p/a/package.json": {Data: []byte(`{"name":"a"}`)}, "p/b/package.json": {Data: []byte(`{"name":"b"}`)}}
	targets := []string{"a", "b", "c"}
	for _, test := range careful {
		t.Run(test.name, func(t *testing.T) {
			test.step.Scope = config.ScopeTargets
			r, err := report.All().For(files, test.step, targets)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(test.output) {
				r.Line(strings.TrimSuffix(line, "\n"), tidy)
			}
			for name, text := range test.files {
				if err := r.File(name, strings.NewReader(text), tidy); err != nil {
					t.Log(name, err)
				}
			}
			v := r.Judge(test.code, targets)
			var failed []string
			for _, f := range v.Failed {
				failed = append(failed, f.Target)
			}
			if got := strings.Join(v.Passed, " "); got != test.passed || strings.Join(failed, " ") != test.failed {
				t.Errorf("passed %q, failed %q; want %q, %q", got, failed, test.passed, test.failed)
			}
		})
	}
}

// Bazel tells a failure of the sources from one of remote execution or of the machine by its exit
// code. The tests that could not be run then look like tests that have failed.
//
// A command may bound Bazel's time itself (timeout 10m bazel test ...). Then Bazel says that it was
// interrupted, and it is the sources that have hung: nothing outside has kept it from its work.
func TestBazelInTrouble(t *testing.T) {
	const began = `{"id":{"started":{}},"started":{"command":"test"}}` + "\n"
	remote := func(code int) string {
		return began + `{"id":{"targetCompleted":{"label":"a"}},"completed":{"failureDetail":{"message":"UNAVAILABLE: io exception","spawn":{"code":"REMOTE_CACHE_FAILED"}}}}
{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"REMOTE_ERROR","code":` + strconv.Itoa(code) + `}},"lastMessage":true}`
	}
	const interrupted = began + `{"id":{"targetCompleted":{"label":"a"}},"aborted":{"reason":"USER_INTERRUPTED"}}
{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"INTERRUPTED","code":8}},"lastMessage":true}`
	for _, test := range []struct {
		events string
		code   int
		want   queue.JobOutcome
	}{
		{remote(1), 1, queue.JobFailed}, {remote(3), 3, queue.JobFailed}, {remote(7), 7, queue.JobFailed},
		{remote(32), 32, queue.JobInfra}, {remote(34), 34, queue.JobInfra}, {remote(36), 36, queue.JobInfra},
		{remote(38), 38, queue.JobInfra}, {remote(39), 39, queue.JobInfra}, {remote(45), 45, queue.JobInfra},
		{interrupted, 8, queue.JobInfra}, {interrupted, 124, queue.JobFailed},
	} {
		r, err := report.All().For(fstest.MapFS{}, config.Step{Report: config.ReportBazelBEP, Run: "timeout 10m bazel test --build_event_json_file=r", ReportFiles: []string{"r"}, Scope: config.ScopeTargets}, []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.File("r", strings.NewReader(test.events), tidy); err != nil {
			t.Fatal(err)
		}
		v := r.Judge(test.code, []string{"a", "b"})
		if v.Outcome != test.want || len(v.Passed) > 0 {
			t.Errorf("%d: %+v", test.code, v)
		}
		if remote := test.events != interrupted; remote && test.want == queue.JobInfra && (len(v.Failed) > 0 || !strings.Contains(v.Trouble, "REMOTE_ERROR")) {
			t.Errorf("%d: %+v", test.code, v)
		}
	}
}

// FuzzReports holds what must be true of any report: only asked targets are named, each
// once, a failure is never a pass, and an exit status other than 0 never passes the set.
func FuzzReports(f *testing.F) {
	steps := []config.Step{
		{Report: config.ReportJUnit, Run: "pytest --junitxml=r"},
		{Report: config.ReportBazelBEP, Run: "bazel test --build_event_json_file=r"},
		{Report: config.ReportJestJSON, Run: "npx jest --json --outputFile=r"},
		{Report: config.ReportTAP, Run: "node --test --test-reporter=tap"},
		{Report: config.ReportTargetsJSON, Run: "./t"},
		{Report: config.ReportCargoJSON, Run: "cargo test --message-format json"},
	}
	for i := range careful {
		for kind, s := range steps {
			if s.Report == careful[i].step.Report {
				f.Add(kind, careful[i].code, careful[i].output, careful[i].files["r"])
			}
		}
	}
	files := fstest.MapFS{"p/a/package.json": {Data: []byte(`{"name":"a"}`)}, "p/b/package.json": {Data: []byte(`{"name":"b"}`)}}
	asked := []string{"a", "b", "//x:c", "./p/a", "tree"}
	f.Fuzz(func(t *testing.T, kind, code int, output, file string) {
		step := steps[(kind%len(steps)+len(steps))%len(steps)]
		step.Scope, step.ReportFiles = config.ScopeTargets, []string{"r"}
		r, err := report.All().For(files, step, asked)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(output) {
			r.Line(strings.TrimSuffix(line, "\n"), tidy)
		}
		_ = r.File("r", strings.NewReader(file), tidy) // it may be anything
		v := r.Judge(code, asked)
		left := map[string]bool{}
		for _, target := range asked {
			left[target] = true
		}
		for _, target := range v.Passed {
			if !left[target] {
				t.Errorf("passed %q twice or not asked", target)
			}
			left[target] = false
		}
		for _, fail := range v.Failed {
			if !left[fail.Target] || len(fail.Tail) > report.TailBytes {
				t.Errorf("failed %q: passed, too, or not asked; tail of %d bytes", fail.Target, len(fail.Tail))
			}
			left[fail.Target] = false
		}
		if code != 0 && v.Outcome != queue.JobFailed && v.Trouble == "" || code != 0 && v.Outcome == queue.JobPassed {
			t.Errorf("exit status %d: %s", code, v.Outcome)
		}
		for target, took := range v.PerTarget {
			if took < 0 {
				t.Errorf("%s took %s", target, took)
			}
		}
	})
}
