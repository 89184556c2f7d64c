package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"crypto/rand"

	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// Options configure an Agent. Zero values mean the defaults.
type Options struct {
	Server   string            // address of the server; required
	Token    string            // of a runner; required
	Dir      string            // for all files that it keeps; required
	Name     string            // of the machine, in results; default: the host's
	Slots    int               // jobs at once; default 1
	Version  string            // of this program, for people
	Labels   map[string]string // labels of the machine; they count as tags
	Isolate  workers.Isolation // of steps; default none
	UIDs     workers.UIDs      // for IsolateUID
	Hide     []string          // as in workers.PoolOptions
	Show     []string
	SlotsDir string
	Runner   workers.RunnerOptions // Pass, Secrets, Mask, Grace, HomeSeed, KeepHome, Caches and Env count
	Output   int64                 // bytes of a job's output that are sent; default 64 MiB
	Tools    time.Duration         // how often the environment commands of steps are run; default 10 min
	Every    time.Duration         // how often output is sent; default 3 s, or what the server says
	Patience time.Duration         // how long the agent tries to report the end of a job to a server that does not answer; default 1 h
	HTTP     *http.Client          // default: one with a time-out for each answer
	Log      *slog.Logger          // required
}

// Agent runs jobs.
type Agent struct {
	o      Options
	system string
	places []*workers.Place
	look   *workers.Survey
	free   func()
	tools  tools

	drained chan struct{}
	once    sync.Once
}

// ErrRefused says that the server does not take the token.
var ErrRefused = errors.New("the server refuses this token: it was revoked, or is of another server; make another with `submitqueue runners add NAME` there, and register with it")

// New makes an agent's slots, and ends processes that an earlier agent left in them.
func New(o Options) (*Agent, error) {
	if o.Server == "" || o.Token == "" || o.Dir == "" || o.Log == nil {
		return nil, errors.New("agent: Server, Token, Dir and Log are required")
	}
	if o.Name == "" {
		o.Name, _ = os.Hostname() // then the server names it by its number
	}
	o.Server = strings.TrimSuffix(o.Server, "/")
	o.Runner.Log = o.Log
	o.Slots = cmp.Or(o.Slots, 1)
	o.Output = cmp.Or(o.Output, 64<<20)
	o.Tools = cmp.Or(o.Tools, 10*time.Minute)
	o.Every = cmp.Or(o.Every, 3*time.Second)
	o.Patience = cmp.Or(o.Patience, time.Hour)
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: 2 * time.Minute}
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	system, err := systemID(o.Dir)
	if err != nil {
		return nil, err
	}
	a := &Agent{o: o, system: system, drained: make(chan struct{})}
	a.dropOld()
	a.places, a.look, a.free, err = workers.OpenPlaces(workers.PoolOptions{Slots: o.Slots, Dir: o.Dir, Isolate: o.Isolate, UIDs: o.UIDs,
		Hide: append([]string{o.Dir}, o.Hide...), Show: o.Show, SlotsDir: o.SlotsDir, Runner: o.Runner})
	return a, err
}

// systemID returns the name that distinguishes this machine from others with the same token, in
// the form of gitlab-runner.
func systemID(dir string) (string, error) {
	path := filepath.Join(dir, "system-id")
	raw, err := os.ReadFile(path)
	if id := strings.TrimSpace(string(raw)); err == nil && len(id) == 14 {
		return id, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id := "s_" + strings.ToLower(rand.Text()[:12])
	return id, os.WriteFile(path, []byte(id+"\n"), 0o600)
}

// Drain has the agent take no more jobs; Run returns when the running jobs have ended.
func (a *Agent) Drain() { a.once.Do(func() { close(a.drained) }) }

// Run works until it is drained or ctx ends. When ctx ends, it ends the running jobs and
// reports their ends. It returns ErrRefused if the server does not accept the token.
func (a *Agent) Run(ctx context.Context) error {
	defer a.free()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a.survey(ctx, "", true)
	var slots sync.WaitGroup
	slots.Go(func() { a.surveys(ctx) })
	for i, p := range a.places {
		s := &slot{agent: a, place: p, number: i + 1, log: a.o.Log.With("slot", i+1)}
		slots.Go(func() {
			if err := s.serve(ctx); err != nil {
				stop(err)
			}
		})
	}
	slots.Wait()
	if err := context.Cause(ctx); errors.Is(err, ErrRefused) {
		return err
	}
	return nil
}

// info is the agent's description of itself.
func (a *Agent) info() protocol.Info {
	labels := map[string]string{}
	maps.Copy(labels, a.o.Labels)
	if a.o.Name != "" {
		labels["host"] = a.o.Name
	}
	return protocol.Info{Name: "submitqueue", Version: a.o.Version, Platform: runtime.GOOS, Architecture: runtime.GOARCH, Executor: "submitqueue", Shell: "sh", Labels: labels,
		Features: map[string]bool{"variables": true, "raw_variables": true, "artifacts": true, "cache": true, "refspecs": true, "masking": true, "return_exit_code": true, "trace_checksum": true, "trace_size": true, "cancelable": true, protocol.FeatureTools: true}}
}

// Verify asks the server whether the token is good. It returns the runner's number there.
func (a *Agent) Verify(ctx context.Context) (int64, error) {
	var v protocol.Verified
	status, _, err := a.call(ctx, http.MethodPost, "runners/verify", a.o.Token, protocol.HeaderRunnerToken,
		protocol.VerifyRequest{Token: a.o.Token, SystemID: a.system, Info: a.info()}, &v)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the server at %s does not answer: %w", a.o.Server, err)
	case status == http.StatusForbidden:
		return 0, ErrRefused
	case status != http.StatusOK:
		return 0, fmt.Errorf("%s answered %d: is it a submitqueue server, and its address without a path?", a.o.Server, status)
	}
	return v.ID, nil
}

// state is a slot's record of its job, for the next process after a crash.
type state struct {
	ID     int64  `json:"id"`
	Token  string `json:"token"`
	Server string `json:"server"`
}

func (s *slot) statePath() string {
	return filepath.Join(s.agent.o.Dir, fmt.Sprintf("job-%d.json", s.number))
}

func (s *slot) remember(j protocol.Job) error {
	raw, err := json.Marshal(state{j.ID, j.Token, s.agent.o.Server})
	if err != nil {
		return err
	}
	return os.WriteFile(s.statePath(), raw, 0o600)
}

func (s *slot) forget() {
	if err := os.Remove(s.statePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("forget a job", "error", err)
	}
}

// reportLost tells the server of a job that an earlier process had.
func (s *slot) reportLost(ctx context.Context) {
	raw, err := os.ReadFile(s.statePath())
	var was state
	if err != nil || json.Unmarshal(raw, &was) != nil || was.Server != s.agent.o.Server {
		return
	}
	s.log.Warn("the agent ended before with a job: it is given up", "job", was.ID)
	status, _, err := s.agent.call(ctx, http.MethodPut, fmt.Sprintf("jobs/%d", was.ID), was.Token, protocol.HeaderJobToken,
		protocol.Update{Token: was.Token, Info: s.agent.info(), State: protocol.StateFailed, Failure: protocol.RunnerSystemFailure}, nil)
	if err == nil && status < 500 {
		s.forget()
	}
}
