package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Builder executes one build at a time. Runner is the one that runs processes.
type Builder interface {
	// Build executes all jobs and returns when nothing of the build runs any
	// more. When ctx ends, the build is cancelled.
	Build(ctx context.Context, b queue.Build, out Output) End
}

// Worker is an agent at work: it pulls assignments from a source, lets its
// builder execute them, and reports.
type Worker struct {
	Source  Source
	Agent   Agent
	Builder Builder
	Unready func() string // says why it takes no builds at the moment, or ""; nil: it always does
	Log     *slog.Logger
}

// Waits of a worker after an error of its source.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
)

// Serve works until ctx ends, when it kills the running build, or until the source has no more
// work to give. A build that panics is an infrastructure error; the worker goes on.
func (w Worker) Serve(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		a, err := w.next(ctx)
		switch {
		case errors.Is(err, errUnready):
		case errors.Is(err, ErrClosed) || ctx.Err() != nil && err != nil:
			return
		case err != nil:
			w.Log.Warn("ask for work", "agent", w.Agent.Name, "error", err)
			t := time.NewTimer(pause)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
			}
			pause = min(2*pause, lastPause)
		default:
			pause = firstPause
			w.execute(ctx, a)
		}
	}
}

// errUnready says that a worker has stopped asking, because it could not build.
var errUnready = errors.New("workers: not ready")

// readyEvery is how often a worker looks whether it can build.
const readyEvery = time.Second

// next waits until the worker can build, and asks for work as long as it can.
func (w Worker) next(ctx context.Context) (Assignment, error) {
	if w.Unready == nil {
		return w.Source.Next(ctx, w.Agent)
	}
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for told := false; ; told = true {
		why := w.Unready()
		if why == "" {
			break
		}
		if !told {
			w.Log.Warn("takes no builds before that is seen to", "agent", w.Agent.Name, "why", why)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Assignment{}, ctx.Err()
		}
	}
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan struct{})
	defer func() { stop(nil); <-done }()
	go func() {
		defer close(done)
		for {
			select {
			case <-tick.C:
				if w.Unready() != "" {
					stop(errUnready)
				}
			case <-asking.Done():
				return
			}
		}
	}()
	a, err := w.Source.Next(asking, w.Agent)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(asking), errUnready) {
		err = errUnready
	}
	return a, err
}

// execute runs one assignment and gives its lease back.
func (w Worker) execute(ctx context.Context, a Assignment) {
	buildCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	say := func(r Report) {
		// The end of a build must not keep its last reports from the source.
		if err := w.Source.Report(context.WithoutCancel(ctx), a.Lease, r); errors.Is(err, ErrLost) {
			cancel()
		} else if err != nil {
			w.Log.Warn("report", "agent", w.Agent.Name, "build", a.Build.ID, "error", err)
		}
	}
	watched, ended, stop := make(chan struct{}), make(chan struct{}), a.Stop
	go func() {
		defer close(watched)
		beat := time.NewTicker(max(a.Beat, time.Millisecond))
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				say(Report{})
			case <-stop:
				cancel()
				stop = nil
			case <-ended:
				return
			}
		}
	}()
	end := w.build(buildCtx, a.Build, Output{
		Log: logReports(say),
		Job: func(j queue.JobDone) { say(Report{Job: &j}) },
	})
	close(ended)
	<-watched
	if ctx.Err() != nil && end.Outcome == queue.JobStopped {
		end = End{Outcome: queue.JobInfra, Detail: "agent " + w.Agent.Name + " was shut down"}
	}
	say(Report{End: &end})
}

// build turns a panic into an infrastructure error.
func (w Worker) build(ctx context.Context, b queue.Build, out Output) (end End) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.Error("build panicked", "agent", w.Agent.Name, "build", b.ID, "panic", p, "stack", string(debug.Stack()))
			end = End{Outcome: queue.JobInfra, Detail: lastBytes(fmt.Sprintf("agent %s panicked: %v", w.Agent.Name, p), 500)}
		}
	}()
	return w.Builder.Build(ctx, b, out)
}

// logReports writes to a build's log by reports.
type logReports func(Report)

// Write implements io.Writer. It never fails: a log that is not taken is no
// reason to stop a build.
func (f logReports) Write(p []byte) (int, error) {
	f(Report{Log: p})
	return len(p), nil
}
