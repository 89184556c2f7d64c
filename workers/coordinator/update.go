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

// update takes a heartbeat, or how a job has ended. The same can come several times.
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
	case protocol.StateRunning:
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
	j.mu.Lock()
	if j.length < u.Output.Bytesize && p == running {
		j.mu.Unlock()
		c.status(w, j)
		w.WriteHeader(http.StatusAccepted) // the runner has more of the trace, and says this again
		return
	}
	j.mu.Unlock()
	c.finish(j, u)
	c.status(w, j)
	w.Header().Set(protocol.HeaderJobStatus, string(u.State))
	w.WriteHeader(http.StatusOK)
}

// finish makes the verdict of a job, once.
func (c *Coordinator) finish(j *job, u protocol.Update) {
	c.mu.Lock()
	p := j.phase
	c.close(j)
	c.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	defer func() {
		for _, path := range j.files {
			_ = os.Remove(path) // the folder is emptied at the next start
		}
		j.files = nil
	}()
	if p != running {
		return
	}
	if len(j.line) > 0 {
		j.read(string(j.line))
		j.line = nil
	}
	e := j.exit(u)
	if e.Infra == "" && e.TimedOut == 0 {
		for _, name := range slices.Sorted(maps.Keys(j.files)) {
			j.hand(name)
		}
	}
	done, detail, again := j.trial.End(e)
	done.Cached = j.cached()
	end := workers.EndOf(done, detail, again)
	report := workers.Report{Job: &done, End: &end}
	_ = c.o.Source.Report(context.Background(), j.a.Lease, report) // a lease that is lost needs no end
}

// hand gives the trial a file that the job has uploaded. One that is as it is in the commit
// was not written by the step.
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

// exit says how the step has ended, of what the runner and the script say. Nothing but
// script_failure is a failure, and only of a checkout that was shown.
func (j *job) exit(u protocol.Update) workers.Exit {
	e := workers.Exit{Code: u.ExitCode, Took: time.Since(j.handed)}
	if !j.begun.IsZero() {
		e.Took = time.Since(j.begun)
	}
	if u.State == protocol.StateFailed && e.Code == 0 {
		e.Code = 1
	}
	if j.finished && j.code != 0 {
		e.Code = j.code // executors differ in what they make of a signal
	}
	e.How = fmt.Sprintf("exit status %d", e.Code)
	whole := u.Output.Checksum == "" || u.Output.Checksum == fmt.Sprintf("crc32:%08x", j.sum)
	reason := cmp.Or(u.Failure, protocol.ScriptFailure)
	switch {
	case u.State == protocol.StateFailed && reason == protocol.JobExecutionTimeout && !j.begun.IsZero():
		e.TimedOut = workers.Limit(j.a.Build.Jobs[0], defaultTimeout)
	case u.State == protocol.StateFailed && reason != protocol.ScriptFailure:
		e.Infra = fmt.Sprintf("runner %s: %s", j.machine.name, workers.Clean(string(reason)))
	case j.begun.IsZero() && j.other != "":
		e.Infra = fmt.Sprintf("runner %s has checked out %s in place of the commit", j.machine.name, clip(j.other, 40))
	case j.begun.IsZero():
		e.Infra = fmt.Sprintf("runner %s has not checked the commit out; the log says why", j.machine.name)
	case !whole || u.Output.Bytesize > 0 && u.Output.Bytesize != j.length:
		e.Infra = fmt.Sprintf("what came of the output is not what runner %s has sent", j.machine.name)
	case j.timeout:
		e.TimedOut = workers.Limit(j.a.Build.Jobs[0], defaultTimeout)
	case e.Code == 137 || e.Code == 143:
		e.Lost = true
	}
	return e
}
