// Package runner has the commands of a machine that runs builds for a server.
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/cacheflags"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/agent"
)

// Command runs builds for a server on this machine.
type Command struct {
	Run      Run      `cmd:"" default:"withargs" help:"Run builds for the server, until a signal ends it."`
	Register Register `cmd:"" help:"Try the server's token, and keep it for run."`
	Doctor   Doctor   `cmd:"" help:"Say what this machine lacks to run builds."`
}

// flags are the flags of all commands.
type flags struct {
	Server    string `env:"SUBMITQUEUE_RUNNER_SERVER" help:"Address of the server; default: the one registered." placeholder:"URL"`
	TokenFile string `env:"SUBMITQUEUE_RUNNER_TOKEN_FILE" type:"path" help:"File with the token that submitqueue runners add has printed; default: the one registered." placeholder:"FILE"`
	Dir       string `default:"${runner_data}" env:"SUBMITQUEUE_RUNNER_DIR" type:"path" help:"Folder for all that the runner keeps."`
	Name      string `env:"SUBMITQUEUE_RUNNER_NAME" help:"Name of this machine on pages and in results; default: its host name." placeholder:"NAME"`
}

// Version returns the version of this program, for servers.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// registered is the content of the file that register writes.
type registered struct {
	Server string `json:"server"`
	Token  string `json:"token"`
}

const registeredFile = "runner.json"

// known returns the server and the token, from the flags or as registered.
func (f flags) known() (registered, error) {
	var r registered
	raw, err := os.ReadFile(filepath.Join(f.Dir, registeredFile))
	switch {
	case err == nil:
		if err := json.Unmarshal(raw, &r); err != nil {
			return r, fmt.Errorf("%s is damaged: register again (%w)", filepath.Join(f.Dir, registeredFile), err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return r, err
	}
	if f.Server != "" {
		r.Server = f.Server
		if !strings.Contains(r.Server, "://") {
			r.Server = "https://" + r.Server
		}
	}
	if f.TokenFile != "" {
		raw, err := os.ReadFile(f.TokenFile)
		if err != nil {
			return r, fmt.Errorf("the token cannot be read: %w", err)
		}
		r.Token = strings.TrimSpace(string(raw))
	} else if t := os.Getenv("SUBMITQUEUE_RUNNER_TOKEN"); t != "" {
		r.Token = t
	}
	if r.Server != "" && r.Token == "" {
		return r, print.UsageError("no token is given for " + r.Server + ": --token-file FILE, with the token that `submitqueue runners add NAME` prints where the server runs")
	}
	if r.Server == "" {
		return r, print.UsageError("no server is known: submitqueue runner register --server URL --token-file FILE, with the token that `submitqueue runners add NAME` prints where the server runs")
	}
	return r, nil
}

// Run runs builds.
type Run struct {
	flags
	Concurrent int              `default:"1" env:"SUBMITQUEUE_RUNNER_CONCURRENT" help:"Jobs at once."`
	Labels     []string         `name:"labels" env:"SUBMITQUEUE_RUNNER_LABELS" help:"A property of this machine: NAME=VALUE counts as the tags NAME and NAME:VALUE." placeholder:"NAME=VALUE,..."`
	Isolate    string           `enum:"auto,uid,namespace,sandbox,none" default:"auto" env:"SUBMITQUEUE_ISOLATE" help:"The means that keep steps from the runner and from one another, as for submitqueue serve."`
	UIDs       string           `name:"isolate-uids" default:"58000-58999" env:"SUBMITQUEUE_ISOLATE_UIDS" help:"User ids for --isolate uid, which no account has." placeholder:"FIRST-LAST"`
	Show       []string         `name:"isolate-show" type:"path" env:"SUBMITQUEUE_ISOLATE_SHOW" help:"Files and folders in what is hidden that steps are to see, read-only." placeholder:"PATH"`
	SlotsDir   string           `name:"slots-dir" type:"path" env:"SUBMITQUEUE_SLOTS_DIR" help:"Folder for checkouts and homes (default: below --dir; with users of their own beside it)." placeholder:"DIR"`
	Env        []string         `env:"SUBMITQUEUE_RUNNER_ENV" help:"Variables of this process that steps see." placeholder:"NAME,..."`
	Secret     []string         `name:"secret" help:"A variable of steps with the content of a file, masked in logs." placeholder:"NAME=FILE"`
	Caches     cacheflags.Flags `embed:""`
	LogJSON    bool             `name:"log-json" env:"SUBMITQUEUE_LOG_JSON" help:"Log in JSON."`
}

// Run implements the command.
func (c *Run) Run(ctx context.Context) (err error) {
	log := print.Log(os.Stderr, c.LogJSON)
	o, err := c.options(log)
	if err != nil {
		return err
	}
	if o.Runner.Caches, err = c.Caches.Open(log); err != nil {
		return err
	}
	if shared := o.Runner.Caches.Shared; shared != nil {
		defer func() { err = errors.Join(err, shared.Close()) }() // after the jobs
	}
	a, err := agent.New(o)
	if err != nil {
		return err
	}
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	defer signal.Stop(quit)
	go func() {
		select {
		case <-quit:
			log.Info("draining: jobs that run are finished, and no more are taken")
			a.Drain()
		case <-ctx.Done():
		}
	}()
	log.Info("running builds", "server", o.Server, "name", o.Name, "concurrent", o.Slots, "isolate", o.Isolate)
	return a.Run(ctx)
}

// options makes the agent's options from the flags.
func (c *Run) options(log *slog.Logger) (o agent.Options, err error) {
	known, err := c.known()
	if err != nil {
		return o, err
	}
	if c.Concurrent < 1 || c.Concurrent > 512 {
		return o, print.UsageError("--concurrent is a number from 1 to 512")
	}
	o = agent.Options{Server: known.Server, Token: known.Token, Dir: c.Dir, Name: c.Name, Slots: c.Concurrent, Version: Version(), Labels: map[string]string{}, Show: c.Show, SlotsDir: c.SlotsDir, Log: log}
	for _, l := range c.Labels {
		name, value, _ := strings.Cut(l, "=")
		o.Labels[name] = value
	}
	if o.Name == "" {
		o.Name, _ = os.Hostname()
	}
	for _, name := range c.Env {
		if err := workers.Passed(os.Environ(), name); err != nil {
			return o, print.UsageError("--env: " + err.Error())
		}
	}
	o.Runner.Pass = c.Env
	for _, text := range c.Secret {
		s, err := workers.ReadSecret(text)
		if err != nil {
			return o, print.UsageError("--secret: " + err.Error())
		}
		o.Runner.Secrets = append(o.Runner.Secrets, s)
	}
	if o.UIDs, err = workers.ParseUIDs(c.UIDs); err != nil {
		return o, print.UsageError("--isolate-uids: " + err.Error())
	}
	choice, err := workers.ChooseIsolation(c.Isolate, o.UIDs)
	if err != nil {
		return o, fmt.Errorf("--isolate %s: %w", c.Isolate, err)
	}
	if o.Isolate = choice.Mode; o.Isolate == workers.IsolateNone {
		log.Warn("steps run as the same user as this runner: a person who may ask the server for a build can read its token and change what other builds see", "why", choice.Why)
	}
	for _, gap := range choice.Gaps {
		log.Warn("not everything is kept apart here: " + gap)
	}
	if open(known.Server) {
		log.Warn(openText, "server", known.Server)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return o, err
	}
	if err := os.Chmod(c.Dir, 0o700); err != nil {
		return o, err
	}
	if o.Isolate == workers.IsolateUID && o.SlotsDir == "" {
		o.SlotsDir, err = workers.SlotsDir(c.Dir)
	}
	return o, err
}

// Register checks and keeps a server's address and token.
type Register struct{ flags }

// Run implements the command.
func (c *Register) Run(ctx context.Context) error {
	known, err := c.known()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	a, err := agent.New(agent.Options{Server: known.Server, Token: known.Token, Dir: c.Dir, Name: c.Name, Version: Version(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	id, err := a.Verify(ctx)
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(known, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(c.Dir, registeredFile)
	if err := os.WriteFile(path+".new", append(raw, '\n'), 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	fmt.Printf("registered at %s as runner %d; start it with: submitqueue runner --concurrent 2\n", print.OneLine(known.Server), id)
	return nil
}

// openText says what is wrong with an address that is open.
const openText = "the server is not reached by https: anybody on the way can read tokens, secrets and code, and change what is built"

// open reports whether others can read data on its way to an address.
func open(server string) bool {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}
