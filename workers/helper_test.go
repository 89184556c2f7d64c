package workers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// tree is a Checkouter whose every commit has the same files.
type tree map[string]string

func (files tree) Checkout(_ context.Context, commit queue.CommitID, dir string) (func() error, error) {
	if commit == "missing" {
		return nil, errors.New("fatal: no such commit")
	}
	if err := RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	return func() error { return nil }, nil
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// slot returns a runner with quick time-outs.
func slot(t *testing.T, files tree, change ...func(*RunnerOptions)) *Runner {
	t.Helper()
	o := RunnerOptions{Dir: filepath.Join(t.TempDir(), "slot"), Checkout: files, Grace: 200 * time.Millisecond, Log: quiet()}
	for _, c := range change {
		c(&o)
	}
	r, err := NewRunner(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func step(run string) config.Step {
	return config.Step{Name: "unit", Run: run, Scope: config.ScopeTargets, Report: config.ReportExitCode}
}

func job(s config.Step, targets ...string) queue.Job {
	j := queue.Job{Step: s}
	for _, t := range targets {
		j.Keys = append(j.Keys, queue.Key{Step: s.Digest(), Target: t, Hash: "h"})
	}
	return j
}

func build(id string, jobs ...queue.Job) queue.Build {
	return queue.Build{ID: queue.BuildID(id), Commit: "c0ffee", Main: "ba5e", Change: "7.abc", Attempt: 1, Jobs: jobs}
}

// result is what a runner said of a build.
type result struct {
	end  End
	jobs []queue.JobDone
	log  string
}

func execute(ctx context.Context, r *Runner, b queue.Build) result {
	var res result
	var log bytes.Buffer
	res.end = r.Build(ctx, b, Output{Log: &log, Job: func(j queue.JobDone) { res.jobs = append(res.jobs, j) }})
	res.log = log.String()
	return res
}

// one runs a build of one job and returns its result.
func one(t *testing.T, r *Runner, j queue.Job) (queue.JobDone, result) {
	t.Helper()
	res := execute(t.Context(), r, build("b1", j))
	if len(res.jobs) != 1 {
		t.Fatalf("%d jobs reported, want 1; end %+v, log:\n%s", len(res.jobs), res.end, res.log)
	}
	return res.jobs[0], res
}

// until waits for a condition.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	limit := time.After(3 * time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// recorder keeps all events of a controller.
type recorder struct {
	mu     sync.Mutex
	bodies []queue.Body
	closed bool
}

func record(c Controller) *recorder {
	r := &recorder{}
	go func() {
		for b := range c.Events() {
			r.mu.Lock()
			r.bodies = append(r.bodies, b)
			r.mu.Unlock()
		}
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
	}()
	return r
}

func eventsOf[T queue.Body](r *recorder) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []T
	for _, b := range r.bodies {
		if e, ok := b.(T); ok {
			out = append(out, e)
		}
	}
	return out
}

func (r *recorder) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// done waits for the n-th BuildDone and returns it.
func (r *recorder) done(t *testing.T, n int) queue.BuildDone {
	t.Helper()
	until(t, "BuildDone", func() bool { return len(eventsOf[queue.BuildDone](r)) >= n })
	return eventsOf[queue.BuildDone](r)[n-1]
}
