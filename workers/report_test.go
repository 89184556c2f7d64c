package workers

import (
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/report"
)

// ticks is a toy report: lines "ok TARGET" and "no TARGET".
type ticks map[string]report.Result

func (k ticks) Line(text string, _ bool, tidy func(string) string) []string {
	word, target, _ := strings.Cut(text, " ")
	if r, asked := k[target]; asked && word == "ok" {
		r.Passed = true
		k[target] = r
	} else if asked && word == "no" {
		r.Failed, r.Tail = true, tidy(text)
		k[target] = r
	}
	return []string{tidy(text)}
}

func (k ticks) File(string, io.Reader, bool, func(string) string) error { return nil }
func (k ticks) Of(target string) (report.Result, bool)                  { return k[target], true }
func (k ticks) Strayed() bool                                           { return false }

// A report is a reader and its row: the output of a real command is read by it, target by
// target, and what the report leaves out is not taken for passed.
func TestAddAReport(t *testing.T) {
	t.Parallel()
	r := slot(t, tree{"code": "x"})
	r.readers["ticks"] = func(_ fs.FS, _ config.Step, targets []string) (report.Reader, error) {
		k := ticks{}
		for _, target := range targets {
			k[target] = report.Result{}
		}
		return k, nil
	}
	for _, test := range []struct {
		run     string
		outcome queue.JobOutcome
		passed  []string
		failed  []queue.TargetFailure
	}{
		{"echo ok a; echo ok b", queue.JobPassed, []string{"a", "b"}, nil},
		{"echo ok a; echo no b; exit 1", queue.JobFailed, nil, []queue.TargetFailure{{Target: "b", Tail: "no b"}}},
		{"echo hello", queue.JobInfra, nil, nil},
	} {
		s := step(test.run)
		s.Report = "ticks"
		done, res := one(t, r, job(s, "a", "b"))
		if done.Outcome != test.outcome || !slices.Equal(done.Passed, test.passed) || !reflect.DeepEqual(done.Failed, test.failed) {
			t.Errorf("%s: %s, passed %v, failed %v\n%s", test.run, done.Outcome, done.Passed, done.Failed, res.log)
		}
	}
	if report.All()["ticks"] != nil {
		t.Error("the toy is in the product's table")
	}
}

// A report that the file may name and nobody reads would pass whatever the exit status
// says; one that names no target has no reader.
func TestEachReportHasItsReader(t *testing.T) {
	t.Parallel()
	all := report.All()
	for _, row := range config.Reports() {
		if (all[row.Name] != nil) != row.NamesTargets() {
			t.Errorf("%s names targets: %v; it has a reader: %v", row.Name, row.NamesTargets(), all[row.Name] != nil)
		}
		delete(all, row.Name)
	}
	for name := range all {
		t.Errorf("%s is read, and no step can have it", name)
	}
}
