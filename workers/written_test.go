package workers

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Only what the step has written counts: not what the commit holds, nor what another step
// has left, nor what a link leads to.
func TestReportFilesAreTheStepsOwn(t *testing.T) {
	t.Parallel()
	const passes = `{"target":"a","result":"passed"}`
	write := func(text string) string { return "echo '" + text + "' > out/r.jsonl" }
	for _, test := range []struct {
		name, first, run string
		files            tree
		outcome          queue.JobOutcome
		says             string // in the log
	}{
		{name: "written", run: "mkdir out; " + write(passes), outcome: queue.JobPassed},
		{name: "written over the commit's", files: tree{"out/r.jsonl": passes}, run: write(passes), outcome: queue.JobPassed},
		{name: "the commit's", files: tree{"out/r.jsonl": passes}, run: "true", outcome: queue.JobInfra, says: "is older than the step"},
		{name: "another step's", first: "mkdir out; " + write(passes), run: "true", outcome: queue.JobInfra, says: "is older than the step"},
		{name: "none", run: "true", outcome: queue.JobInfra, says: "there is no file out/*.jsonl"},
		{name: "a link to the commit's", files: tree{"r": passes}, run: "mkdir out; ln -s ../r out/r.jsonl", outcome: queue.JobInfra, says: "it is not a regular file"},
		{name: "a link out of the checkout", run: "mkdir out; echo '" + passes + "' > \"$HOME/r\"; ln -s \"$HOME/r\" out/r.jsonl", outcome: queue.JobInfra, says: "out/r.jsonl: "},
		{name: "a folder that is a link out of it", run: "mkdir \"$HOME/out\"; echo '" + passes + "' > \"$HOME/out/r.jsonl\"; ln -s \"$HOME/out\" out", outcome: queue.JobInfra},
		{name: "a pipe", run: "mkdir out; mkfifo out/r.jsonl", outcome: queue.JobInfra},
		{name: "no report", run: "mkdir out; " + write("hello"), outcome: queue.JobInfra, says: "out/r.jsonl: line 1: it is no object such as"},
		{name: "one of two is none", run: "mkdir out; " + write(passes) + "; echo x > out/s.jsonl", outcome: queue.JobInfra, says: "out/s.jsonl: line 1"},
		{name: "fails", run: "mkdir out; " + write(strings.Replace(passes, "passed", "failed", 1)), outcome: queue.JobFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := tree{"code": "x"}
			for name, text := range test.files {
				files[name] = text
			}
			s := step(test.run)
			s.Report, s.ReportFiles = config.ReportTargetsJSON, []string{"out/*.jsonl"}
			jobs := []queue.Job{job(s, "a")}
			if test.first != "" {
				first := step(test.first)
				first.Name = "first"
				jobs = append([]queue.Job{job(first, "a")}, jobs...)
			}
			res := execute(t.Context(), slot(t, files), build("b1", jobs...))
			done := res.jobs[len(res.jobs)-1]
			if done.Outcome != test.outcome || !strings.Contains(res.log, test.says) {
				t.Errorf("%s, want %s with %q\n%s", done.Outcome, test.outcome, test.says, res.log)
			}
		})
	}
}

// A reader of files by their folder is told where the step ran.
func TestReportKnowsItsFolder(t *testing.T) {
	t.Parallel()
	r := slot(t, tree{"web/packages/ui/package.json": `{"name":"@x/ui"}`, "web/packages/ui/ui.test.js": "x"})
	s := step(`echo "{\"testResults\":[{\"name\":\"$PWD/packages/ui/ui.test.js\",\"status\":\"passed\"}]}" > jest.json`)
	s.Report, s.ReportFiles, s.Dir = config.ReportJestJSON, []string{"jest.json"}, "web"
	done, res := one(t, r, job(s, "@x/ui"))
	if done.Outcome != queue.JobPassed || len(done.Passed) != 1 {
		t.Errorf("%s, passed %v\n%s", done.Outcome, done.Passed, res.log)
	}
	if strings.Contains(res.log, "submitqueue-") {
		t.Errorf("the log shows what is for the report:\n%s", res.log)
	}
}
