package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// gitlab-runner uploads artifacts and caches after the step. If that fails, it ends the job as
// failed with script_failure (common/build.go, pickPriorityError), although the step has passed.
// This says nothing of the change.
func TestWhatFailsAfterTheStep(t *testing.T) {
	for name, test := range map[string]struct {
		how    string
		u      protocol.Update
		want   queue.JobOutcome
		detail string
	}{
		"an upload fails":             {"end 0 7", protocol.Update{State: protocol.StateFailed, Failure: protocol.ScriptFailure, ExitCode: 1}, queue.JobInfra, "has failed the job after the step had passed"},
		"without a reason":            {"end 0", protocol.Update{State: protocol.StateFailed, ExitCode: 1}, queue.JobInfra, "has failed the job after the step had passed"},
		"an upload hangs":             {"end 0 7", protocol.Update{State: protocol.StateFailed, Failure: protocol.JobExecutionTimeout}, queue.JobInfra, "has failed the job after the step had passed"},
		"the step fails, and uploads": {"end 3 7", protocol.Update{State: protocol.StateFailed, Failure: protocol.ScriptFailure, ExitCode: 1}, queue.JobFailed, "exit status 3"},
		"the step takes too long":     {"timeout\nMARK end 0 60", protocol.Update{State: protocol.StateFailed, Failure: protocol.ScriptFailure, ExitCode: 143}, queue.JobFailed, "timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.runner()
			b.join(r)
			b.run("b1", config.Step{Name: "unit", Run: "make test", Report: config.ReportJUnit, ReportFiles: []string{"out/*.xml"}, Timeout: time.Minute}, "a", "b")
			r.ask()
			r.begin()
			r.print("all passed\n" + r.mark() + " " + strings.ReplaceAll(test.how, "MARK", r.mark()) + "\nUploading artifacts...\nERROR: Uploading artifacts as \"archive\" to coordinator... 502 Bad Gateway\nERROR: Job failed: exit code 1\n")
			r.update(test.u)
			if d := b.done("b1"); d.Outcome != test.want || !strings.Contains(d.Detail, test.detail) {
				t.Errorf("%+v", d)
			}
		})
	}
}
