package workers

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// say is a shell function that reports a target's result.
const say = `say() { echo "submitqueue: {\"target\":\"$1\",\"result\":\"$2\",\"output\":\"$1 $2\"}"; }; `

// What has not passed is run again within the build, and only that.
func TestRetries(t *testing.T) {
	t.Parallel()
	count := `n=$(cat "$HOME/n" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$HOME/n"; echo "run $n of {targets}"; `
	for _, test := range []struct {
		name           string
		run            string
		report         config.Report
		retries        int
		outcome        queue.JobOutcome
		passed, failed string
		flaked         string
		again, runs    int
	}{
		{"passes at once", "true", config.ReportExitCode, 2, queue.JobPassed, "", "", "", 0, 1},
		{"passes the second time", "[ $n = 2 ]", config.ReportExitCode, 2, queue.JobPassed, "", "", "", 1, 2},
		{"fails each time", "false", config.ReportExitCode, 2, queue.JobFailed, "", "", "", 0, 3},
		{"is not to be run again", "[ $n = 2 ]", config.ReportExitCode, 0, queue.JobFailed, "", "", "", 0, 1},
		{"one target the third time", say + `for t in {targets}; do [ $t = a ] || [ $n = 3 ] && say $t passed || { say $t failed; bad=1; }; done; [ -z "$bad" ]`,
			config.ReportTargetsJSON, 3, queue.JobPassed, "a b", "", "b", 0, 3},
		{"one target never", say + `for t in {targets}; do [ $t = a ] && [ $n = 2 ] && say $t passed || { say $t failed; bad=1; }; done; [ -z "$bad" ]`,
			config.ReportTargetsJSON, 1, queue.JobFailed, "", "a b", "", 0, 2},
		{"a later run says nothing of it", say + `[ $n = 1 ] && { say a failed; say b passed; exit 1; }; say b passed`,
			config.ReportTargetsJSON, 1, queue.JobFailed, "b", "a", "", 0, 2},
		{"a later run cannot be judged", say + `[ $n = 1 ] && { say a failed; exit 1; }; kill -9 $$`,
			config.ReportTargetsJSON, 1, queue.JobFailed, "", "a", "", 0, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := step(count + test.run)
			s.Report, s.Retries = test.report, test.retries
			done, res := one(t, slot(t, tree{"code": "x"}), job(s, "a", "b"))
			var failed []string
			for _, f := range done.Failed {
				failed = append(failed, f.Target)
			}
			runs := strings.Count(res.log, "\nrun ") // what the step has printed, not its command
			if done.Outcome != test.outcome || strings.Join(done.Passed, " ") != test.passed || strings.Join(failed, " ") != test.failed ||
				strings.Join(done.Flaked, " ") != test.flaked || done.Again != test.again || runs != test.runs {
				t.Errorf("%s, passed %v, failed %v, flaked %v, again %d, %d runs; want %+v\n%s", done.Outcome, done.Passed, failed, done.Flaked, done.Again, runs, test, res.log)
			}
		})
	}
}

// Only what has not passed is asked for again: the others keep their passes.
func TestRetriesAskForTheRest(t *testing.T) {
	t.Parallel()
	s := step("failed=0\nfor t in {targets}; do\n  ./test $t || failed=1\ndone\nexit $failed")
	s.Report, s.Retries = config.ReportTargetsJSON, 1
	r := slot(t, tree{"test": "#!/bin/sh\n" + say + "echo \"ran $1\"\nif [ $1 = b ] && ! [ -e \"$HOME/b\" ]; then touch \"$HOME/b\"; say b failed; exit 1; fi\nsay $1 passed\n"})
	done, res := one(t, r, job(s, "a", "b", "c"))
	if done.Outcome != queue.JobPassed || strings.Join(done.Passed, " ") != "a b c" || !slices.Equal(done.Flaked, []string{"b"}) || strings.Count(res.log, "ran a\n") != 1 || strings.Count(res.log, "ran b\n") != 2 {
		t.Errorf("%s, passed %v, flaked %v\n%s", done.Outcome, done.Passed, done.Flaked, res.log)
	}
}
