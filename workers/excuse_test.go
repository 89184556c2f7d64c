package workers

import (
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// TestRetryOn holds that a failed run is no result where the end of its log is one of
// those that the step names, whatever the command itself says.
func TestRetryOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  string
		want queue.JobOutcome
	}{
		"matches":            {"echo 'read: connection reset by peer' >&2; exit 1", queue.JobInfra},
		"says another thing": {"echo boom; exit 1", queue.JobFailed},
		"passes":             {"echo 'connection reset by peer'", queue.JobPassed},
		"only its command":   {"false 'connection reset by peer'", queue.JobFailed},
		"long ago":           {"echo 'connection reset by peer'; yes | head -c 100000; exit 1", queue.JobFailed},
		"no end of line":     {"printf 'connection reset by peer'; exit 1", queue.JobInfra},
		"hangs":              {"echo 'connection reset by peer'; sleep 600", queue.JobInfra},
	} {
		t.Run(name, func(t *testing.T) {
			s := step(c.run)
			if s.RetryOn = []string{"connection reset by peer$"}; name == "hangs" {
				s.Timeout = 300 * time.Millisecond
			}
			done, res := one(t, slot(t, nil), job(s, "."))
			if done.Outcome != c.want || res.end.Outcome != c.want || res.end.Matched != (c.want == queue.JobInfra) || done.Tool {
				t.Fatalf("%+v, log:\n%s", res, res.log)
			}
			if said := "step unit has failed, and its log matches retry_on: connection reset by peer$"; c.want == queue.JobInfra && (res.end.Detail != said || !strings.Contains(res.log, said)) {
				t.Errorf("%q, log:\n%s", res.end.Detail, res.log)
			}
		})
	}
}

// TestExcuse holds that named targets are judged by their own lines.
func TestExcuse(t *testing.T) {
	t.Parallel()
	s := step("")
	s.RetryOn = []string{"reset"}
	reset, real := queue.TargetFailure{Target: "a", Tail: "reset"}, queue.TargetFailure{Target: "b", Tail: "FAIL"}
	for name, c := range map[string]struct {
		failed []queue.TargetFailure
		want   queue.JobOutcome
		left   int
	}{
		"all":     {[]queue.TargetFailure{reset, reset}, queue.JobInfra, 0},
		"some":    {[]queue.TargetFailure{reset, real}, queue.JobFailed, 1},
		"nothing": {[]queue.TargetFailure{real}, queue.JobFailed, 1},
	} {
		done := queue.JobDone{Outcome: queue.JobFailed, Failed: c.failed, Passed: []string{"c"}}
		got := excuse(&done, s, "reset")
		if done.Outcome != c.want || len(done.Failed) != c.left || (got != "") != (c.want == queue.JobInfra) || (len(done.Passed) == 1) != (c.want == queue.JobFailed) {
			t.Errorf("%s: %q, %+v", name, got, done)
		}
	}
	for _, o := range []queue.JobOutcome{queue.JobPassed, queue.JobStopped} {
		if done := (queue.JobDone{Outcome: o}); excuse(&done, s, "reset") != "" || done.Outcome != o {
			t.Errorf("%+v", done)
		}
	}
	if cut := (queue.JobDone{Outcome: queue.JobTimeout, Cut: true}); excuse(&cut, s, "reset") != "" || cut.Outcome != queue.JobTimeout {
		t.Errorf("%+v", cut)
	}
}
