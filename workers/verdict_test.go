package workers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A command that has failed before all of it was run for a package has not passed it,
// whatever the command's shape. The tool of the commands notes what it was run for.
func TestPassNeedsTheWholeCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	tool := `#!/bin/sh
what=$1; shift
json=; bad=0
for t; do
	case $t in -json) json=1; continue;; esac
	result=pass
	case " $FAILS " in *" $what:$t "*) result=fail; bad=1;; esac
	if [ -n "$json" ]; then echo "{\"Action\":\"$result\",\"Package\":\"m/${t#./}\"}"; fi
	echo "$what $t" >> ` + ran + `
done
exit $bad
`
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(tool), 0o755); err != nil {
		t.Fatal(err)
	}
	targets := []string{"./a", "./b"}
	rapid.Check(t, func(rt *rapid.T) {
		var parts []string
		var run strings.Builder
		for i := range rapid.IntRange(1, 3).Draw(rt, "commands") {
			what := rapid.SampledFrom([]string{"vet", "test", "lint"}).Draw(rt, "command")
			if what == "test" && slices.Contains(parts, what) {
				what = "vet" // one of them reports
			}
			if i > 0 {
				run.WriteString(rapid.SampledFrom([]string{" && ", " &&\n  ", "; ", "\n", " || ", " | cat && "}).Draw(rt, "joined by"))
			}
			if parts = append(parts, what); what == "test" {
				what += " -json"
			}
			run.WriteString("go " + what + " {targets}")
		}
		command := fmt.Sprintf(rapid.SampledFrom([]string{"%s", "%s", "%s", "set -e\n%s", "(%s)", "if %s; then :; else exit 1; fi"}).Draw(rt, "in"), run.String())
		fails := ""
		for _, what := range []string{"vet", "test", "lint"} {
			for _, target := range targets {
				if rapid.IntRange(0, 2).Draw(rt, "fails") == 0 {
					fails += " " + what + ":" + target
				}
			}
		}
		if err := os.RemoveAll(ran); err != nil {
			rt.Fatal(err)
		}
		s := config.Step{Name: "unit", Run: command, Scope: config.ScopeTargets, Report: config.ReportGoTestJSON}
		g := &report{reader: newGoTest(map[string]string{"m/a": "./a", "m/b": "./b"})}
		sh := exec.Command("sh", "-c", announcing(s, g).CommandFor(targets))
		sh.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "FAILS=" + fails}
		out, _ := sh.Output() // the state says how it ended
		for line := range strings.Lines(string(out)) {
			g.line(strings.TrimSuffix(line, "\n"), clean)
		}
		code := sh.ProcessState.ExitCode()
		if code == 0 {
			return // so its author says that all is well
		}
		data, _ := os.ReadFile(ran) // nothing ran, where there is none
		for _, target := range judge(code, targets, g).passed {
			for _, what := range parts {
				if !strings.Contains(string(data), what+" "+target+"\n") || strings.Contains(fails+" ", " "+what+":"+target+" ") {
					rt.Fatalf("%q with%s: %s passed, and %s was not run for it, or has failed", command, fails, target, what)
				}
			}
		}
	})
}

// Passes before a package's failure count if the report comes last.
func TestPassesBesideAFailure(t *testing.T) {
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
