package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// slot runs one job at a time.
type slot struct {
	agent      *Agent
	place      *workers.Place
	number     int
	lastUpdate string
	log        *slog.Logger
}

// The reasons for which a job is ended.
var (
	errCanceled = errors.New("the server has cancelled the job")
	errUnknown  = errors.New("the server does not know the job any more")
	errSilent   = errors.New("the server does not take the output")
)

// serve asks for jobs and runs them until the agent is drained or ctx ends.
func (s *slot) serve(ctx context.Context) error {
	s.reportLost(ctx)
	for {
		j, ok, err := s.ask(ctx)
		if err != nil || !ok {
			return err
		}
		s.run(ctx, j)
	}
}

// result is how a job has ended.
type result struct {
	state   protocol.State
	failure protocol.Failure
	code    int
	detail  string // why it could not be run, for people
	cached  bool   // the script had caches of earlier jobs
}

// run runs a job and tells how it has ended.
func (s *slot) run(ctx context.Context, j protocol.Job) {
	log := s.log.With("job", j.ID, "name", j.JobInfo.Name)
	if err := s.remember(j); err != nil {
		log.Warn("remember a job", "error", err)
	}
	defer s.forget()
	status, head, err := s.agent.call(ctx, http.MethodPut, fmt.Sprintf("jobs/%d", j.ID), j.Token, protocol.HeaderJobToken,
		protocol.Update{Token: j.Token, Info: s.agent.info(), State: protocol.StateRunning}, nil)
	if err == nil && (status == http.StatusForbidden || status == http.StatusNotFound || head.Get(protocol.HeaderJobStatus) == string(protocol.StateCanceled)) {
		return // it was given to another meanwhile
	}
	jobCtx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	t, err := newTrace(s, j, workers.Mask(s.secrets(j)), gone)
	if err != nil {
		log.Error("keep a job's output", "error", err)
		s.tell(ctx, log, j, nil, result{state: protocol.StateFailed, failure: protocol.RunnerSystemFailure})
		return
	}
	defer t.close()
	pumping, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.pump(pumping, s.agent.o.Every)
	}()
	log.Info("a job begins")
	r := s.execute(jobCtx, j, t)
	stop()
	<-done
	if err := s.place.Forget(); err != nil {
		log.Warn("empty a slot after a job", "error", err)
	}
	s.tell(ctx, log, j, t, r)
	log.Info("a job has ended", "state", r.state, "failure", r.failure, "code", r.code)
}

// secrets returns the values of a job that must not be shown.
func (s *slot) secrets(j protocol.Job) []string {
	all := append([]string{j.Token}, s.agent.o.Runner.Mask...)
	for _, x := range s.agent.o.Runner.Secrets {
		all = append(all, x.Value)
	}
	for _, v := range j.Variables {
		if v.Masked {
			all = append(all, v.Value)
		}
	}
	return all
}

// execute checks a job's commit out and runs its script.
func (s *slot) execute(ctx context.Context, j protocol.Job, t *trace) result {
	broken := func(err error) result {
		if ctx.Err() != nil {
			return s.ended(ctx, t)
		}
		t.say("submitqueue runner: %v", err)
		return result{state: protocol.StateFailed, failure: protocol.RunnerSystemFailure, detail: err.Error()}
	}
	if j.Image != nil {
		return broken(errors.New("this runner runs no container images; use gitlab-runner with the docker or kubernetes executor"))
	}
	t.say("submitqueue runner %s on %s, slot %d", s.agent.o.Version, s.agent.o.Name, s.number)
	if err := s.place.Fresh(); err != nil {
		return broken(err)
	}
	limit := time.Duration(j.RunnerInfo.Timeout) * time.Second
	if limit <= 0 {
		limit = 2 * time.Hour
	}
	checking, cancel := context.WithTimeoutCause(ctx, min(limit, 30*time.Minute), errors.New("the checkout takes too long"))
	err := s.checkout(checking, j, t)
	cancel()
	if err != nil {
		return broken(fmt.Errorf("check out %s: %w", j.GitInfo.SHA, err))
	}
	env, err := s.environment(j)
	if err != nil {
		return broken(err)
	}
	caches, err := s.fill(ctx, j, t)
	if err != nil {
		return broken(fmt.Errorf("fill the caches: %w", err))
	}
	r := s.script(ctx, j, env, limit, t)
	if r.failure == protocol.ScriptFailure && r.whole {
		if full := s.place.Full(); full != "" {
			t.say("submitqueue runner: %s", full)
			r = ran{result: result{state: protocol.StateFailed, failure: protocol.RunnerSystemFailure, detail: full}}
		}
	}
	r.result.cached = caches.Found()
	if r.whole {
		if err := s.upload(ctx, j, r.result, t); err != nil {
			t.say("submitqueue runner: upload: %v", err)
		}
	}
	caches.Keep(r.whole, r.state == protocol.StateSuccess) // reports may lie in them
	return r.result
}

// fill puts the caches that a job names into the checkout. A job that is only to fill caches
// (policy push) gets none of earlier jobs.
func (s *slot) fill(ctx context.Context, j protocol.Job, t *trace) (*workers.PlaceCaches, error) {
	var all []workers.PlaceCache
	cold := false
	for _, c := range j.Cache {
		cold = cold || c.Policy == "push"
		all = append(all, workers.PlaceCache{Key: c.Key, Paths: c.Paths, Unkeyed: c.Unkeyed})
	}
	return s.place.Fill(ctx, all, cold, t)
}

// ran is the end of the scripts of a job.
type ran struct {
	result
	whole bool // all scripts have ended on their own
}

// script runs the scripts of a job.
func (s *slot) script(ctx context.Context, j protocol.Job, env map[string]string, limit time.Duration, t *trace) ran {
	r := ran{result{state: protocol.StateSuccess}, true}
	for _, step := range j.Steps {
		passed := r.state == protocol.StateSuccess
		if len(step.Script) == 0 || step.When == "on_failure" && passed || (step.When == "" || step.When == "on_success") && !passed {
			continue
		}
		e, err := s.place.Run(ctx, workers.PlaceRun{Script: "set -e\n" + strings.Join(step.Script, "\n") + "\n", Env: env, Timeout: limit, Out: t})
		switch {
		case err != nil && ctx.Err() == nil:
			t.say("submitqueue runner: %v", err)
			return ran{result: result{state: protocol.StateFailed, failure: protocol.RunnerSystemFailure, detail: err.Error()}}
		case err != nil || e.Stopped:
			return ran{result: s.ended(ctx, t)}
		case e.TimedOut > 0:
			t.say("submitqueue runner: the job has taken longer than %s", e.TimedOut)
			return ran{result: result{state: protocol.StateFailed, failure: protocol.JobExecutionTimeout}}
		}
		r.whole = r.whole && !e.Lost && !e.Tool()
		if e.Code != 0 && !step.AllowFailure && step.Name != "after_script" {
			r.result = result{state: protocol.StateFailed, failure: protocol.ScriptFailure, code: e.Code}
			if e.Code < 0 { // a signal has ended the shell
				r.code = 137
			}
		}
	}
	return r
}

// ended says why a job was ended from outside.
func (s *slot) ended(ctx context.Context, t *trace) result {
	if err := context.Cause(ctx); errors.Is(err, errCanceled) || errors.Is(err, errUnknown) {
		t.say("submitqueue runner: %v", err)
		return result{state: protocol.StateFailed, failure: protocol.UnknownFailure}
	}
	t.say("submitqueue runner: the agent is told to end")
	return result{state: protocol.StateFailed, failure: protocol.RunnerSystemFailure}
}

// environment returns a job's variables. Those that are files are written beside the
// checkout.
func (s *slot) environment(j protocol.Job) (map[string]string, error) {
	env := map[string]string{
		"CI_PROJECT_DIR": s.place.Checkout(), "CI_BUILDS_DIR": s.place.Root(), "CI_CONCURRENT_ID": fmt.Sprint(s.number - 1),
		"CI_RUNNER_DESCRIPTION": s.agent.o.Name, "CI_RUNNER_VERSION": s.agent.o.Version,
	}
	for _, v := range j.Variables {
		value := v.Value
		if v.File {
			var err error
			if value, err = s.place.Write(v.Key, []byte(v.Value)); err != nil {
				return nil, err
			}
		} else if !v.Raw {
			value = os.Expand(value, func(name string) string { return env[name] })
		}
		env[v.Key] = value
	}
	return env, nil
}

// tell reports the end of a job to the server again and again, until the server has taken it or
// Options.Patience is over. A process that is told to end waits 20 seconds at most.
func (s *slot) tell(ctx context.Context, log *slog.Logger, j protocol.Job, t *trace, r result) {
	u := protocol.Update{Token: j.Token, Info: s.agent.info(), State: r.state, Failure: r.failure, ExitCode: r.code, Detail: workers.Mask(s.secrets(j))(r.detail), Cached: &r.cached}
	if t != nil {
		u.Output, u.Cut = t.end(), t.partly()
	}
	telling, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.agent.o.Patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(20*time.Second, cancel) })()
	var pause backOff
	for again := false; ; {
		if t != nil {
			t.flush(telling)
		}
		var status int
		var head http.Header
		err := errSilent
		if t == nil || !t.silent { // the end comes after the whole output
			status, head, err = s.agent.call(telling, http.MethodPut, fmt.Sprintf("jobs/%d", j.ID), j.Token, protocol.HeaderJobToken, u, nil)
		}
		switch {
		case err == nil && (status == http.StatusOK || status == http.StatusForbidden || status == http.StatusNotFound):
			return
		case err == nil && status == http.StatusPreconditionFailed && t != nil && !again:
			t.sent, again = 0, true // the server's copy differs: send all of it once more
			continue
		case err == nil && status == http.StatusAccepted:
		default:
			log.Warn("tell the end of a job", "status", status, "error", err)
		}
		if !pause.wait(telling, head) {
			log.Error("the server was not told the end of a job; it finds out by the silence")
			return
		}
	}
}

// gitDir is the repository of a job's address, in which only this process writes.
func (s *slot) gitDir(j protocol.Job) string {
	return filepath.Join(s.agent.o.Dir, "git", fmt.Sprint(s.number), nameOf(j.GitInfo.RepoURL)+".git")
}
