package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
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
	handed phase = iota // its runner has not reported yet
	running
	ending // cancelled, and its runner has not reported its end
	over
)

// job is a shard that a machine runs.
type job struct {
	id      int64
	hash    string // of its token
	mark    string // that its script prints
	reports string // that its command prints for the report
	a       workers.Assignment
	agent   workers.Agent
	machine *machine
	slot    int
	handed  time.Time
	gone    chan struct{} // closed when it is over

	// The coordinator's lock guards these.
	phase phase
	heard time.Time
	ended time.Time

	mu     sync.Mutex // guards the trace and its readers
	token  string     // "": it was handed out before this process, and its runner has not been heard of since
	trial  *workers.Trial
	mask   func(string) string // hides secrets
	commit fs.FS               // its files, before the step
	report *report.Report      // nil: the exit status tells
	caches []protocol.Cache
	large  []string // files that Git LFS keeps, which must not be pointers
	log    io.Writer
	done   *queue.JobDone // the verdict
	end    *workers.End

	length   int64
	sum      uint32
	line     []byte // that has not ended
	long     bool
	first    bool              // the first line has come
	stamps   bool              // each line begins with a time
	held     map[string]string // by stream: a line without its stamp, which the next one may go on with
	shown    bool              // the checkout was shown to be the commit
	begun    time.Time         // when it was; zero: not yet
	other    string            // the commit that was checked out instead
	pointer  string            // a file of Git LFS that is its pointer
	finished bool              // the step has ended
	code     int               // as the script says
	seconds  *int              // that it took, as the script says
	timeout  bool              // the script has ended the step for taking too long
	resets   int               // how often the runner was asked for all of the trace again
	files    map[string]string
	uploaded int64
}

// jobOf returns the job that a request is about, and notes that its runner has reported. If it
// returns nil, it has answered the request: 403 has the runner give the job up.
func (c *Coordinator) jobOf(w http.ResponseWriter, r *http.Request, inBody string) *job {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	token := tokenOf(r, inBody)
	c.mu.Lock()
	j := c.tokens[hashOf(token)]
	known := err == nil && token != "" && j != nil && j.id == id
	live := known && (j.phase == handed || j.phase == running)
	c.mu.Unlock()
	if !known {
		answer(w, http.StatusForbidden, message{"403 Forbidden: this server has no such job, or its token has ended"})
		return nil
	}
	if live && !c.met(w, r, j, token) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	j.heard = time.Now()
	j.machine.seen = j.heard
	if j.phase == handed {
		j.phase = running
	}
	return j
}

// met prepares to read a job that an earlier process handed out, at the first message of its
// runner. If that is not possible yet, it answers the request, and the runner sends it again.
func (c *Coordinator) met(w http.ResponseWriter, r *http.Request, j *job, token string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.trial != nil || j.end != nil {
		return true
	}
	j.token = token
	if err := c.again(r.Context(), j, "the server was started again"); err != nil {
		c.o.Log.Warn("go on with a job that was handed out before the start", "build", j.a.Build.ID, "machine", j.machine.name, "error", err)
		later(w)
		return false
	}
	return true
}

// beat reports to the source that a job is alive, and cancels the job if the source has given
// it up.
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
		if err := c.o.Source.Report(context.Background(), j.a.Lease, workers.Report{}); errors.Is(err, workers.ErrLost) && c.live.Err() == nil {
			c.cancel(j)
		}
	}
}

// cancel ends a job for the pool, at once. Its machine's slot stays taken until the machine
// says that the job has ended.
func (c *Coordinator) cancel(j *job) {
	if !c.mayEnd(j) {
		return
	}
	_ = c.o.Source.Report(context.Background(), j.a.Lease, workers.Report{End: &workers.End{Outcome: queue.JobStopped, Detail: "cancelled"}})
}

// mayEnd makes a job one that is ending, and reports whether it was neither ending nor over. It
// saves that before any runner is told of it: else a server that starts then would let the job
// run on.
func (c *Coordinator) mayEnd(j *job) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	done := func() bool { return j.phase == ending || j.phase == over }
	c.mu.Lock()
	was := done()
	c.mu.Unlock()
	if was {
		return false
	}
	c.saveAs(j, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if done() {
		return false
	}
	j.phase = ending
	return true
}

// giveBack gives a job that has not begun back to the source.
func (c *Coordinator) giveBack(j *job) {
	c.mu.Lock()
	was := j.phase
	if was == handed {
		c.close(j)
	}
	c.mu.Unlock()
	if was == handed {
		c.o.Source.Return(j.a.Lease)
		c.unsave(j)
		c.free(j)
	}
}

// close ends a job; the caller holds mu. Its token opens nothing any more. Its slot stays taken
// until free: an agent that asks the source from a slot with a known job has lost that job.
func (c *Coordinator) close(j *job) {
	if j.phase == over {
		return
	}
	j.phase, j.ended = over, time.Now()
	close(j.gone)
}

// free frees a job's slot, after the source was told that the job has ended.
func (c *Coordinator) free(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freeLocked(j)
}

func (c *Coordinator) freeLocked(j *job) {
	if j.machine.jobs[j.slot] == j {
		delete(j.machine.jobs, j.slot)
		c.leave(j.machine)
	}
}

// status puts the state of a job into the headers of an answer.
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

// newJob makes the job of an assignment.
func (c *Coordinator) newJob(ctx context.Context, a workers.Assignment, m *machine, slot int) (*job, error) {
	token := "sqjt-" + rand.Text()
	j := &job{hash: hashOf(token), mark: report.NewMark(), reports: report.NewMark(), a: a, machine: m, slot: slot, handed: time.Now(), heard: time.Now(), gone: make(chan struct{}), files: map[string]string{}}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.token = token
	if err := c.prepare(ctx, j); err != nil {
		return nil, err
	}
	commands := c.environments()
	c.mu.Lock()
	defer c.mu.Unlock()
	j.agent = m.agent(slot, commands)
	c.last++
	j.id = c.last
	c.add(j)
	return j, nil
}

// add registers a job; the caller holds mu.
func (c *Coordinator) add(j *job) {
	c.jobs[j.id] = j
	c.tokens[j.hash] = j
	if j.phase == over {
		return
	}
	j.machine.jobs[j.slot] = j
	if j.phase == ending {
		return
	}
	go func() {
		select {
		case <-j.a.Stop:
			c.cancel(j)
		case <-j.gone:
		case <-c.live.Done():
		}
	}()
}

// prepare makes the readers of a job's trace, to read it from its beginning; the caller holds
// the job's lock.
func (c *Coordinator) prepare(ctx context.Context, j *job) error {
	b, work := j.a.Build, j.a.Build.Jobs[0]
	var rep *report.Report
	files := fs.FS(nothing{})
	if named := work.Step.NamesTargets(); named || len(work.Step.Caches) > 0 {
		var err error
		if c.o.Files != nil {
			files, err = c.o.Files(context.WithoutCancel(ctx), b) // they are read at the end, too
		}
		if err == nil && named {
			rep, err = report.All().Again(files, work.Step, work.Targets(), j.reports)
		}
		if err != nil {
			return err
		}
	}
	if c.o.Files != nil && len(work.Step.Caches) > 0 && !c.o.NoCaches {
		c.mu.Lock()
		platform := j.machine.platform()
		c.mu.Unlock()
		j.caches = CachesOf(files, b, platform)
	}
	if work.Step.Checkout.LFS.On() && c.o.Large != nil {
		var err error
		if j.large, err = c.o.Large(ctx, b); err != nil {
			return err
		}
		if slices.ContainsFunc(j.large, func(path string) bool { return strings.ContainsAny(path, "\n\x00") }) {
			return errors.New("a file of Git LFS has a line break in its name, which no runner can be asked about: rename it")
		}
	}
	secrets := append(slices.Clone(c.o.Mask), j.token)
	for _, s := range c.o.Secrets { // those of other repositories as well: a secret is shown to nobody
		secrets = append(secrets, s.Value)
	}
	j.commit, j.report, j.mask, j.log = files, rep, workers.Mask(secrets), sourceLog{c.o.Source, j.a.Lease}
	j.length, j.sum, j.line, j.long = 0, 0, nil, false
	j.first, j.stamps, j.held = false, false, nil
	j.shown, j.other, j.pointer, j.finished, j.code, j.seconds, j.timeout = false, "", "", false, 0, nil, false
	j.trial = workers.NewTrial(b, work, workers.TrialOptions{Report: rep, Log: j.log, Limit: c.o.LogLimit, Mask: secrets})
	return nil
}

// again prepares to read a job's trace from its beginning once more, because the received trace
// differs from the runner's; the caller holds the job's lock.
func (c *Coordinator) again(ctx context.Context, j *job, why string) error {
	if err := c.prepare(ctx, j); err != nil {
		return err
	}
	j.trial.Notice(why + ": all of the output follows once more")
	return nil
}

// nothing is a commit without files.
type nothing struct{}

// Open implements fs.FS.
func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// sourceLog writes to a build's log by reports.
type sourceLog struct {
	source workers.Source
	lease  workers.Lease
}

// Write implements io.Writer. It never fails: a log that is not taken is no reason to stop
// a step.
func (l sourceLog) Write(p []byte) (int, error) {
	_ = l.source.Report(context.Background(), l.lease, workers.Report{Log: p})
	return len(p), nil
}
