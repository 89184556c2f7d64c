package coordinator_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// A job outlives the server: it is killed after any message of the runner, and once before
// each time. The runner goes on as if nothing had been, no part is handed out twice, and
// the result is the one that the whole output has.
func TestJobsOutliveTheServer(t *testing.T) {
	t.Parallel()
	step := config.Step{Name: "unit", Run: "go vet {targets} && go test -json {targets}", Report: config.ReportGoTestJSON, Timeout: time.Minute}
	script := []func(*runner){
		func(r *runner) { r.update(protocol.Update{State: protocol.StateRunning}) },
		func(r *runner) { r.begin() },
		func(r *runner) {
			line := func(name string) string { return r.reportMark() + name + "\n" }
			r.say(line("") + `{"Action":"pass","Package":"example.com/shop/cart","Elapsed":2}` + "\n")
		},
		func(r *runner) { r.update(protocol.Update{State: protocol.StateRunning}) },
		func(r *runner) {
			r.say(`{"Action":"fail","Package":"example.com/shop/web","Elapsed":1}` + "\n" + r.mark() + " end 1\n")
		},
		func(r *runner) { r.end(1) },
	}
	for at := -1; at <= len(script); at++ {
		b := newBench(t)
		r := b.runner()
		b.join(r)
		b.run("b1", step, "./cart", "./web")
		r.ask()
		for i, say := range script {
			if i == at || at == len(script) {
				b.kill()
				b.run("b1", step, "./cart", "./web")
			}
			say(r)
		}
		j, d := b.result("b1")
		if j.Outcome != queue.JobFailed || len(j.Passed) != 1 || j.Passed[0] != "./cart" || len(j.Failed) != 1 || d.Outcome != queue.JobFailed || j.Machine != "box-6789ab-1" {
			t.Errorf("killed before message %d: %+v %+v\n%s", at, j, d, b.log("b1"))
		}
		if _, ok := b.c.Job(r.job.Token); ok {
			t.Errorf("killed before message %d: the token outlives the job", at)
		}
		if strings.Contains(b.log("b1"), r.mark()) || strings.Contains(b.log("b1"), r.job.Token) {
			t.Errorf("%s", b.log("b1"))
		}
	}
}

// say prints, as the stock runner does: where the server says so it goes on somewhere else.
func (r *runner) say(text string) {
	r.b.t.Helper()
	res := r.printAt(len(r.sent), text)
	r.sent = append(r.sent, text...)
	if res != nil && res.StatusCode == http.StatusRequestedRangeNotSatisfiable && res.Header.Get("Range") == "0-0" {
		all := string(r.sent)
		res = r.printAt(0, all)
	}
	if res == nil || res.StatusCode != http.StatusAccepted {
		r.b.t.Fatalf("trace: %+v", res)
	}
}

// reportMark is what the command prints where its last part begins.
func (r *runner) reportMark() string {
	for _, v := range r.job.Variables {
		if v.Key == "SUBMITQUEUE_SCRIPT" {
			_, rest, _ := strings.Cut(v.Value, "&& echo ")
			mark, _, _ := strings.Cut(rest, " ")
			return mark
		}
	}
	return ""
}

// What a job has come to is told by the next server where this one was killed before the
// queue had heard it; parts that nobody has are run, and those that are held are not.
func TestResultsOutliveTheServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	other := unit
	other.Name = "lint"
	keys := func(s config.Step) queue.Job {
		return queue.Job{Step: s, Keys: []queue.Key{{Step: s.Digest(), Target: "a", Hash: "h"}}}
	}
	build := queue.Build{ID: "b1", Commit: commit, Jobs: []queue.Job{keys(unit), keys(other)}}
	b.must(b.pool.Run(t.Context(), build, "run/1"))
	r.ask()
	first := r.job.JobInfo.Name
	r.begin()
	r.say(r.mark() + " end 0\n")
	r.end(0)
	b.kill()
	r.end(0) // the runner has not heard that it was taken
	b.must(b.pool.Run(t.Context(), build, "run/2"))
	r.ask()
	if r.job.JobInfo.Name == first {
		t.Errorf("%s is handed out twice", first)
	}
	r.begin()
	r.end(0)
	b.must(b.pool.Run(t.Context(), build, "run/3"))
	if d := b.done("b1"); d.Outcome != queue.JobPassed || d.Action != "run/2" {
		t.Errorf("%+v", d)
	}
	steps := map[queue.Digest]int{}
	for _, j := range eventsOf[queue.JobDone](b) {
		steps[j.Step]++
	}
	if len(steps) != 2 {
		t.Errorf("results of %v", steps)
	}
}

// What was uploaded before the server was killed counts after it.
func TestUploadsOutliveTheServer(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *coordinator.Options) {
		o.Files = func(context.Context, queue.Build) (fs.FS, error) { return fstest.MapFS{}, nil }
	})
	r := b.runner()
	b.join(r)
	step := config.Step{Name: "unit", Run: "make test", Report: config.ReportTargetsJSON, ReportFiles: []string{"out/*.jsonl"}, Timeout: time.Minute}
	b.run("b1", step, "api")
	r.ask()
	r.begin()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, err := z.Create("out/new.jsonl")
	b.must(err)
	_, _ = w.Write([]byte(`{"target":"api","result":"passed","seconds":2}` + "\n"))
	b.must(z.Close())
	if res := r.upload("zip", "artifacts.zip", archive.Bytes()); res.StatusCode != http.StatusCreated {
		t.Fatalf("%d", res.StatusCode)
	}
	b.must(os.WriteFile(filepath.Join(b.o.Dir, "files", "stray"), nil, 0o600))
	b.kill()
	b.run("b1", step, "api")
	r.end(0)
	if j, d := b.result("b1"); len(j.Passed) != 1 || d.Outcome != queue.JobPassed {
		t.Errorf("%+v %+v\n%s", j, d, b.log("b1"))
	}
	if left, err := os.ReadDir(filepath.Join(b.o.Dir, "files")); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A server that ends says nothing of its jobs to anybody; one that is closed answers that it
// is not there, and no runner gives its job up for that.
func TestServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	b.run("b1", unit, "a")
	r.ask()
	r.begin()
	b.stop()
	if res := r.printAt(len(r.sent), "x\n"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d", res.StatusCode)
	}
	if res := r.update(protocol.Update{State: protocol.StateRunning}); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d", res.StatusCode)
	}
	if len(eventsOf[queue.BuildDone](b)) != 0 {
		t.Errorf("%+v", eventsOf[queue.BuildDone](b))
	}
	b.start(time.Minute)
	b.run("b1", unit, "a")
	r.end(0)
	if j, _ := b.result("b1"); j.Outcome != queue.JobPassed {
		t.Errorf("%+v", j)
	}
}

// Jobs of a build that has become another one, or was cancelled, are given up; a record that
// is damaged is none, and holds no token.
func TestWhatIsNotTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	b.run("b1", unit, "a")
	r.ask()
	r.begin()
	records, err := filepath.Glob(filepath.Join(b.o.Dir, "jobs", "*.json"))
	b.must(err)
	raw, err := os.ReadFile(records[0])
	b.must(err)
	if len(records) != 1 || bytes.Contains(raw, []byte(r.job.Token)) || bytes.Contains(raw, []byte("hunter2")) {
		t.Errorf("%v: %s", records, raw)
	}
	b.must(os.WriteFile(filepath.Join(b.o.Dir, "jobs", "7.json"), raw[:len(raw)/2], 0o600))
	b.kill()
	changed := unit
	changed.Run = "echo another test of {targets}"
	b.run("b1", changed, "a")
	b.until("it is cancelled", func() bool {
		return r.update(protocol.Update{State: protocol.StateRunning}).Header.Get(protocol.HeaderJobStatus) == "canceled"
	})
	b.kill() // the cancelled one holds its slot after that, too
	if m := b.c.Machines(); len(m) != 1 || len(m[0].Jobs) != 1 || !m[0].Jobs[0].Ending {
		t.Errorf("%+v", m)
	}
	r.update(protocol.Update{State: protocol.StateFailed, Failure: protocol.UnknownFailure})
	if m := b.c.Machines(); len(m[0].Jobs) != 0 {
		t.Errorf("%+v", m)
	}
	b.kill()
	if res := r.update(protocol.Update{State: protocol.StateRunning}); res.StatusCode != http.StatusForbidden {
		t.Errorf("%d", res.StatusCode)
	}
}
