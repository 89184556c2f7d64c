package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/audit"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/inspect"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// needTracer skips a test where processes cannot be traced, saying why; where
// SUBMITQUEUE_REQUIRE demands strace it fails.
func needTracer(t *testing.T) {
	t.Helper()
	if _, err := audit.NewTracer(t.Context(), "strace"); err != nil {
		t.Log(err)
		storetest.Need(t, "strace", false)
	}
}

// TestAudit runs testdata/audit/*.txtar: audits of small repositories, with a
// real tracer.
func TestAudit(t *testing.T) {
	t.Parallel()
	needTracer(t)
	p := scripts("testdata/audit")
	p.UpdateScripts = *updateSessions
	setup := p.Setup
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	places := strings.Fields(string(cache))
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("GOCACHE", places[0])
		e.Setenv("GOMODCACHE", places[1])
		e.Setenv("GOFLAGS", "-mod=mod")
		return setup(e)
	}
	testscript.Run(t, p)
}

// ways are how a script may get at the content of a file; %s is the file.
var ways = []string{
	"cat '%s'", "cat < '%s'", ". './%s'", "sh './%s'", "cp '%s' copy; cat copy", "ln '%s' name && cat name", "mv '%s' away; cat away; mv away '%s'",
	"(cd \"$(dirname '%s')\" && cat \"$(basename '%s')\")", "cat \"$PWD/%s\"", "ln -s '%s' to && cat to", "cat '%s' &\nwait", "while read -r line; do :; done < '%s'",
	"chmod +x '%s' && './%s'", "cat \"$(dirname '%s')/../$(basename \"$(dirname '%s')\")/$(basename '%s')\"",
}

// notReads are what a script may do with a file without getting at its content.
var notReads = []string{"test -e '%s'", "ls \"$(dirname '%s')\"", "echo x > '%s'; cat '%s'", "rm '%s'", "ls -l '%s'", "touch '%s'"}

// TestPlantedReads plants reads in repositories that are drawn, and holds that
// the audit finds exactly those that are in no hash.
func TestPlantedReads(t *testing.T) {
	t.Parallel()
	needTracer(t)
	planted := 0
	for seed := range 3 {
		r := rand.New(rand.NewPCG(uint64(seed), 14))
		files := map[string]string{}
		dirs := []string{"a", "b", "a/deep er", "docs", "é"}
		for i := range 14 {
			files[path.Join(dirs[r.IntN(len(dirs))], fmt.Sprintf("f%d%s", i, []string{".md", ".txt", ""}[r.IntN(3)]))] = "true # file\n"
		}
		all := slices.Sorted(maps.Keys(files))
		areas := []struct{ name, under, ignore string }{{"a", "a/", ""}, {"b", "b/", ""}, {"é", "é/", ""}}
		config := "version: 1\nanalysis:\n  analyzer: paths\n  ignore: ['docs/**']\n  barrier: [plan/*]\n  areas:\n"
		inputs := ""
		want := map[string][]string{}
		for k, area := range areas {
			config += fmt.Sprintf("    - {name: t%d, files: ['%s**']}\n", k, area.under)
			declared := all[r.IntN(len(all))]
			inputs += fmt.Sprintf("    - {targets: [t%d], files: ['%s']}\n", k, declared)
			target := fmt.Sprintf("t%d", k)
			script := "cat plan/" + target + " > /dev/null\n"
			touched := map[string]bool{}
			for range 5 {
				file := all[r.IntN(len(all))]
				if touched[file] {
					continue
				}
				touched[file] = true
				list, reads := ways, true
				if r.IntN(3) == 0 {
					list, reads = notReads, false
				}
				script += "rm -rf copy name away to\n" + strings.ReplaceAll(list[r.IntN(len(list))], "%s", file) + "\n"
				if reads && file != declared && !strings.HasPrefix(file, area.under) {
					want[target] = append(want[target], file)
					planted++
				}
			}
			slices.Sort(want[target])
			files["plan/"+target] = script + "true\n"
			files[area.under+"own"] = "own\n"
			files["plan/"+target] = "cat '" + area.under + "own'\n" + files["plan/"+target]
		}
		files[".submitqueue.yml"] = config + "  inputs:\n" + inputs + "steps: [{name: unit, run: \"for t in {targets}; do sh plan/$t; done\"}]\n"
		dir := newRepository(t, files)
		cmd := exec.CommandContext(t.Context(), "submitqueue", "audit", "inputs", "--json", "--tracer", "strace", "--repo", dir)
		out, err := cmd.Output()
		if ended := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
			t.Fatalf("seed %d: %v\n%s", seed, err, out)
		}
		var report inspect.AuditReport
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatal(err)
		}
		for _, a := range report.Results {
			var got []string
			for _, f := range a.Findings {
				got = append(got, f.File)
			}
			if a.Outcome != inspect.AuditDone || !slices.Equal(got, want[a.Target]) {
				t.Errorf("seed %d, %s: %s %s\nfound %q\nwant  %q\n%s", seed, a.Target, a.Outcome, a.Detail, got, want[a.Target], files["plan/"+a.Target])
			}
		}
		if len(report.Results) != len(areas) || len(report.Uncovered) > 0 {
			t.Errorf("seed %d: %d results, uncovered %q", seed, len(report.Results), report.Uncovered)
		}
	}
	if planted < 5 {
		t.Errorf("only %d undeclared reads were drawn", planted)
	}
}

// newRepository makes a repository with one commit on main.
func newRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-qm", "first"}} {
		shopGit(t, dir, nil, args...)
	}
	return dir
}
