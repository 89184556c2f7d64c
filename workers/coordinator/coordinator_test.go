package coordinator_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

var unit = config.Step{Name: "unit", Run: "echo test of {targets}", Timeout: time.Minute}

// A step that a runner's shell really runs: its targets, its variables, its exit status and
// its time-out come out as for a step that the server runs.
func TestScript(t *testing.T) {
	for _, shell := range []string{"sh", "bash"} {
		for name, test := range map[string]struct {
			run     string
			timeout time.Duration
			want    queue.JobOutcome
			detail  string
			prints  string
		}{
			"passes":                  {`echo "$SUBMITQUEUE_STEP of $SUBMITQUEUE_TARGETS at $CI_COMMIT_SHA"; cat "$SUBMITQUEUE_TARGETS_FILE"`, time.Minute, queue.JobPassed, "", "unit of a"},
			"fails":                   {"echo {targets}; exit 3", time.Minute, queue.JobFailed, "step unit: exit status 3", "a 'b c'"},
			"is not there":            {"no-such-command-here {targets}", time.Minute, queue.JobInfra, "a command is not there", "not found"},
			"hangs":                   {"echo begun {targets}; sleep 60", time.Second, queue.JobTimeout, "timed out after 1s", "begun"},
			"ends when it is told to": {"trap 'echo told; exit 0' TERM; echo {targets}; sleep 60 & wait", time.Second, queue.JobTimeout, "timed out after 1s", "told"},
			"dies of a signal":        {"kill -s KILL $$ {targets}", time.Minute, queue.JobInfra, "killed from outside", ""},
			"quotes":                  {`echo 'it is "$HOME"' {targets}`, time.Minute, queue.JobPassed, "", `it is "$HOME" a 'b c'`},
			"leaves a line open":      {"printf 'last words of %s ' {targets}", time.Minute, queue.JobPassed, "", "last words of b c "},
			"takes a time":            {"sleep 1.1; echo {targets}", time.Minute, queue.JobPassed, "", "a"},
			"takes no standard input": {"cat {targets}; cat", time.Minute, queue.JobPassed, "", "a: No such file"},
		} {
			t.Run(shell+" "+name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				r := b.runner()
				b.join(r)
				s := config.Step{Name: "unit", Run: test.run, Timeout: test.timeout}
				b.run("b1", s, "a", "b c")
				r.ask()
				out, code := r.execute(shell)
				r.print("Fetching...\n" + out)
				r.end(code)
				if test.want == queue.JobInfra && test.detail == "killed from outside" {
					if d := b.done("b1"); d.Outcome != queue.JobInfra || !strings.Contains(d.Detail, test.detail) {
						t.Errorf("%+v\n%s", d, out)
					}
					return
				}
				j, d := b.result("b1")
				if j.Outcome != test.want || !strings.Contains(d.Detail, test.detail) || !strings.Contains(b.log("b1"), strings.ReplaceAll(test.prints, "'b c'", "b c")) {
					t.Errorf("%+v %+v\n%s\n%s", j, d, out, b.log("b1"))
				}
				if name == "takes a time" && (j.Took < time.Second || j.Took > 20*time.Second) {
					t.Errorf("took %s, and its output came at once", j.Took)
				}
				if j.Machine != "box-6789ab-1" || j.Host != "box-6789ab" {
					t.Errorf("by %s on %s", j.Machine, j.Host)
				}
				if strings.Contains(b.log("b1"), r.mark()) || strings.Contains(out, "submitqueue_watch") || strings.Contains(out, "Killed") && test.want != queue.JobInfra {
					t.Errorf("the mark is in the log:\n%s", b.log("b1"))
				}
			})
		}
	}
}

// gitlab-runner has its shell evaluate the script in a subshell (shells/bash.go, Finish): at the
// end of a pipe, or with FF_USE_NEW_BASH_EVAL_STRATEGY and in newer versions in parentheses. In a
// subshell, $$ is the process above it.
func TestScriptInASubshell(t *testing.T) {
	for _, shell := range []string{"sh", "bash"} {
		for name, eval := range map[string]string{"pipe": ": | eval %s\nexit 0\n", "subshell of a pipe": ": | (eval %s)\nexit 0\n", "subshell": "(trap 'exit 1' TERM; eval %s) </dev/null\nexit 0\n"} {
			for run, want := range map[string]queue.JobOutcome{"echo {targets}": queue.JobPassed, "echo {targets}; exit 3": queue.JobFailed, "echo {targets}; sleep 20": queue.JobTimeout} {
				t.Run(shell+" "+name+" "+run, func(t *testing.T) {
					t.Parallel()
					b := newBench(t)
					r := b.runner()
					r.eval = eval
					b.join(r)
					b.run("b1", config.Step{Name: "unit", Run: run, Timeout: 2 * time.Second}, "a")
					r.ask()
					begun := time.Now()
					out, code := r.execute(shell)
					if took := time.Since(begun); took > 15*time.Second {
						t.Errorf("the step was not ended: it took %s", took)
					}
					r.print(out)
					r.end(code)
					if j, d := b.result("b1"); j.Outcome != want {
						t.Errorf("%+v %+v\n%s", j, d, out)
					}
				})
			}
		}
	}
}

// Reports are read of the trace, as on the server.
func TestReportOfATrace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	b.run("b1", config.Step{Name: "unit", Run: "go test -json {targets}", Report: config.ReportGoTestJSON, Timeout: time.Minute}, "./cart", "./web")
	r.ask()
	r.begin()
	r.print(`{"Action":"pass","Package":"example.com/shop/cart","Elapsed":2}` + "\n" + `{"Action":"output","Package":"example.com/shop/web","Output":"--- FAIL: TestX\n"}` + "\n")
	r.print(`{"Action":"fail","Package":"example.com/shop/web","Elapsed":1}` + "\n" + r.mark() + " end 1\nERROR: Job failed: exit status 1\n")
	r.end(1)
	j, _ := b.result("b1")
	if j.Outcome != queue.JobFailed || len(j.Failed) != 1 || j.Failed[0].Target != "./web" || !strings.Contains(j.Failed[0].Tail, "TestX") || len(j.Passed) != 1 {
		t.Errorf("%+v", j)
	}
}

// A job that has failed proves nothing unless its checkout was the commit; what its runner
// says of itself is no verdict.
func TestWhatIsNoVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		prints string
		u      protocol.Update
		detail string
	}{
		"a broken checkout":    {"fatal: could not read from remote\n", protocol.Update{State: protocol.StateFailed, Failure: protocol.ScriptFailure, ExitCode: 1}, "has not checked the commit out"},
		"another commit":       {"MARK begin ffffffffffffffffffffffffffffffffffffffff\n", protocol.Update{State: protocol.StateFailed, Failure: protocol.ScriptFailure, ExitCode: 1}, "has checked out ffffffffff"},
		"a pass without mark":  {"", protocol.Update{State: protocol.StateSuccess}, "has not checked the commit out"},
		"the runner is ended":  {"MARK begin " + commit + "\n", protocol.Update{State: protocol.StateFailed, Failure: protocol.RunnerSystemFailure}, "runner_system_failure"},
		"no image":             {"", protocol.Update{State: protocol.StateFailed, Failure: protocol.ImagePullFailure}, "image_pull_failure"},
		"something new":        {"MARK begin " + commit + "\n", protocol.Update{State: protocol.StateFailed, Failure: "new \x1b[31mreason"}, "new"},
		"a hole in the output": {"MARK begin " + commit + "\nall passed\n", protocol.Update{State: protocol.StateSuccess, Output: protocol.Output{Checksum: "crc32:00000000", Bytesize: 1}}, "is not what runner"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.runner()
			b.join(r)
			b.run("b1", unit, "a")
			r.ask()
			if test.prints != "" {
				r.print(strings.ReplaceAll(test.prints, "MARK", r.mark()))
			}
			for range 3 { // where something is missing, all is asked for again; here it does not help
				if res := r.update(test.u); res.StatusCode != http.StatusPreconditionFailed {
					break
				}
				r.sent = nil
				r.print(strings.ReplaceAll(test.prints, "MARK", r.mark()))
			}
			if res := r.update(test.u); res.StatusCode != http.StatusOK {
				t.Errorf("%d", res.StatusCode)
			}
			if d := b.done("b1"); d.Outcome != queue.JobInfra || !strings.Contains(d.Detail, test.detail) || strings.ContainsRune(d.Detail, '\x1b') {
				t.Errorf("%+v", d)
			}
		})
	}
}

// The trace is taken strictly in order; whatever comes twice counts once.
func TestTraceInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	b.run("b1", unit, "a")
	r.ask()
	r.begin()
	n := len(r.sent)
	for _, from := range []int{0, n - 1, n + 5} {
		if res := r.printAt(from, "again\n"); res.StatusCode != http.StatusRequestedRangeNotSatisfiable || res.Header.Get("Range") != "0-"+itoa(n) {
			t.Errorf("from %d: %d %s", from, res.StatusCode, res.Header.Get("Range"))
		}
	}
	if res := r.print("one\n"); res.Header.Get("Range") != "0-"+itoa(n+4) || res.Header.Get(protocol.HeaderJobStatus) != "running" {
		t.Errorf("%+v", res.Header)
	}
	r.print("half a li")
	r.print("ne \xff\x00\x1b[31mred\x1b[0m hunter2-hunter2\n" + r.mark() + " end 0\nJob succeeded\n")
	r.end(0)
	r.end(0)
	r.end(1)
	if j, d := b.result("b1"); j.Outcome != queue.JobPassed || d.Outcome != queue.JobPassed {
		t.Errorf("%+v %+v", j, d)
	}
	log := b.log("b1")
	if !strings.Contains(log, "half a line") || !strings.Contains(log, "red ***") || strings.Count(log, "one\n") != 1 || strings.Contains(log, "again") || !strings.Contains(log, "Fetching changes") {
		t.Errorf("%s", log)
	}
}

// Cancelling ends the build at once; the runner learns of it by its next answer, and its
// slot is taken until it says that the job has ended.
func TestCancelledJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	b.run("b1", unit, "a")
	r.ask()
	r.begin()
	b.must(b.pool.Stop(t.Context(), "b1"))
	if d := b.done("b1"); d.Outcome != queue.JobStopped {
		t.Errorf("%+v", d)
	}
	if m := b.c.Machines()[0]; len(m.Jobs) != 1 || !m.Jobs[0].Ending {
		t.Errorf("%+v", m)
	}
	if res := r.print("still here\n"); res.Header.Get(protocol.HeaderJobStatus) != "canceled" {
		t.Errorf("%+v", res.Header)
	}
	if _, ok := b.c.Job(r.job.Token); !ok {
		t.Error("its token has ended before it")
	}
	r.update(protocol.Update{State: protocol.StateFailed, Failure: protocol.UnknownFailure})
	if m := b.c.Machines()[0]; len(m.Jobs) != 0 {
		t.Errorf("%+v", m)
	}
	if _, ok := b.c.Job(r.job.Token); ok {
		t.Error("its token is good after it")
	}
}

// A job that is handed out and never heard of goes to another machine, and is no fault of
// the change; its first machine is told to give it up when it comes after all.
func TestJobThatIsNotHeardOf(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *coordinator.Options) { o.Silent = 50 * time.Millisecond })
	r, other := b.runner(), b.runner()
	other.system = "s_other0000000"
	b.join(r)
	b.run("b1", unit, "a")
	r.ask()
	other.ask()
	if res := r.printAt(0, "late\n"); res.Header.Get(protocol.HeaderJobStatus) != "canceled" {
		t.Errorf("%+v", res)
	}
	// A machine that was as slow to begin loses the job in its turn, and asks again.
	for other.printAt(0, other.mark()+" begin "+commit+"\n").Header.Get(protocol.HeaderJobStatus) == "canceled" {
		other.ask()
	}
	other.sent = []byte(other.mark() + " begin " + commit + "\n")
	other.print(other.mark() + " end 0\n")
	other.end(0)
	if j, d := b.result("b1"); j.Outcome != queue.JobPassed || d.Outcome != queue.JobPassed || !strings.HasPrefix(j.Machine, "box-000000") {
		t.Errorf("%+v %+v", j, d)
	}
}

// A machine that hangs up while its request is held gets nothing, and nothing is lost.
func TestNobodyIsThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		b.until("it asks", func() bool { return b.c.Machines()[0].Asking > 0 })
		cancel()
	}()
	r.askIn(ctx)
	b.run("b1", unit, "a")
	r.ask()
	r.begin()
	r.end(0)
	if j, _ := b.result("b1"); j.Outcome != queue.JobPassed {
		t.Errorf("%+v", j)
	}
}

// A silent runner is lost with its job after its lease.
func TestSilentRunner(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *coordinator.Options) { o.Lease = 100 * time.Millisecond })
	r := b.runner()
	b.join(r)
	b.run("b1", unit, "a")
	r.ask()
	r.begin()
	if d := b.done("b1"); d.Outcome != queue.JobInfra || !strings.Contains(d.Detail, "silent") {
		t.Errorf("%+v", d)
	}
	b.until("its slot is free", func() bool { return len(b.c.Machines()[0].Jobs) == 0 })
}

// What a runner may have is said by its token on the server, and by its labels.
func TestWhoGetsWhat(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	only, err := b.reg.Add("only", []string{"mac"}, true, time.Now())
	b.must(err)
	r := b.runner()
	r.token, r.system = only, "s_mac000000000"
	r.info.Platform, r.info.Labels = "darwin", map[string]string{"xcode": "26"}
	b.join(r)
	b.run("untagged", unit, "a")
	if d := b.done("untagged"); !d.NoRunner {
		t.Errorf("a runner for steps with tags takes one without: %+v", d)
	}
	tagged := unit
	tagged.Tags, tagged.OS = []string{"mac", "xcode:26"}, "macos"
	b.run("tagged", tagged, "a")
	r.ask()
	r.begin()
	r.end(0)
	b.result("tagged")
	image := unit
	image.Tags, image.Image = []string{"mac"}, "golang:1.26"
	b.run("image", image, "a")
	if d := b.done("image"); !d.NoRunner {
		t.Errorf("the shell executor has no images: %+v", d)
	}
	d := b.runner()
	d.token, d.system, d.info.Executor, d.info.Platform = only, "s_docker000000", "docker", "linux"
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	d.askIn(ctx)
	b.run("image2", image, "a")
	if job := d.ask(); job.Image == nil || job.Image.Name != "golang:1.26" {
		t.Errorf("%+v", job.Image)
	}
	if r.ask2(); false {
		t.Fail()
	}
	b.must(b.reg.Pause("only", true))
	if _, status, _ := r.askIn(t.Context()); status != http.StatusNoContent {
		t.Errorf("a paused runner: %d", status)
	}
	b.must(b.reg.Revoke("only", time.Now()))
	if _, status, _ := r.askIn(t.Context()); status != http.StatusForbidden {
		t.Errorf("a revoked runner: %d", status)
	}
	if err := b.reg.Pause("only", false); err == nil {
		t.Error("a revoked runner is paused")
	}
}

// ask2 asks and does not wait for an answer.
func (r *runner) ask2() {
	ctx, cancel := context.WithTimeout(r.b.t.Context(), 20*time.Millisecond)
	defer cancel()
	r.askIn(ctx)
}

// A job's token opens that job and nothing else, and ends with it.
func TestTokensOfJobs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, other := b.runner(), b.runner()
	other.system = "s_other0000000"
	b.join(r)
	b.run("b1", unit, "a")
	r.ask()
	b.run("b2", unit, "a")
	other.ask()
	if ref, ok := b.c.Job(r.job.Token); !ok || ref.Build != "b1" || ref.Commit != commit {
		t.Errorf("%+v", ref)
	}
	mine := r.job.Token
	r.job.Token = other.job.Token
	if res := r.printAt(0, "x\n"); res.StatusCode != http.StatusForbidden {
		t.Errorf("another job's token: %d", res.StatusCode)
	}
	if res := r.update(protocol.Update{State: protocol.StateSuccess}); res.StatusCode != http.StatusForbidden {
		t.Errorf("another job's token: %d", res.StatusCode)
	}
	r.job.Token = b.token
	if res := r.printAt(0, "x\n"); res.StatusCode != http.StatusForbidden {
		t.Errorf("a runner's token: %d", res.StatusCode)
	}
	r.job.Token = mine
	if strings.Contains(r.job.GitInfo.RepoURL, mine) == false || strings.Contains(r.job.GitInfo.RepoURL, b.token) {
		t.Errorf("%s", r.job.GitInfo.RepoURL)
	}
	r.begin()
	r.end(0)
	if _, ok := b.c.Job(mine); ok {
		t.Error("a job's token outlives it")
	}
	for _, v := range r.job.Variables {
		if v.Masked != (v.Key == "DEPLOY_KEY") || v.Public && strings.Contains(v.Value, "hunter2") || strings.Contains(v.Value, b.token) || strings.Contains(v.Value, mine) {
			t.Errorf("%+v", v)
		}
	}
}

// Paths of uploaded files do not lead anywhere, archives are bounded, and a job that has
// ended takes none.
func TestUploads(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	b.run("b1", unit, "a")
	r.ask()
	r.begin()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"report.xml", "../../etc/passwd", "/etc/shadow", "a/../../b"} {
		w, err := z.Create(name)
		b.must(err)
		_, _ = w.Write([]byte("<x/>"))
	}
	b.must(z.Close())
	for _, x := range []struct {
		format, name string
		content      []byte
		want         int
	}{{"zip", "a.zip", archive.Bytes(), 201}, {"zip", "a.zip", []byte("no zip"), 400}, {"gzip", "../../x.gz", []byte("no gzip"), 400}, {"raw", "../../x.xml", []byte("<x/>"), 201}, {"tar", "x", nil, 400}} {
		if res := r.upload(x.format, x.name, x.content); res.StatusCode != x.want {
			t.Errorf("%s %s: %d", x.format, x.name, res.StatusCode)
		}
	}
	r.end(0)
	if res := r.upload("raw", "x", []byte("late")); res.StatusCode == http.StatusCreated {
		t.Errorf("after the end: %d", res.StatusCode)
	}
}

// Reports in files come as artifacts. One that the step has not written does not count.
func TestReportFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *coordinator.Options) {
		o.Files = func(context.Context, queue.Build) (fs.FS, error) {
			return fstest.MapFS{"out/old.jsonl": {Data: []byte(`{"target":"web","result":"passed"}` + "\n")}}, nil
		}
	})
	r := b.runner()
	b.join(r)
	b.run("b1", config.Step{Name: "unit", Run: "make test", Report: config.ReportTargetsJSON, ReportFiles: []string{"out/*.jsonl"}, Timeout: time.Minute}, "api", "web")
	if job := r.ask(); len(job.Artifacts) != 1 || job.Artifacts[0].When != "always" || job.Artifacts[0].Paths[0] != "out/*.jsonl" {
		t.Fatalf("%+v", job.Artifacts)
	}
	r.begin()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, content := range map[string]string{"out/new.jsonl": `{"target":"api","result":"passed","seconds":2}` + "\n", "out/old.jsonl": `{"target":"web","result":"passed"}` + "\n"} {
		w, err := z.Create(name)
		b.must(err)
		_, _ = w.Write([]byte(content))
	}
	b.must(z.Close())
	if res := r.upload("zip", "artifacts.zip", archive.Bytes()); res.StatusCode != http.StatusCreated {
		t.Errorf("%d", res.StatusCode)
	}
	r.end(0)
	if j, d := b.result("b1"); len(j.Passed) != 1 || j.Passed[0] != "api" || d.Outcome != queue.JobInfra || !strings.Contains(d.Detail, "says nothing of web") || !strings.Contains(b.log("b1"), "out/old.jsonl does not count") {
		t.Errorf("%+v %+v\n%s", j, d, b.log("b1"))
	}
}

// Versions of the stock runner put tokens into different places (contracts: 15.4, 17.9 and
// 18.6, as they were recorded), and each gets through its job.
func TestVersions(t *testing.T) {
	for version, x := range map[string]struct{ ask, put string }{
		"15.4": {"", ""}, "17.9": {protocol.HeaderPrivateToken, protocol.HeaderPrivateToken}, "18.6": {protocol.HeaderRunnerToken, protocol.HeaderJobToken},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.runner()
			r.header, r.info.Version = x.ask, version
			b.join(r)
			b.run("b1", unit, "a")
			r.ask()
			for _, bad := range []string{"nobody", b.token[:len(b.token)-1]} {
				other := b.runner()
				other.header, other.token = x.ask, bad
				if _, status, _ := other.askIn(t.Context()); status != http.StatusForbidden {
					t.Errorf("token %q: %d", bad, status)
				}
			}
			if version != "15.4" { // it sends its first message with the first output
				r.update(protocol.Update{State: protocol.StateRunning})
			}
			r.begin()
			raw, _ := json.Marshal(protocol.Update{Token: r.job.Token, State: protocol.StateSuccess, Output: protocol.Output{Bytesize: int64(len(r.sent))}})
			head := map[string]string{protocol.HeaderRequestID: "0123456789abcdef0123456789abcdef"}
			if x.put != "" {
				head[x.put] = r.job.Token
			}
			res, _ := r.send(t.Context(), "PUT", r.path(""), head, raw)
			if res.StatusCode != http.StatusOK || res.Header.Get(protocol.HeaderRequestID) != head[protocol.HeaderRequestID] {
				t.Errorf("%d %v", res.StatusCode, res.Header)
			}
			if j, _ := b.result("b1"); j.Outcome != queue.JobPassed {
				t.Errorf("%+v", j)
			}
			for path, want := range map[string]int{"runners": http.StatusForbidden, "runners/reset_authentication_token": http.StatusBadRequest} {
				body, _ := json.Marshal(protocol.VerifyRequest{Token: b.token})
				if res, _ := r.send(t.Context(), "POST", path, nil, body); res.StatusCode != want {
					t.Errorf("%s: %d", path, res.StatusCode)
				}
			}
			if res, _ := r.send(t.Context(), "GET", "runners/router/discovery", nil, nil); res.StatusCode != http.StatusNotFound {
				t.Errorf("discovery: %d", res.StatusCode)
			}
		})
	}
}

// Jobs get the secrets of their repository, and those of all.
func TestSecretsOfRepositories(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *coordinator.Options) {
		o.Secrets = []workers.Secret{{Name: "KEY", Value: "hunter2-of-all"}, {Name: "KEY", Value: "hunter2-of-shop", Of: "acme/shop"}, {Name: "OTHER", Value: "hunter2-of-other", Of: "acme/other"}}
	})
	r := b.runner()
	b.join(r)
	b.must(b.pool.Run(t.Context(), queue.Build{ID: "b1", Queue: "acme/shop@main", Commit: commit, Jobs: []queue.Job{{Step: unit, Keys: []queue.Key{{Step: unit.Digest(), Target: "a", Hash: "h"}}}}}, "run/b1"))
	var got []string
	for _, v := range r.ask().Variables {
		if v.Masked {
			got = append(got, v.Key+"="+v.Value)
		}
	}
	if len(got) != 1 || got[0] != "KEY=hunter2-of-shop" {
		t.Errorf("%v", got)
	}
	r.begin()
	r.print("hunter2-of-other\n")
	r.end(0)
	b.done("b1")
	if log := b.log("b1"); strings.Contains(log, "hunter2") {
		t.Errorf("%s", log)
	}
}
