package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
	"github.com/submitqueue/submitqueue/workers/report"
)

// phase is where a job stands.
type phase int

const (
	handed phase = iota // not heard of yet
	running
	ending // cancelled, and its runner has not said that it has ended
	over
)

// job is a shard that a machine runs.
type job struct {
	id      int64
	token   string
	mark    string
	mask    func(string) string // of what nobody is shown
	a       workers.Assignment
	machine *machine
	slot    int
	trial   *workers.Trial
	commit  fs.FS          // its files, before the step
	report  *report.Report // nil: the exit status tells
	caches  []protocol.Cache
	log     io.Writer
	handed  time.Time
	gone    chan struct{} // closed when it is over

	// The coordinator's lock guards these.
	phase phase
	heard time.Time
	ended time.Time

	mu       sync.Mutex // of the trace
	length   int64
	sum      uint32
	line     []byte // that has not ended
	long     bool
	begun    time.Time // the checkout was shown to be the commit; zero: not yet
	other    string    // the commit that was checked out instead
	finished bool      // the step has ended
	code     int       // as the script says
	timeout  bool      // the script has ended the step for taking too long
	files    map[string]string
	uploaded int64
}

// maxTrace bounds a job's trace, and maxTraceLine the part of a line that is read.
const (
	maxTrace     = 1 << 30
	maxTraceLine = 256 << 10
)

// jobOf returns the job that a request is about, with the status that its answer is to
// have. It answers where there is none: 403 has the runner give the job up.
func (c *Coordinator) jobOf(w http.ResponseWriter, r *http.Request, inBody string) *job {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	token := tokenOf(r, inBody)
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.tokens[hashOf(token)]
	if err != nil || token == "" || j == nil || j.id != id {
		answer(w, http.StatusForbidden, message{"403 Forbidden: this server has no such job, or its token has ended"})
		return nil
	}
	j.heard = time.Now()
	j.machine.seen = j.heard
	if j.phase == handed {
		j.phase = running
	}
	return j
}

// beat reports to the source that a job is alive, and takes in that it is cancelled.
func (c *Coordinator) beat(j *job) {
	c.mu.Lock()
	p := j.phase
	c.mu.Unlock()
	if p != running {
		return
	}
	select {
	case <-j.a.Stop:
		c.cancel(j)
	default:
		if err := c.o.Source.Report(context.Background(), j.a.Lease, workers.Report{}); errors.Is(err, workers.ErrLost) {
			c.cancel(j)
		}
	}
}

// cancel ends a job for the pool, at once. Its machine's slot is taken until the machine
// says that it has ended.
func (c *Coordinator) cancel(j *job) {
	c.mu.Lock()
	if j.phase == ending || j.phase == over {
		c.mu.Unlock()
		return
	}
	j.phase = ending
	c.mu.Unlock()
	_ = c.o.Source.Report(context.Background(), j.a.Lease, workers.Report{End: &workers.End{Outcome: queue.JobStopped, Detail: "cancelled"}})
}

// giveBack returns a job of which nothing has run.
func (c *Coordinator) giveBack(j *job) {
	c.mu.Lock()
	was := j.phase
	if was == handed {
		c.close(j)
	}
	c.mu.Unlock()
	if was == handed {
		c.o.Source.Return(j.a.Lease)
	}
}

// close ends a job; the caller holds mu. Its token opens nothing any more.
func (c *Coordinator) close(j *job) {
	if j.phase == over {
		return
	}
	j.phase, j.ended = over, time.Now()
	close(j.gone)
	if j.machine.jobs[j.slot] == j {
		delete(j.machine.jobs, j.slot)
	}
}

// status puts what has become of a job into an answer's head.
func (c *Coordinator) status(w http.ResponseWriter, j *job) {
	c.mu.Lock()
	p := j.phase
	c.mu.Unlock()
	s := protocol.StateRunning
	if p == ending || p == over {
		s = protocol.StateCanceled
	}
	w.Header().Set(protocol.HeaderJobStatus, string(s))
	w.Header().Set(protocol.HeaderUpdateInterval, "3")
}

// trace takes a piece of a job's output, strictly in order.
func (c *Coordinator) trace(w http.ResponseWriter, r *http.Request) {
	j := c.jobOf(w, r, "")
	if j == nil {
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
	if err != nil {
		answer(w, http.StatusBadRequest, message{"400 Bad Request: the piece of the trace is cut off, or too large"})
		return
	}
	var from, to int64
	if _, err := fmt.Sscanf(r.Header.Get("Content-Range"), "%d-%d", &from, &to); err != nil {
		answer(w, http.StatusBadRequest, message{"400 Bad Request: Content-Range is FIRST-LAST"})
		return
	}
	j.mu.Lock()
	fits := from == j.length && !j.finishedReading()
	if fits {
		j.take(raw)
	}
	length := j.length
	j.mu.Unlock()
	c.beat(j)
	c.status(w, j)
	w.Header().Set("Range", fmt.Sprintf("0-%d", length))
	if !fits {
		answer(w, http.StatusRequestedRangeNotSatisfiable, message{"416 Range Not Satisfiable"})
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// finishedReading reports whether the trace is as long as it may be.
func (j *job) finishedReading() bool { return j.length >= maxTrace }

// take reads a piece of the trace.
func (j *job) take(raw []byte) {
	j.length += int64(len(raw))
	j.sum = crc32.Update(j.sum, crc32.IEEETable, raw)
	for len(raw) > 0 {
		part, rest, ended := bytes.Cut(raw, []byte{'\n'})
		if room := maxTraceLine - len(j.line); len(part) > room {
			part, j.long = part[:room], true
		}
		j.line = append(j.line, part...)
		if ended {
			j.read(string(j.line))
			j.line, j.long = j.line[:0], false
		}
		raw = rest
	}
}

// read reads a line of the trace. What the runner itself says before and behind the step
// goes to the log only.
func (j *job) read(line string) {
	text := strings.TrimSuffix(line, "\r")
	rest, marked := strings.CutPrefix(text, j.mark+" ")
	switch {
	case marked && j.begun.IsZero():
		if commit, ok := strings.CutPrefix(rest, "begin "); ok {
			if commit == string(j.a.Build.Commit) {
				j.begun = time.Now()
			} else {
				j.other = commit
			}
		}
	case marked && !j.finished:
		if code, ok := strings.CutPrefix(rest, "end "); ok {
			if n, err := strconv.Atoi(code); err == nil {
				j.finished, j.code = true, n
			}
		} else if rest == "timeout" {
			j.timeout = true
		}
	case !j.begun.IsZero() && !j.finished:
		_, _ = j.trial.Write([]byte(line + "\n")) // never fails
	case !strings.Contains(text, j.mark): // not the script itself, which some runners print
		_, _ = io.WriteString(j.log, j.mask(workers.Clean(text))+"\n")
	}
}

// sweep gives back jobs that were never heard of, ends those whose runner is silent, and
// forgets what has ended.
func (c *Coordinator) sweep(ctx context.Context) {
	tick := time.NewTicker(max(min(c.o.Silent, c.o.Lease)/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			c.look(now)
			c.refresh()
		}
	}
}

// keepJob is how long an ended job's last messages are answered.
const keepJob = 10 * time.Minute

func (c *Coordinator) look(now time.Time) {
	var back []*job
	c.mu.Lock()
	for id, j := range c.jobs {
		switch {
		case j.phase == over && now.Sub(j.ended) > keepJob:
			delete(c.jobs, id)
			delete(c.tokens, hashOf(j.token))
		case j.phase == over:
		case j.phase == handed && now.Sub(j.heard) > c.o.Silent:
			back = append(back, j)
		case now.Sub(j.heard) > c.o.Lease: // the pool ends it, too
			c.close(j)
		}
	}
	for key, m := range c.machines {
		if len(m.jobs)+len(m.asking) == 0 && now.Sub(m.seen) > keepMachine {
			delete(c.machines, key)
		}
	}
	c.mu.Unlock()
	for _, j := range back {
		c.o.Log.Warn("a runner was handed a job and did not begin: it goes to another", "machine", j.machine.name, "build", j.a.Build.ID)
		c.giveBack(j)
	}
}

// emptied makes a folder, and empties it.
func emptied(dir string) error {
	if err := workers.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}
