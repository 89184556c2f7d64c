package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

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
		g := of(newGoTest(map[string]string{"m/a": "./a", "m/b": "./b"}), s, NewMark())
		sh := exec.Command("sh", "-c", g.Step().CommandFor(targets))
		sh.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "FAILS=" + fails}
		out, _ := sh.Output() // the state says how it ended
		for line := range strings.Lines(string(out)) {
			g.Line(strings.TrimSuffix(line, "\n"), tidy)
		}
		code := sh.ProcessState.ExitCode()
		if code == 0 {
			return // so its author says that all is well
		}
		data, _ := os.ReadFile(ran) // nothing ran, where there is none
		for _, target := range g.Judge(code, targets).Passed {
			for _, what := range parts {
				if !strings.Contains(string(data), what+" "+target+"\n") || strings.Contains(fails+" ", " "+what+":"+target+" ") {
					rt.Fatalf("%q with%s: %s passed, and %s was not run for it, or has failed", command, fails, target, what)
				}
			}
		}
	})
}
