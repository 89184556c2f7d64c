package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/report"
)

// Options are what a coordinator works with. Zero values mean the defaults.
type Options struct {
	Source  workers.Source // required
	Runners *Registry      // required
	Dir     string         // for files that runners upload, emptied at the start; required

	// RepoURL returns the address of the repository that has a build's commit, without
	// credentials: https://HOST/git/x.git. Required.
	RepoURL func(queue.Build) string
	// Ref returns the name under which the commit is found there; default: the commit's own.
	Ref func(queue.Build) string
	// Files returns the files of a build's commit, for reports; nil: steps with reports that
	// need them are infrastructure errors.
	Files func(context.Context, queue.Build) (fs.FS, error)

	Variables map[string]string // of all jobs, besides those that are documented
	Secrets   map[string]string // the same, shown to nobody
	NoCaches  bool              // steps run without their caches
	Mask      []string          // what else is shown as *** in logs
	Server    string            // the server's address, for CI_SERVER_URL
	Hold      time.Duration     // how long a request is held; default 45 s
	Silent    time.Duration     // a job that was handed out and is not heard of for so long goes back; default 60 s
	Lease     time.Duration     // a runner that falls silent for so long is lost; default 90 s
	Grace     time.Duration     // from SIGTERM to SIGKILL, in whole seconds; default 10 s
	LogLimit  int64             // bytes of a step's log, the first and the last half; default 4 MiB
	Log       *slog.Logger      // required
}

// Coordinator hands the work of a source to runners that ask for it over HTTP.
type Coordinator struct {
	o    Options
	http http.Handler
	stop context.CancelFunc
	done sync.WaitGroup
	live context.Context // ends with Close

	mu       sync.Mutex
	last     int64             // id of a job
	jobs     map[int64]*job    // that run, or have ended lately
	tokens   map[string]*job   // the same, by the hash of their token
	machines map[mkey]*machine // by token and system id
}

// New starts a coordinator; Close ends it.
func New(o Options) (*Coordinator, error) {
	if o.Source == nil || o.Runners == nil || o.RepoURL == nil || o.Dir == "" || o.Log == nil {
		return nil, errors.New("coordinator: Source, Runners, RepoURL, Dir and Log are required")
	}
	o.Hold = cmp.Or(o.Hold, 45*time.Second)
	o.Silent = cmp.Or(o.Silent, 60*time.Second)
	o.Lease = cmp.Or(o.Lease, 90*time.Second)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	o.LogLimit = cmp.Or(o.LogLimit, 4<<20)
	if err := emptied(o.Dir); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	// Ids go on from the clock, so that a server that starts again gives none twice.
	c := &Coordinator{o: o, stop: stop, live: ctx, last: time.Now().UnixMilli() * 100, jobs: map[int64]*job{}, tokens: map[string]*job{}, machines: map[mkey]*machine{}}
	c.http = c.routes()
	c.done.Go(func() { c.sweep(ctx) })
	return c, nil
}

// ServeHTTP answers what runners ask, below /api/v4/.
func (c *Coordinator) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.http.ServeHTTP(w, r) }

// Close takes no more requests. Jobs that run are lost with their agents.
func (c *Coordinator) Close() error {
	c.stop()
	c.done.Wait()
	return nil
}

func (c *Coordinator) routes() http.Handler {
	mux := http.NewServeMux()
	on := func(pattern string, h func(http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if id := r.Header.Get("X-Request-Id"); id != "" && len(id) <= 128 {
				w.Header().Set("X-Request-Id", id)
			}
			w.Header().Set("Cache-Control", "no-store")
			h(w, r)
		})
	}
	on("POST /api/v4/runners/verify", c.verify)
	on("POST /api/v4/runners", c.register)
	on("DELETE /api/v4/runners", c.unregister)
	on("DELETE /api/v4/runners/managers", c.unregister)
	on("POST /api/v4/runners/reset_authentication_token", c.reset)
	on("POST /api/v4/jobs/request", c.request)
	on("PATCH /api/v4/jobs/{id}/trace", c.trace)
	on("PUT /api/v4/jobs/{id}", c.update)
	on("POST /api/v4/jobs/{id}/artifacts", c.artifacts)
	on("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotFound, message{"404 Not Found"})
	})
	return mux
}

// JobRef is what a job's token opens.
type JobRef struct {
	Build  queue.BuildID
	Commit queue.CommitID
	Queue  string          // as in queue.Build
	Ends   <-chan struct{} // closed when the token ends
}

// Job returns what a job's token opens: nothing once the job has ended.
func (c *Coordinator) Job(token string) (JobRef, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.tokens[hashOf(token)]
	if j == nil || j.phase == over || token == "" {
		return JobRef{}, false
	}
	b := j.a.Build
	return JobRef{Build: b.ID, Commit: b.Commit, Queue: b.Queue, Ends: j.gone}, true
}

// newJob makes the job of an assignment.
func (c *Coordinator) newJob(ctx context.Context, a workers.Assignment, m *machine, slot int) (*job, error) {
	b, work := a.Build, a.Build.Jobs[0]
	var rep *report.Report
	files := fs.FS(nothing{})
	if named := work.Step.NamesTargets(); named || len(work.Step.Caches) > 0 {
		var err error
		if c.o.Files != nil {
			files, err = c.o.Files(context.WithoutCancel(ctx), b) // they are read at the end, too
		}
		if err == nil && named {
			rep, err = report.All().For(files, work.Step, work.Targets())
		}
		if err != nil {
			return nil, err
		}
	}
	j := &job{a: a, token: "sqjt-" + rand.Text(), mark: "submitqueue-" + rand.Text(), machine: m, slot: slot, handed: time.Now(), heard: time.Now(), gone: make(chan struct{}), files: map[string]string{}, commit: files, report: rep}
	if c.o.Files != nil && len(work.Step.Caches) > 0 && !c.o.NoCaches {
		c.mu.Lock()
		platform := m.platform()
		c.mu.Unlock()
		j.caches = CachesOf(files, b, platform)
	}
	secrets := append(slices.Clone(c.o.Mask), j.token)
	for _, v := range c.o.Secrets {
		secrets = append(secrets, v)
	}
	j.mask = workers.Mask(secrets)
	j.log = sourceLog{c.o.Source, a.Lease}
	j.trial = workers.NewTrial(b, work, workers.TrialOptions{Report: rep, Log: j.log, Limit: c.o.LogLimit, Mask: secrets})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	j.id = c.last
	c.jobs[j.id] = j
	c.tokens[hashOf(j.token)] = j
	m.jobs[slot] = j
	go func() {
		select {
		case <-a.Stop:
			c.cancel(j)
		case <-j.gone:
		case <-c.live.Done():
		}
	}()
	return j, nil
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
