package workers

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/report"
)

// task is one job to be run.
type task struct {
	build   queue.Build
	job     queue.Job
	reports []*report.Report // of the step, one for each time that it may be run; nil: it has none
	log     io.Writer
	ended   func(queue.JobOutcome) // is told how each attempt has ended
}

// attempt runs one step once. The detail, for people, is empty when it passed and its report
// left nothing out. again is the pattern of the step's retry_on by which a failure does not
// count, or "".
func (r *Runner) attempt(ctx context.Context, t task, read *report.Report) (done queue.JobDone, detail, again string) {
	trial := newTrial(t.build, t.job, TrialOptions{Report: read, Log: t.log, Limit: r.o.LogLimit}, r.mask)
	files, err := r.expect(ctx, read)
	if err != nil {
		done, detail, again = trial.End(Exit{Infra: "cannot look for files of its report: " + err.Error()})
		done.Machine = r.o.Machine
		return done, detail, again
	}
	defer files.close()
	start := time.Now()
	e, err := r.shell(ctx, t, trial)
	x := Exit{Code: e.code, Took: time.Since(start), Stopped: e.stopped, Lost: lost(e), How: how(e)}
	// Output left out of the log says nothing of the step; a full disk may.
	lowDisk := r.lowDisk()
	switch {
	case err != nil:
		x.Infra = "cannot start the shell: " + err.Error()
	case e.left > 0 && r.files.guest != nil:
		x.Infra = "processes of it cannot be killed"
	case e.timedOut:
		x.TimedOut = r.timeout(t.job)
	case e.code != 0 && lowDisk != "" && !lost(e):
		x.Infra = lowDisk
	}
	if e.left > 0 {
		r.o.Log.Error("processes of a step cannot be killed", "build", t.build.ID, "step", t.job.Step.Name, "left", e.left)
	}
	if !x.Stopped && x.Infra == "" && x.TimedOut == 0 && !x.Lost {
		if err := files.hand(ctx, trial); err != nil {
			x.Infra = "its report cannot be read: " + err.Error()
		}
	}
	done, detail, again = trial.End(x)
	done.Machine = r.o.Machine
	return done, detail, again
}

// unknownDetail says for people which targets a report left out.
func unknownDetail(step string, unknown []string) string {
	more := ""
	if n := len(unknown) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("step %s: it ended well, but its report says nothing of %s%s",
		clean(step), lastBytes(clean(unknown[0]), 200), more)
}

// excuse removes the failures of a failed job that match its step's retry_on. If no failure is
// left, it makes the job an infrastructure error and returns the pattern. A target that is
// named as failed is judged by its own lines.
func excuse(done *queue.JobDone, step config.Step, tail string) (pattern string) {
	if len(step.RetryOn) == 0 || done.Outcome != queue.JobFailed && done.Outcome != queue.JobTimeout || done.Cut {
		return ""
	}
	if len(done.Failed) == 0 {
		pattern = step.RetriedFor(tail)
	} else {
		var left []queue.TargetFailure
		for _, f := range done.Failed {
			if p := step.RetriedFor(f.Tail); p == "" {
				left = append(left, f)
			} else if pattern == "" {
				pattern = p
			}
		}
		if done.Failed = left; len(left) > 0 {
			return "" // the others stay unknown
		}
	}
	if pattern != "" {
		done.Outcome, done.Passed = queue.JobInfra, nil
	}
	return pattern
}

// shell runs the step's command.
func (r *Runner) shell(ctx context.Context, t task, trial *Trial) (exit, error) {
	targets := t.job.Targets()
	if err := r.files.write(r.files.targets, lines(t.job.Step.ToolNames(targets))); err != nil {
		return exit{}, err
	}
	argv := append([]string(nil), r.o.Shell...)
	run := trial.Command()
	if len(run) > maxInline {
		if err := r.files.write(r.files.script, []byte(run)); err != nil {
			return exit{}, err
		}
		argv = append(argv, `. "$0"`, r.files.script)
	} else {
		argv = append(argv, run)
	}
	c := command{
		argv:    argv,
		dir:     r.files.checkout,
		env:     environment(r.o, t.build, t.job, r.files),
		mark:    r.files.root,
		guest:   r.files.guest,
		timeout: r.timeout(t.job),
		grace:   r.o.Grace,
		out:     trial,
	}
	return c.run(ctx)
}

func lines(items []string) []byte {
	if len(items) == 0 {
		return nil
	}
	return []byte(strings.Join(items, "\n") + "\n")
}

// timeout is the time after which a job is ended.
func (r *Runner) timeout(j queue.Job) time.Duration { return Limit(j, r.o.Timeout) }

// lowDisk says for people that the disk is full, or "". It removes caches that are not in use
// first.
func (r *Runner) lowDisk() string {
	if free, ok := freeBytes(r.files.root); ok && free < r.o.MinFree && r.kept != nil {
		if err := r.kept.Empty(); err != nil {
			r.o.Log.Warn("empty the caches of a full disk", "dir", r.files.root, "error", err)
		}
	}
	if free, ok := freeBytes(r.files.root); ok && free < r.o.MinFree {
		return fmt.Sprintf("disk full: %d MiB free in %s", free>>20, r.files.root)
	}
	return ""
}

// Statuses of a shell that cannot run a command.
const (
	notExecutable = 126
	notFound      = 127
)

// lost says whether a command was ended from outside: by a signal that programs do not raise by
// their own fault, seen by us or by the shell.
func lost(e exit) bool {
	const byShell = 128
	return e.signal != "" && !e.fault || e.code == byShell+9 || e.code == byShell+15
}

// how says for people how a command ended.
func how(e exit) string {
	if e.signal != "" {
		return "signal: " + e.signal
	}
	return fmt.Sprintf("exit status %d", e.code)
}
