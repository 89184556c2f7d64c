package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
)

// Options configure a Coordinator. Zero values mean the defaults.
type Options struct {
	Source  workers.Source // required
	Runners *Registry      // required
	Dir     string         // for files that jobs upload, and for records of jobs that the next process needs; required

	// RepoURL returns the address of the repository that has a build's commit, without
	// credentials: https://HOST/git/x.git. Required.
	RepoURL func(queue.Build) string
	// Ref returns the name under which the commit is found there; default: the commit's own.
	Ref func(queue.Build) string
	// Files returns the files of a build's commit, for reports; nil: steps with reports that
	// need them are infrastructure errors.
	Files func(context.Context, queue.Build) (fs.FS, error)

	// Environments returns the environment commands of steps; nil: there are none.
	Environments func() []string
	// Large returns the files that Git LFS keeps of a build's checkout, by their paths; nil:
	// runners are trusted not to leave pointers there.
	Large func(context.Context, queue.Build) ([]string, error)

	Variables map[string]string         // of all jobs, besides those that are documented
	Secrets   []workers.Secret          // variables of all jobs, or of the jobs of a repository, that are shown to nobody
	Called    func(queue string) string // as in workers.RunnerOptions
	NoCaches  bool                      // steps run without their caches
	Mask      []string                  // further texts that are shown as *** in logs
	Server    string                    // the server's address, for CI_SERVER_URL
	Hold      time.Duration             // how long a request is held; default 45 s
	Silent    time.Duration             // a job that was handed out goes back if its runner does not report for so long; default 60 s
	Lease     time.Duration             // a runner that falls silent for so long is lost; default 90 s
	Grace     time.Duration             // from SIGTERM to SIGKILL, in whole seconds; default 10 s
	LogLimit  int64                     // bytes of a step's log, the first and the last half; default 4 MiB
	Log       *slog.Logger              // required
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
	asks     string            // digest of the environment commands, as seen last
}

// New starts a coordinator; Close ends it. The source must not have been asked for builds:
// if it is a workers.Holder, it takes back the jobs that an earlier process has handed out.
func New(o Options) (*Coordinator, error) {
	if o.Source == nil || o.Runners == nil || o.RepoURL == nil || o.Dir == "" || o.Log == nil {
		return nil, errors.New("coordinator: Source, Runners, RepoURL, Dir and Log are required")
	}
	o.Hold = cmp.Or(o.Hold, 45*time.Second)
	o.Silent = cmp.Or(o.Silent, 60*time.Second)
	o.Lease = cmp.Or(o.Lease, 90*time.Second)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	o.LogLimit = cmp.Or(o.LogLimit, 4<<20)
	ctx, stop := context.WithCancel(context.Background())
	// Ids go on from the clock, so that a server that starts again gives no id twice.
	c := &Coordinator{o: o, stop: stop, live: ctx, last: time.Now().UnixMilli() * 100, jobs: map[int64]*job{}, tokens: map[string]*job{}, machines: map[mkey]*machine{}}
	c.http = c.routes()
	if err := c.resume(); err != nil {
		stop()
		return nil, fmt.Errorf("coordinator: the jobs of before: %w", err)
	}
	c.done.Go(func() { c.sweep(ctx) })
	return c, nil
}

// ServeHTTP answers the requests of runners, below /api/v4/.
func (c *Coordinator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.live.Err() != nil {
		later(w)
		return
	}
	c.http.ServeHTTP(w, r)
}

// Close takes no more requests. Running jobs go on: their runners report to the next process.
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
	on("GET /api/v4/submitqueue/environments", c.listEnvironments)
	on("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotFound, message{"404 Not Found"})
	})
	return mux
}

// JobRef is the build and the commit that a job's token gives access to.
type JobRef struct {
	Build  queue.BuildID
	Commit queue.CommitID
	Queue  string          // as in queue.Build
	Want   config.Checkout // of its step
	Ends   <-chan struct{} // closed when the token ends
}

// Job returns the JobRef of a job's token; false if there is none, or the job has ended.
func (c *Coordinator) Job(token string) (JobRef, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.tokens[hashOf(token)]
	if j == nil || j.phase == over || token == "" {
		return JobRef{}, false
	}
	b := j.a.Build
	return JobRef{Build: b.ID, Commit: b.Commit, Queue: b.Queue, Want: b.Jobs[0].Step.Checkout, Ends: j.gone}, true
}
