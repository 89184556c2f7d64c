package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// benchRunners measures how fast jobs reach runners on other machines. Runners and server
// are one process here, over HTTP on the loopback; the jobs run nothing.
type benchRunners struct {
	Runners int           `default:"200" help:"Runners that ask."`
	Rate    float64       `default:"50" help:"Jobs a second."`
	Jobs    int           `default:"10000" help:"Jobs in all."`
	Takes   time.Duration `default:"1s" help:"How long a runner has a job."`
	JSON    string        `help:"Write the figures to a file." placeholder:"FILE" type:"path"`
}

// runnersFigures are the figures that it prints.
type runnersFigures struct {
	Machine machine `json:"machine"`
	Jobs    int     `json:"jobs"`
	P50     float64 `json:"p50_ms"` // from the moment when the queue asks for a job until a runner has it
	P99     float64 `json:"p99_ms"`
	Most    float64 `json:"most_ms"`
	Lost    int     `json:"lost"`    // jobs without a result, or with a wrong one
	Doubled int     `json:"doubled"` // jobs that two runners had
	RSS     int     `json:"rss_mb"`  // the peak of server and runners together
	Seconds float64 `json:"seconds"`
}

// Run implements the command.
func (b *benchRunners) Run(ctx context.Context) error {
	if b.Runners < 1 || b.Jobs < 1 || b.Rate <= 0 {
		return print.UsageError("--runners, --jobs and --rate are above zero")
	}
	dir, err := os.MkdirTemp("", "submitqueue-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.DiscardHandler)
	pool, err := workers.NewPool(workers.PoolOptions{Dir: filepath.Join(dir, "pool"), Log: log})
	if err != nil {
		return err
	}
	registry := coordinator.NewRegistry(dir)
	token, err := registry.Add("bench", nil, false, time.Now())
	if err != nil {
		return err
	}
	c, err := coordinator.New(coordinator.Options{Source: pool, Runners: registry, Dir: filepath.Join(dir, "reports"), RepoURL: func(queue.Build) string { return "http://127.0.0.1/git/x.git" }, Log: log})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: c}
	go func() { _ = server.Serve(l) }()
	ctx, stop := context.WithCancel(ctx)
	r := &runnersRig{base: "http://" + l.Addr().String() + "/api/v4/", token: token, takes: b.Takes, asked: map[queue.BuildID]time.Time{}, had: map[queue.BuildID]int{}, passed: map[queue.BuildID]int{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * b.Runners}}}
	var all sync.WaitGroup
	for i := range b.Runners {
		all.Go(func() { r.serve(ctx, i) })
	}
	done := make(chan struct{})
	all.Go(func() { r.listen(pool.Events(), b.Jobs, done) })
	began := time.Now()
	err = r.feed(ctx, pool, b.Jobs, b.Rate)
	if err == nil {
		select {
		case <-done:
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(2 * time.Minute):
		}
	}
	figures := r.figures(b.Jobs, time.Since(began))
	figures.Machine = machineOf(dir)
	stop()
	_ = c.Close()
	_ = server.Close()
	_ = pool.Close(context.Background())
	all.Wait()
	if err != nil {
		return err
	}
	fmt.Printf("%d jobs to %d runners at %g a second: in a runner's hands after P50 %.1f ms, P99 %.1f ms, at most %.1f ms; %d lost, %d doubled; at most %d MB of memory, server and runners together\n%s\n",
		figures.Jobs, b.Runners, b.Rate, figures.P50, figures.P99, figures.Most, figures.Lost, figures.Doubled, figures.RSS, figures.Machine)
	if b.JSON != "" {
		if err := print.Figures(b.JSON, figures); err != nil {
			return err
		}
	}
	if figures.Lost+figures.Doubled > 0 {
		return print.ExitCode(1)
	}
	return nil
}

// runnersRig is the state that runners and the feed share.
type runnersRig struct {
	base, token string
	takes       time.Duration
	client      *http.Client

	mu     sync.Mutex
	asked  map[queue.BuildID]time.Time
	had    map[queue.BuildID]int
	passed map[queue.BuildID]int
	waits  []time.Duration
}

// feed asks for builds of one job at a steady rate, once the runners have come.
func (r *runnersRig) feed(ctx context.Context, pool *workers.Pool, jobs int, rate float64) error {
	for len(pool.Agents()) == 0 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	step := config.Step{Name: "unit", Run: "true", Timeout: time.Minute}
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for i := range jobs {
		id := queue.BuildID(fmt.Sprintf("b%d", i))
		r.mu.Lock()
		r.asked[id] = time.Now()
		r.mu.Unlock()
		err := pool.Run(ctx, queue.Build{ID: id, Commit: benchCommit, Jobs: []queue.Job{{Step: step, Keys: []queue.Key{{Step: step.Digest(), Target: "x", Hash: "h"}}}}}, "run/"+string(id))
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

const benchCommit = "4f0c2d6b8a1e3f5079b2c4d6e8fa0b1c2d3e4f50"

// listen counts results until each job has one.
func (r *runnersRig) listen(events <-chan queue.Body, jobs int, done chan<- struct{}) {
	ended := 0
	for e := range events {
		switch x := e.(type) {
		case queue.JobDone:
			if x.Outcome == queue.JobPassed {
				r.mu.Lock()
				r.passed[x.Build]++
				r.mu.Unlock()
			}
		case queue.BuildDone:
			if ended++; ended == jobs {
				close(done)
			}
		}
	}
}

// serve is one runner.
func (r *runnersRig) serve(ctx context.Context, n int) {
	info := protocol.Info{Name: "bench", Platform: "linux", Architecture: "amd64", Executor: "shell"}
	ask := protocol.JobRequest{Info: info, Token: r.token, SystemID: fmt.Sprintf("s_%012d", n)}
	for ctx.Err() == nil {
		var j protocol.Job
		if status := r.send(ctx, http.MethodPost, "jobs/request", nil, ask, &j); status != http.StatusCreated {
			continue
		}
		id := queue.BuildID("")
		for _, v := range j.Variables {
			if v.Key == "SUBMITQUEUE_BUILD" {
				id = queue.BuildID(v.Value)
			}
		}
		r.mu.Lock()
		r.had[id]++
		r.waits = append(r.waits, time.Since(r.asked[id]))
		r.mu.Unlock()
		r.send(ctx, http.MethodPut, fmt.Sprintf("jobs/%d", j.ID), nil, protocol.Update{Token: j.Token, State: protocol.StateRunning}, nil)
		_, mark, _ := strings.Cut(j.Steps[0].Script[0], `echo "`)
		mark, _, _ = strings.Cut(mark, " begin")
		text := mark + " begin " + benchCommit + "\nok\n" + mark + " end 0\n"
		r.send(ctx, http.MethodPatch, fmt.Sprintf("jobs/%d/trace", j.ID), http.Header{"Job-Token": {j.Token}, "Content-Range": {fmt.Sprintf("0-%d", len(text)-1)}}, text, nil)
		select {
		case <-time.After(r.takes):
		case <-ctx.Done():
			return
		}
		r.send(ctx, http.MethodPut, fmt.Sprintf("jobs/%d", j.ID), nil, protocol.Update{Token: j.Token, State: protocol.StateSuccess, Output: protocol.Output{Bytesize: int64(len(text))}}, nil)
	}
}

// send sends a request, and returns the status of the answer; 0: there is none.
func (r *runnersRig) send(ctx context.Context, method, path string, head http.Header, body, out any) int {
	raw, ok := body.(string)
	if !ok {
		encoded, err := json.Marshal(body)
		if err != nil {
			return 0
		}
		raw = string(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader([]byte(raw)))
	if err != nil {
		return 0
	}
	if head != nil {
		req.Header = head
	}
	res, err := r.client.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0
	}
	if out != nil && res.StatusCode == http.StatusCreated && json.Unmarshal(answer, out) != nil {
		return 0
	}
	return res.StatusCode
}

func (r *runnersRig) figures(jobs int, took time.Duration) runnersFigures {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := runnersFigures{Jobs: jobs, Seconds: took.Seconds()}
	for id := range r.asked {
		if r.passed[id] != 1 {
			f.Lost++
		}
		if r.had[id] > 1 {
			f.Doubled++
		}
	}
	slices.Sort(r.waits)
	at := func(p float64) float64 {
		if len(r.waits) == 0 {
			return 0
		}
		return float64(r.waits[int(p*float64(len(r.waits)-1))].Microseconds()) / 1000
	}
	f.P50, f.P99, f.Most = at(0.5), at(0.99), at(1)
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		f.RSS = int(u.Maxrss >> 10) // KiB on Linux
	}
	return f
}
