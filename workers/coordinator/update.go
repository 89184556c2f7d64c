package coordinator

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// maxDetail is how many bytes are shown of a runner's own message.
const maxDetail = 600

// update takes a heartbeat or the end of a job. Each message can come several times.
func (c *Coordinator) update(w http.ResponseWriter, r *http.Request) {
	var u protocol.Update
	if !body(w, r, &u) {
		return
	}
	j := c.jobOf(w, r, u.Token)
	if j == nil {
		return
	}
	switch u.State {
	case protocol.StateSuccess, protocol.StateFailed:
	case protocol.StateRunning, protocol.StatePending:
		c.beat(j)
		c.status(w, j)
		w.WriteHeader(http.StatusOK)
		return
	default:
		answer(w, http.StatusBadRequest, message{"400 Bad Request: state is running, success or failed"})
		return
	}
	c.beat(j)
	c.mu.Lock()
	p := j.phase
	c.mu.Unlock()
	if p == running {
		switch again, err := c.incomplete(r.Context(), j, u.Output); {
		case err != nil:
			c.o.Log.Warn("read a job's output again", "build", j.a.Build.ID, "machine", j.machine.name, "error", err)
			later(w)
			return
		case again:
			c.status(w, j)
			answer(w, http.StatusPreconditionFailed, message{"412 Precondition Failed: the trace that arrived differs from the one that was sent; send it again from 0"})
			return
		}
	}
	c.finish(j, u)
	c.status(w, j)
	w.Header().Set(protocol.HeaderJobStatus, string(u.State))
	w.WriteHeader(http.StatusOK)
}

// maxResets is how often a runner is asked for all of a trace again.
const maxResets = 3

// incomplete reports whether a runner has to send all of its trace again, because the received
// trace differs from the trace that it has sent. After a restart of the server, no trace was
// received. It then goes on with an empty trace. If that does not help (maxResets), the verdict
// says so.
func (c *Coordinator) incomplete(ctx context.Context, j *job, sent protocol.Output) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.trial == nil || j.resets >= maxResets || j.whole(sent) {
		return false, nil
	}
	if err := c.again(ctx, j, "what came of the output is not what the runner has sent"); err != nil {
		return false, err
	}
	j.resets++
	return true, nil
}

// whole reports whether the received trace has the length and the checksum that its runner
// names, as far as it names them.
func (j *job) whole(sent protocol.Output) bool {
	return (sent.Bytesize == 0 || sent.Bytesize == j.length) && (sent.Checksum == "" || sent.Checksum == fmt.Sprintf("crc32:%08x", j.sum))
}

// finish makes the verdict of a job, once.
func (c *Coordinator) finish(j *job, u protocol.Update) {
	c.mu.Lock()
	p := j.phase
	c.close(j)
	c.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if p != over {
		defer c.free(j)
	}
	defer func() {
		j.dropFiles()
		j.trial, j.report, j.commit = nil, nil, nil
	}()
	if p != running {
		if p != over {
			c.forget(j)
		}
		return
	}
	if len(j.line) > 0 {
		j.stamped(string(j.line))
		j.line = nil
	}
	j.flush()
	e := j.exit(u)
	if e.Infra == "" && e.TimedOut == 0 {
		for _, name := range slices.Sorted(maps.Keys(j.files)) {
			j.hand(name)
		}
	}
	done, detail, again := j.trial.End(e)
	done.Cached = j.cached(u)
	end := workers.EndOf(done, detail, again)
	j.done, j.end = &done, &end
	c.saveLocked(j) // before it is reported: perhaps only the next process can report it
	report := workers.Report{Job: &done, End: &end}
	_ = c.o.Source.Report(context.Background(), j.a.Lease, report) // a lease that is lost needs no end
}

// hand gives the trial a file that the job has uploaded. A file that is the same as in the
// commit was not written by the step.
func (j *job) hand(name string) {
	f, err := os.Open(j.files[name])
	if err != nil {
		j.trial.Notice(fmt.Sprintf("%s cannot be read", workers.Clean(name)))
		return
	}
	defer f.Close()
	if before, err := fs.ReadFile(j.commit, name); err == nil {
		if now, err := io.ReadAll(io.LimitReader(f, int64(len(before))+1)); err == nil && bytes.Equal(now, before) {
			j.trial.Notice(fmt.Sprintf("%s does not count: the commit has it, and the step has not written it", workers.Clean(name)))
			return
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return
		}
	}
	j.trial.File(name, f)
}

// took is how long the step ran. Output comes in pieces, seconds apart, so the time that the
// script prints is more exact than the arrival of its marks. It is cut to the time that is
// possible.
func (j *job) took(seen, most time.Duration) time.Duration {
	switch {
	case j.seconds == nil:
		return seen
	case *j.seconds == 0:
		return min(seen, time.Second)
	default:
		return min(time.Duration(*j.seconds)*time.Second, most)
	}
}

// exit says how the step has ended, from the messages of the runner and the script. Only
// script_failure is a failure, only after a checkout that was shown, and only if the step has not
// passed: runners say it, too, where an upload or a cache fails after the step.
func (j *job) exit(u protocol.Update) workers.Exit {
	e := workers.Exit{Code: u.ExitCode, Took: time.Since(j.handed)}
	if !j.begun.IsZero() {
		e.Took = j.took(time.Since(j.begun), time.Since(j.handed))
	}
	if u.State == protocol.StateFailed && e.Code == 0 {
		e.Code = 1
	}
	if j.finished && j.code != 0 {
		e.Code = j.code // executors report a signal differently
	}
	e.How = fmt.Sprintf("exit status %d", e.Code)
	e.Cut = (u.Cut || !j.finished) && j.report != nil && len(j.report.Files()) == 0 // runners leave out a part of a long output
	reason := cmp.Or(u.Failure, protocol.ScriptFailure)
	switch {
	case u.State == protocol.StateFailed && j.shown && j.finished && j.code == 0 && !j.timeout:
		e.Infra = fmt.Sprintf("runner %s has failed the job after the step had passed (%s): the log says why", j.machine.name, workers.Clean(string(reason)))
		if said := u.Detail[:min(len(u.Detail), maxDetail)]; said != "" {
			e.Infra += ": " + workers.Clean(said)
		}
	case u.State == protocol.StateFailed && reason == protocol.JobExecutionTimeout && j.shown:
		e.TimedOut = workers.Limit(j.a.Build.Jobs[0], defaultTimeout)
	case u.State == protocol.StateFailed && reason != protocol.ScriptFailure:
		e.Infra = fmt.Sprintf("runner %s: %s", j.machine.name, workers.Clean(cmp.Or(u.Detail[:min(len(u.Detail), maxDetail)], string(reason))))
	case !j.shown && j.pointer != "":
		e.Infra = fmt.Sprintf("runner %s has left %q, which Git LFS keeps, as its pointer: install git-lfs there", j.machine.name, j.pointer)
	case !j.shown && j.other != "":
		e.Infra = fmt.Sprintf("runner %s has checked out %s in place of the commit", j.machine.name, clip(j.other, 40))
	case !j.shown:
		e.Infra = fmt.Sprintf("runner %s has not checked the commit out; the log says why", j.machine.name)
	case !j.whole(u.Output):
		e.Infra = fmt.Sprintf("what came of the output is not what runner %s has sent", j.machine.name)
	case j.timeout:
		e.TimedOut = workers.Limit(j.a.Build.Jobs[0], defaultTimeout)
	case e.Code == 137 || e.Code == 143:
		e.Lost = true
	}
	return e
}
