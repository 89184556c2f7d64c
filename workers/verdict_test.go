package workers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Passes before a package's failure count if the report comes last.
func TestPassesBesideAFailure(t *testing.T) {
	t.Parallel()
	for run, want := range map[string]bool{
		"go test -json {targets}":                      true,
		"go vet {targets} && go test -json {targets}":  true,
		"go test -json {targets} && go vet {targets}":  false,
		"set -e; go vet {targets}; go test -json ./a":  false,
		"./passes && go test -json {targets}":          true,
		"./fails-with-passes && go test -json ./a ./b": false,
	} {
		dir := t.TempDir()
		const events = `echo '{"Action":"fail","Package":"m/a"}'; echo '{"Action":"pass","Package":"m/b"}'`
		for name, text := range map[string]string{"go": "test $1 = vet || { " + events + "; exit 1; }"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		r := slot(t, tree{"go.mod": "module m\n", "passes": "#!/bin/sh\n", "fails-with-passes": "#!/bin/sh\n" + events + "\nexit 1\n"},
			func(o *RunnerOptions) { o.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"} })
		s := config.Step{Name: "unit", Run: run, Scope: config.ScopeTargets, Report: config.ReportGoTestJSON}
		done, res := one(t, r, job(s, "./a", "./b"))
		if got := slices.Equal(done.Passed, []string{"./b"}); got != want || done.Outcome != queue.JobFailed || len(done.Failed) != 1 {
			t.Errorf("%q: %s, passed %v, failed %v", run, done.Outcome, done.Passed, done.Failed)
		}
		if strings.Contains(res.log, "submitqueue-") {
			t.Errorf("%q: the log shows what marks the last part:\n%s", run, res.log)
		}
	}
}
