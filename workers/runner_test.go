package workers

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/report"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	r := slot(t, tree{"ok.sh": "#!/bin/sh\nexit 0\n"})
	for _, c := range []struct {
		run  string
		want queue.JobOutcome
		end  queue.JobOutcome
	}{
		{"./ok.sh", queue.JobPassed, queue.JobPassed},
		{"false", queue.JobFailed, queue.JobFailed},
		{"exit 3", queue.JobFailed, queue.JobFailed},
		{"./not-there", queue.JobInfra, queue.JobInfra}, // perhaps on this host only
		{"syntax error (", queue.JobFailed, queue.JobFailed},
		{"kill -SEGV $$", queue.JobFailed, queue.JobFailed},
		{"kill -KILL $$", queue.JobInfra, queue.JobInfra},
		{"sh -c 'kill -KILL $$'; exit $?", queue.JobInfra, queue.JobInfra},
		{"kill -TERM $$", queue.JobInfra, queue.JobInfra},
	} {
		done, res := one(t, r, job(step(c.run), "./a"))
		if done.Outcome != c.want || res.end.Outcome != c.end {
			t.Errorf("%s: job %s, build %s (%s), want %s, %s", c.run, done.Outcome, res.end.Outcome, res.end.Detail, c.want, c.end)
		}
		if len(done.Passed)+len(done.Failed) > 0 {
			t.Errorf("%s: an exit code named targets: %+v", c.run, done)
		}
		if done.Machine != "slot" || done.Step != step(c.run).Digest() || done.Build != "b1" || done.Took <= 0 {
			t.Errorf("%s: %+v", c.run, done)
		}
	}
}

func TestAllJobsRunInOneCheckout(t *testing.T) {
	t.Parallel()
	r := slot(t, tree{"f": "x"})
	s1, s2, s3 := step("touch mark; echo first; exit 1"), step("test -f mark && cat f"), step("true")
	res := execute(t.Context(), r, build("b1", job(s1, "."), job(s2, "."), job(s3, ".")))
	var got []queue.JobOutcome
	for _, j := range res.jobs {
		got = append(got, j.Outcome)
	}
	if want := []queue.JobOutcome{queue.JobFailed, queue.JobPassed, queue.JobPassed}; !reflect.DeepEqual(got, want) {
		t.Errorf("outcomes %v, want %v\n%s", got, want, res.log)
	}
	if res.end.Outcome != queue.JobFailed || !strings.Contains(res.end.Detail, "exit status 1") {
		t.Errorf("end %+v", res.end)
	}
	// The directory is used again, without what the first build left.
	if again := execute(t.Context(), r, build("b2", job(s2, "."))); again.end.Outcome != queue.JobFailed {
		t.Errorf("second build saw the first one's files: %+v", again.end)
	}
}

func TestEnvironmentIsScrubbed(t *testing.T) {
	t.Parallel()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/h", "LANG=C", "GOFLAGS=-v", "REDIS_URL=redis://secret", "GITHUB_TOKEN=hunter2",
		"SUBMITQUEUE_WEBHOOK_SECRET=s", "LD_PRELOAD=/x", "SUBMITQUEUE_SLOTS=/outer"}
	r := slot(t, tree{"f": ""}, func(o *RunnerOptions) { o.Env = env })
	s := step(`env; echo "file:"; cat "$SUBMITQUEUE_TARGETS_FILE"; cat`)
	s.Env = map[string]string{"MODE": "fast", "LANG": "de", "SUBMITQUEUE_COMMIT": "forged"}
	done, res := one(t, r, job(s, "./a b", "./c"))
	if done.Outcome != queue.JobPassed {
		t.Fatalf("%+v", done)
	}
	for _, want := range []string{"GOCACHE=/h/.cache/go-build\n", "GOPATH=/h/go\n", "LANG=de\n", "GOFLAGS=-v\n", "MODE=fast\n", "CI=true\n", "SUBMITQUEUE=1\n", "SUBMITQUEUE_COMMIT=c0ffee\n",
		"SUBMITQUEUE_BUILD=b1\n", "SUBMITQUEUE_MAIN=ba5e\n", "SUBMITQUEUE_CHANGE=7.abc\n", "SUBMITQUEUE_TARGETS=./a b\n./c\n", "file:\n./a b\n./c\n", "SUBMITQUEUE_SLOTS=/outer:/"} {
		if !strings.Contains(res.log, want) {
			t.Errorf("no %q in\n%s", want, res.log)
		}
	}
	for _, bad := range []string{"REDIS", "hunter2", "WEBHOOK", "LD_PRELOAD", "forged"} {
		if strings.Contains(res.log, bad) {
			t.Errorf("%q got through", bad)
		}
	}
}

func TestDefaultsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	r := slot(t, tree{"f": ""}, func(o *RunnerOptions) { o.Env = []string{} })
	_, res := one(t, r, job(step(`echo "$PATH $HOME"; test -d "$HOME"`), "."))
	if res.end.Outcome != queue.JobPassed || !strings.Contains(res.log, "/usr/bin") {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
}

func TestHostileTargetNamesAreQuoted(t *testing.T) {
	t.Parallel()
	r := slot(t, tree{"f": ""})
	names := []string{"./a'; touch pwned; '", "./$(touch pwned)", "./`touch pwned`", "./b\ntouch pwned", "./-n", `./"\`}
	_, res := one(t, r, job(step(`for x in {targets}; do printf '<%s>\n' "$x"; done; ls`), names...))
	for _, n := range names {
		if !strings.Contains(res.log, "<"+n+">") {
			t.Errorf("target %q did not arrive:\n%s", n, res.log)
		}
	}
	if _, err := os.Stat(filepath.Join(r.files.checkout, "pwned")); err == nil {
		t.Error("a target's name was run")
	}
}

func TestManyTargets(t *testing.T) {
	t.Parallel()
	var names []string
	for range 20000 {
		names = append(names, "./some/rather/long/directory/name")
	}
	r := slot(t, tree{"f": ""})
	_, res := one(t, r, job(step(`set -- {targets}; echo "n=$#"; wc -l < "$SUBMITQUEUE_TARGETS_FILE"; echo "t=${SUBMITQUEUE_TARGETS-unset}"`), names...))
	if res.end.Outcome != queue.JobPassed || !strings.Contains(res.log, "n=20000\n20000\nt=unset\n") {
		t.Errorf("%+v\n%s", res.end, lastBytes(res.log, 500))
	}
}

func TestOutputIsBoundedCleanAndMasked(t *testing.T) {
	t.Parallel()
	r := slot(t, tree{"f": ""}, func(o *RunnerOptions) {
		o.LogLimit = 2000
		o.Mask = []string{"hunter2", "hunter2-long", "abc"}
	})
	run := `printf 'first \033[31mred\033[0m \033]0;title\007 caf\303\251 \377 hunter2-long abc\n'
i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; printf 'hun\033[1mter2 end without newline'`
	done, res := one(t, r, job(step(run), "."))
	if len(res.log) > 2600 {
		t.Errorf("log of %d bytes", len(res.log))
	}
	for _, want := range []string{"first red  café \uFFFD *** abc\n", "bytes of output left out", "line 2999\n*** end without newline\n", "passed in"} {
		if !strings.Contains(res.log, want) {
			t.Errorf("no %q in\n%s", want, res.log)
		}
	}
	if lines := strings.Count(done.Tail, "\n") + 1; lines > report.TailLines || len(done.Tail) > report.TailBytes {
		t.Errorf("tail of %d lines, %d bytes", lines, len(done.Tail))
	}
	if !strings.Contains(done.Tail, "*** end without newline") {
		t.Errorf("tail: %s", done.Tail)
	}
}

func TestLongLineIsCut(t *testing.T) {
	t.Parallel()
	r := slot(t, tree{"f": ""})
	_, res := one(t, r, job(step(`head -c 1000000 /dev/zero | tr '\0' x; echo; echo after`), "."))
	if len(res.log) > maxLine+1000 || !strings.Contains(res.log, "[... line cut]\nafter\n") {
		t.Errorf("log of %d bytes ends in %s", len(res.log), lastBytes(res.log, 200))
	}
}

func TestInfrastructureErrors(t *testing.T) {
	t.Parallel()
	t.Run("commit", func(t *testing.T) {
		b := build("b1", job(step("true"), "."))
		b.Commit = "missing"
		res := execute(t.Context(), slot(t, nil), b)
		if res.end.Outcome != queue.JobInfra || len(res.jobs) != 0 || !strings.Contains(res.log, "no such commit") {
			t.Errorf("%+v", res)
		}
	})
	t.Run("shell", func(t *testing.T) {
		r := slot(t, nil, func(o *RunnerOptions) { o.Shell = []string{"/no/such/shell", "-c"} })
		done, res := one(t, r, job(step("true"), "."))
		if done.Outcome != queue.JobInfra || res.end.Outcome != queue.JobInfra || !strings.Contains(res.end.Detail, "shell") {
			t.Errorf("%+v", res)
		}
	})
	t.Run("environment", func(t *testing.T) {
		s := step("true")
		s.Env = map[string]string{"X": "a\x00b"}
		if done, _ := one(t, slot(t, nil), job(s, ".")); done.Outcome != queue.JobInfra {
			t.Errorf("%+v", done)
		}
	})
	t.Run("disk full before", func(t *testing.T) {
		r := slot(t, nil, func(o *RunnerOptions) { o.MinFree = 1 << 62 })
		if res := execute(t.Context(), r, build("b1", job(step("true"), "."))); res.end.Outcome != queue.JobInfra || !strings.Contains(res.end.Detail, "disk full") {
			t.Errorf("%+v", res)
		}
	})
	t.Run("slow checkout", func(t *testing.T) {
		r := slot(t, nil, func(o *RunnerOptions) { o.Checkout, o.CheckoutTimeout = stuck{}, time.Millisecond })
		if res := execute(t.Context(), r, build("b1", job(step("true"), "."))); res.end.Outcome != queue.JobInfra || !strings.Contains(res.end.Detail, "too long") {
			t.Errorf("%+v", res)
		}
	})
	t.Run("dirty directory", func(t *testing.T) {
		r := slot(t, nil, func(o *RunnerOptions) { o.Checkout = needsEmpty{} })
		if err := os.MkdirAll(filepath.Join(r.files.checkout, "a"), 0o755); err != nil {
			t.Fatal(err)
		}
		if res := execute(t.Context(), r, build("b1", job(step("true"), "."))); res.end.Outcome != queue.JobPassed {
			t.Errorf("%+v", res)
		}
	})
	if _, err := NewRunner(RunnerOptions{}); err == nil {
		t.Error("a runner without a directory")
	}
}

// stuck is a Checkouter that waits for its context.
type stuck struct{}

func (stuck) Checkout(ctx context.Context, _ queue.CommitID, _ string) (func() error, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// needsEmpty is a Checkouter that wants to make the directory itself.
type needsEmpty struct{}

func (needsEmpty) Checkout(_ context.Context, _ queue.CommitID, dir string) (func() error, error) {
	return func() error { return os.ErrClosed }, os.Mkdir(dir, 0o755)
}

func TestTimeoutKeepsTheTail(t *testing.T) {
	t.Parallel()
	s := step("echo before; sleep 600")
	s.Timeout = 50 * time.Millisecond
	done, res := one(t, slot(t, nil), job(s, "."))
	if done.Outcome != queue.JobTimeout || res.end.Outcome != queue.JobFailed || !strings.Contains(done.Tail, "before\n") || !strings.Contains(res.end.Detail, "timed out") {
		t.Errorf("%+v", res)
	}
}

// TestLearnedTimeout holds that a job is ended by its limit, and says by what; a limit
// above the step's time-out means nothing.
func TestLearnedTimeout(t *testing.T) {
	t.Parallel()
	s := step("echo before; sleep 600")
	s.Timeout = 2 * time.Hour
	j := job(s, ".")
	j.Limit = &queue.Limit{After: 2 * time.Second, Usual: 600 * time.Millisecond, Runs: 212}
	done, res := one(t, slot(t, nil), j)
	if done.Outcome != queue.JobTimeout || !done.Cut || !strings.Contains(done.Tail, "before\n") ||
		!strings.Contains(res.end.Detail, "stopped after 2s: 3 x P99 of 212 runs (600ms); the file allows 2h0m0s, and it is run again with that") {
		t.Errorf("%+v", res)
	}
	s.Timeout = 50 * time.Millisecond
	j = job(s, ".")
	j.Limit = &queue.Limit{After: time.Hour, Usual: time.Minute, Runs: 212}
	if done, res := one(t, slot(t, nil), j); done.Outcome != queue.JobTimeout || done.Cut {
		t.Errorf("%+v", res)
	}
}

// TestStepOfAnAnalyzer holds that a step of one of several analyzers runs in
// its folder, is told the names that its tool knows, and has its results under
// the names that the queue knows.
func TestStepOfAnAnalyzer(t *testing.T) {
	t.Parallel()
	files := tree{"server/go.mod": "module m\n", "server/a/a.go": "package a\n", "go.mod": "module other\n", "a/a.go": "package a\n"}
	say := func(lines ...string) string {
		return "printf '%s\\n' '" + strings.Join(lines, "' '") + "'"
	}
	s := step(`pwd -P | sed 's|.*/||'; echo {targets}; echo "$SUBMITQUEUE_TARGETS" | tr '\n' ' '; cat "$SUBMITQUEUE_TARGETS_FILE" | tr '\n' ' '`)
	s.Analyzer, s.Dir = "go", "server"
	done, res := one(t, slot(t, files), job(s, "go:./a", "go:./it's"))
	if want := "server\n./a ./it's\n./a ./it's ./a ./it's"; done.Outcome != queue.JobPassed || !strings.Contains(res.log, want) {
		t.Errorf("%s, not %q in\n%s", done.Outcome, want, res.log)
	}

	s.Report = config.ReportGoTestJSON
	s.Run = say(`{"Action":"pass","Package":"m/a","Elapsed":2}`, `{"Action":"fail","Package":"m/b"}`, `{"Action":"pass","Package":"other/a"}`)
	done, _ = one(t, slot(t, files), job(s, "go:./a", "go:./b"))
	if !reflect.DeepEqual(done.Passed, []string{"go:./a"}) || len(done.Failed) != 1 || done.Failed[0].Target != "go:./b" || done.PerTarget["go:./a"] != 2*time.Second {
		t.Errorf("%+v", done)
	}
	// A target that a report does not name has not passed, even if its name is no folder to the
	// queue.
	s.Run = say(`{"Action":"pass","Package":"m/a"}`)
	done, _ = one(t, slot(t, files), job(s, "go:./a", "go:./c", "unowned"))
	if want := []string{"go:./a", "unowned"}; done.Outcome != queue.JobPassed || !reflect.DeepEqual(done.Passed, want) {
		t.Errorf("%+v", done)
	}

	gone := step("true")
	gone.Dir = "no/such"
	if done, res := one(t, slot(t, files), job(gone, "tree")); done.Outcome != queue.JobFailed || !strings.Contains(res.log, "no/such") {
		t.Errorf("a folder that is gone: %s in\n%s", done.Outcome, res.log)
	}
}
