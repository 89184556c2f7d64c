package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// A failed run of which the runner has left out a part of the output passes no target: what
// failed of it may be in that part. Runners say so, or never show the step's end.
func TestReportWithHoles(t *testing.T) {
	const passed = `{"Action":"pass","Package":"example.com/shop/a"}` + "\n"
	const failed = `{"Action":"fail","Package":"example.com/shop/b"}` + "\n"
	for name, test := range map[string]struct {
		end    string // of the step, as it is printed
		update protocol.Update
		passes int
		fails  queue.JobOutcome
	}{
		"whole":                   {"end 1\n", protocol.Update{State: protocol.StateFailed, Failure: protocol.ScriptFailure, ExitCode: 1}, 1, queue.JobFailed},
		"our own runner's words":  {"end 1\n", protocol.Update{State: protocol.StateFailed, Failure: protocol.ScriptFailure, ExitCode: 1, Cut: true}, 0, queue.JobFailed},
		"no end, as GitLab's are": {"", protocol.Update{State: protocol.StateFailed, Failure: protocol.ScriptFailure, ExitCode: 1}, 0, queue.JobFailed},
		"passed all the same":     {"end 0\n", protocol.Update{State: protocol.StateSuccess, Cut: true}, 2, queue.JobPassed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.runner()
			b.join(r)
			s := config.Step{Name: "unit", Run: "go test -json {targets}", Timeout: time.Minute, Report: config.ReportGoTestJSON}
			b.run("b1", s, "./a", "./b")
			r.ask()
			r.begin()
			if test.fails == queue.JobPassed {
				r.print(passed + strings.Replace(failed, "fail", "pass", 1))
			} else {
				r.print(passed + failed)
			}
			if test.end != "" {
				r.print(r.mark() + " " + test.end)
			}
			if res := r.update(test.update); res.StatusCode != 200 {
				t.Fatal(res.Status)
			}
			j, _ := b.result("b1")
			if j.Outcome != test.fails || len(j.Passed) != test.passes && test.fails == queue.JobFailed {
				t.Errorf("%+v\n%s", j, b.log("b1"))
			}
		})
	}
}
