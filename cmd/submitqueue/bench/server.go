package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/server"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// benchServer is the whole server in a separate process, so that its use of CPU and
// memory can be told from the bench's. It differs from serve in one thing: builds pass
// at once. Its orders, which hold secrets, come on the standard input; the end of that
// input ends the server. The server reports on the standard output.
type benchServer struct{}

// benchOrders are the settings of a bench's server.
type benchOrders struct {
	Data    string       `json:"data"`
	Redis   string       `json:"redis"`
	Token   string       `json:"token"`
	Slots   int          `json:"slots"`
	CI      bool         `json:"ci,omitempty"`    // the forge's CI builds
	Paced   bool         `json:"paced,omitempty"` // GitHub gets no more requests than serve sends it
	Took    float64      `json:"took,omitempty"`  // seconds of a build once main is proven; 0: builds pass at once
	Local   string       `json:"local,omitempty"` // path of the repository; this, GitHub or GitLab is set
	GitHub  *benchGitHub `json:"github,omitempty"`
	GitLab  *benchGitLab `json:"gitlab,omitempty"`
	Profile string       `json:"profile,omitempty"` // file for a CPU profile
}

// benchGitHub is a simulated GitHub in the bench's process.
type benchGitHub struct {
	API    string `json:"api"`
	AppID  int64  `json:"app_id"`
	Key    []byte `json:"key"`
	Owner  string `json:"owner"`
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// benchGitLab is a simulated GitLab in the bench's process.
type benchGitLab struct {
	URL     string `json:"url"`
	Token   string `json:"token"`
	Project string `json:"project"`
	Signing string `json:"signing"`
}

// benchReport is one line of a bench server's output.
type benchReport struct {
	Ready    string      `json:"ready,omitempty"` // its address, once main is proven
	Redis    string      `json:"redis,omitempty"`
	Number   int         `json:"number,omitempty"` // a change that has its verdict
	Verdict  queue.Phase `json:"verdict,omitempty"`
	At       int64       `json:"at,omitempty"`       // when that was stored, in Unix nanoseconds
	Building bool        `json:"building,omitempty"` // no verdict yet: a build of it is asked for
	Stopped  string      `json:"stopped,omitempty"`  // the queue was paused, or the change refused, parked or sent away: a person has to act
	Idle     bool        `json:"idle,omitempty"`     // the queue has nothing left to do
	Finished *benchCount `json:"finished,omitempty"`
}

// benchCount counts what a bench's server has done.
type benchCount struct {
	Turns   int64            `json:"turns"`
	Actions map[string]int64 `json:"actions"` // by kind
	PeakRSS int64            `json:"peak_rss"`
}

// Run implements the command.
func (benchServer) Run(ctx context.Context) error {
	server.SpareMemory()
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("this command is started by submitqueue bench land: %w", err)
	}
	var orders benchOrders
	if err := json.Unmarshal(line, &orders); err != nil {
		return fmt.Errorf("reading orders: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // until the process that started this one closes it, or ends
		cancel()
	}()
	if orders.Profile != "" {
		f, err := os.Create(orders.Profile)
		if err != nil {
			return fmt.Errorf("the profile cannot be written: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return orders.serve(ctx)
}

// serve runs the server until ctx ends.
func (o benchOrders) serve(ctx context.Context) error {
	logFile, err := os.Create(filepath.Join(o.Data, "server.log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	log := slog.New(slog.NewTextHandler(logFile, nil))
	w := &benchWatch{out: json.NewEncoder(os.Stdout), actions: map[string]int64{}}
	builds := workers.NewInstant(o.Slots)
	options := server.Options{Data: o.Data, Redis: o.Redis, Listen: "127.0.0.1:0", Token: o.Token, TokenOf: benchUser, Log: log,
		Workers: builds, Observer: w.turn}
	switch {
	case o.GitLab != nil:
		if err := o.onGitLab(&options); err != nil {
			return err
		}
	case o.GitHub != nil:
		g := o.GitHub
		var shared *github.Shared
		if o.Paced {
			shared = github.NewShared(nil, server.GitHubWrites)
		}
		f, err := github.New(github.Options{BaseURL: g.API, AppID: g.AppID, PrivateKey: g.Key, Owner: g.Owner, Name: g.Name, Logger: log, Shared: shared})
		if err != nil {
			return err
		}
		q := server.Queue{Repository: g.Owner + "/" + g.Name, Branch: "main", Forge: f}
		if o.CI {
			q.CI = &forgeci.Options{CI: f.Capabilities().CI, Starter: f.Capabilities().Starter, Prefix: benchRefs, Slots: o.Slots, Name: "GitHub", Log: log}
		}
		options.Queues = []server.Queue{q}
		options.Receiver = map[string]forge.Receiver{"github": github.NewReceiver(g.Secret)}
	default:
		f, err := local.New(ctx, o.Local, "main")
		if err != nil {
			return err
		}
		defer f.Stop()
		options.Requests = f
		options.Queues = []server.Queue{{Repository: "bench", Branch: "main", Forge: f}}
	}
	s, err := server.Start(ctx, options)
	if err != nil {
		return err
	}
	if err := benchProven(ctx, s.Owners[0]); err != nil {
		return errors.Join(err, s.Close())
	}
	builds.Take(time.Duration(o.Took * float64(time.Second)))
	w.say(benchReport{Ready: s.Base, Redis: s.Redis})
	<-ctx.Done()
	if o.Profile != "" {
		if err := writeHeap(o.Profile + ".heap"); err != nil {
			log.Warn("the heap's profile could not be written", "error", err)
		}
	}
	err = s.Close()
	w.say(benchReport{Finished: &benchCount{Turns: w.turns, Actions: w.actions, PeakRSS: peakRSS()}})
	return err
}

// onGitLab adds the queue of the project on GitLab.
func (o benchOrders) onGitLab(options *server.Options) error {
	g := o.GitLab
	f, err := gitlab.New(gitlab.Options{BaseURL: g.URL, Token: g.Token, Project: g.Project, Logger: options.Log})
	if err != nil {
		return err
	}
	receiver, err := gitlab.NewReceiver(gitlab.Secret{Signing: g.Signing})
	if err != nil {
		return err
	}
	q := server.Queue{Repository: g.Project, Branch: "main", Forge: f}
	if o.CI {
		q.CI = &forgeci.Options{CI: f.Capabilities().CI, Starter: f.Capabilities().Starter, Prefix: benchRefs, Slots: o.Slots, Name: "GitLab", Log: options.Log}
	}
	options.Queues = []server.Queue{q}
	options.Receiver = map[string]forge.Receiver{"gitlab": receiver}
	return nil
}

// writeHeap writes a heap profile.
func writeHeap(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

// benchProven waits until main is proven.
func benchProven(ctx context.Context, owner *app.Owner) error {
	for {
		changed := owner.Changed()
		done, broken := false, ""
		owner.Read(func(c *speculation.Core) {
			m := c.State().Main
			done = m.Tip != "" && m.Surveyed == m.Tip && m.Root == ""
			broken = m.Broken
		})
		switch {
		case done:
			return nil
		case broken != "":
			return fmt.Errorf("main cannot be used: %s", broken)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// benchWatch sees every turn of the server.
type benchWatch struct {
	mu      sync.Mutex // of out
	out     *json.Encoder
	turns   int64 // turns write this field and the next, one turn at a time
	actions map[string]int64
	open    int // actions without a result yet
}

func (w *benchWatch) turn(t speculation.Turn) {
	w.turns++
	for _, a := range t.Actions {
		kind, _ := a.Task.Name()
		w.actions[kind]++
	}
	was := w.open
	w.open += len(t.Actions) - len(t.Ended)
	for _, n := range t.Notes {
		if n.What == "build-asked" && n.Number != 0 {
			w.say(benchReport{Number: n.Number, Building: true, At: time.Now().UnixNano()})
		}
		switch n.What {
		case "paused", "parked", "refused", "command-refused", "main-red":
			w.say(benchReport{Stopped: fmt.Sprintf("#%d %s: %s %v", n.Number, n.What, n.Reason.Code, n.Reason.Names)})
		}
		if phase := queue.Phase(n.What); phase.Final() {
			w.say(benchReport{Number: n.Number, Verdict: phase, At: time.Now().UnixNano()})
		}
	}
	if was > 0 && w.open == 0 {
		w.say(benchReport{Idle: true})
	}
}

func (w *benchWatch) say(r benchReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Encode(r) // an error means that nobody reads any more; then the input ends, too
}

// peakRSS is the most memory that this process had resident; 0 where the system does
// not tell it.
func peakRSS() int64 { return peakRSSOf("self") }

// peakRSSOf is peakRSS of another process.
func peakRSSOf(pid string) int64 {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	kb, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}
