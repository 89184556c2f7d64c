package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// serveCommand runs the server until SIGTERM or Ctrl-C. Stopping loses
// nothing: what is under way goes on with the next start.
type serveCommand struct {
	Forge     string   `enum:"github,local" default:"github" env:"SUBMITQUEUE_FORGE" help:"Where the repositories are: github or local (a plain git repository)."`
	Repo      []string `required:"" env:"SUBMITQUEUE_REPO" help:"OWNER/NAME on GitHub, once per repository; or the path of a bare repository." placeholder:"REPO"`
	Branch    string   `env:"SUBMITQUEUE_BRANCH" help:"Target branch (default: main, or a local repository's own)." placeholder:"NAME"`
	Listen    string   `default:"127.0.0.1:8080" env:"SUBMITQUEUE_LISTEN" help:"Address for webhooks and pages."`
	Public    string   `env:"SUBMITQUEUE_URL" help:"URL under which people reach the server." placeholder:"URL"`
	Data      string   `default:"${data}" env:"SUBMITQUEUE_DATA" help:"Folder for the mirror, logs and a Redis of our own." type:"path"`
	Redis     string   `default:"auto" env:"REDIS_URL" help:"redis://... or auto: a private redis-server, or one in memory."`
	Runners   int      `default:"2" env:"SUBMITQUEUE_RUNNERS" help:"Builds that can run at once on this machine."`
	CIBuilds  int      `name:"ci-builds" default:"10" env:"SUBMITQUEUE_CI_BUILDS" help:"Builds that may run at once on the forge's own CI, for each branch."`
	RefPrefix string   `name:"ref-prefix" default:"submitqueue" env:"SUBMITQUEUE_REF_PREFIX" help:"What the names of the refs begin with that the forge's CI builds."`
	LogJSON   bool     `name:"log-json" env:"SUBMITQUEUE_LOG_JSON" help:"Write logs as JSON lines."`

	Signing signingFlags `embed:""`
	githubFlags
}

// dataFolder is where a server keeps its files unless it is told otherwise,
// and where the client commands look for it.
func dataFolder() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "submitqueue")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "submitqueue-data"
	}
	return filepath.Join(home, ".local", "share", "submitqueue")
}

// Run implements the command.
func (c *serveCommand) Run(ctx context.Context) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if c.LogJSON {
		log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	}
	o := stackOptions{Data: c.Data, Redis: c.Redis, Runners: c.Runners, Listen: c.Listen, Public: c.Public, Log: log}
	var err error
	if c.Forge == "local" {
		err = c.local(ctx, &o)
	} else {
		err = c.github(&o, log)
	}
	if err != nil {
		return err
	}
	if o.Identity, o.Signer, err = c.Signing.open(ctx); err != nil {
		return err
	}
	if o.Token, err = clientToken(c.Data); err != nil {
		return err
	}
	if err := hideFromSteps(); err != nil {
		log.Warn("steps may be able to read the server's environment", "error", err)
	}
	if os.Getuid() == 0 && c.Runners > 0 {
		log.Warn("steps run as root, like this server, and can read its secrets; run it as a user of its own")
	}
	if open := opens(c.Listen); open != "" {
		log.Warn("pages and API can be read without a login from "+open+"; put authentication in front, or listen on 127.0.0.1", "listen", c.Listen)
	}
	s, err := startStack(ctx, o)
	if err != nil {
		return err
	}
	if err := writeClient(c.Data, clientFile{URL: "http://" + reachable(s.server.Addr()), Token: o.Token}); err != nil {
		return errors.Join(err, s.close())
	}
	log.Info("serving", "url", s.base, "redis", s.redis, "queues", s.queues.Queues(), "runners", c.Runners)
	var failed error
	select {
	case <-ctx.Done():
		log.Info("stopping; what is under way goes on with the next start")
	case failed = <-s.serve:
	}
	err = errors.Join(failed, s.close())
	switch {
	case err != nil:
	case s.lasts:
		log.Info("stopped; nothing is lost")
	default:
		log.Warn("stopped; the queue was in memory and is gone")
	}
	return err
}

// opens says from where else than this machine an address can be reached, or "".
func opens(listen string) string {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	switch {
	case err != nil || host == "localhost" || ip.IsLoopback():
		return ""
	case host == "" || ip.IsUnspecified():
		return "every network of this machine"
	}
	return "the network of " + host
}

// reachable returns an address under which a listener can be reached from its
// own machine.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err == nil && net.ParseIP(host).IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}

// localLook is how often a plain repository is looked at: it has no webhooks to
// say that somebody pushed.
const localLook = 10 * time.Second

func (c *serveCommand) local(ctx context.Context, o *stackOptions) error {
	if len(c.Repo) != 1 {
		return errors.New("--forge local serves one repository: give --repo once")
	}
	path, err := filepath.Abs(c.Repo[0])
	if err != nil {
		return err
	}
	f, err := local.New(ctx, path, c.Branch)
	if err != nil {
		return err
	}
	o.Requests = f
	o.Queues = []stackQueue{{Repository: strings.TrimSuffix(filepath.Base(path), ".git"), Branch: f.Base(), Forge: f, Look: localLook}}
	return nil
}

func (c *serveCommand) github(o *stackOptions, log *slog.Logger) error {
	a, err := c.load(c.Data)
	if errors.Is(err, errNoApp) {
		return errors.New("GitHub needs --app-id, --app-key and --webhook-secret (or their environment variables); to try the queue without an account: submitqueue demo")
	} else if err != nil {
		return err
	}
	branch := c.Branch
	if branch == "" {
		branch = "main"
	}
	if err := forgeci.CheckPrefix(c.RefPrefix); err != nil {
		return fmt.Errorf("--ref-prefix %q: %w", c.RefPrefix, err)
	}
	shared := github.NewShared(nil, githubWrites)
	for _, name := range c.Repo {
		owner, repo, err := ownerAndName(name)
		if err != nil {
			return err
		}
		f, err := github.New(github.Options{BaseURL: a.API, AppID: a.ID, PrivateKey: []byte(a.Key), Owner: owner, Name: repo, Logger: log, Shared: shared})
		if err != nil {
			return err
		}
		o.Queues = append(o.Queues, stackQueue{Repository: name, Branch: branch, Forge: f, URL: repositoryURL(a.API, name),
			CI: &forgeci.Options{CI: f, Prefix: c.RefPrefix, Slots: c.CIBuilds, Name: "GitHub", Log: log}})
	}
	o.Receiver = map[string]forge.Receiver{"github": github.NewReceiver(a.WebhookSecret)}
	return nil
}

// githubWrites is how many requests per minute change something at GitHub, which
// allows about 80.
const githubWrites = 60

func repositoryURL(api, name string) string {
	if api == "" {
		return "https://github.com/" + name
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(api, "/"), "/api/v3"), "/") + "/" + name
}

// clientFile tells the client commands of the same user where the server is.
type clientFile struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

func clientPath(data string) string { return filepath.Join(data, "client.json") }

// clientToken returns the token of commands over HTTP: the environment's, the
// one of the last start, or a new one.
func clientToken(data string) (string, error) {
	if t := os.Getenv(app.TokenVariable); t != "" {
		return t, nil
	}
	if f, err := readClient(data); err == nil && f.Token != "" {
		return f.Token, nil
	}
	return rand.Text(), nil
}

func readClient(data string) (f clientFile, err error) {
	raw, err := os.ReadFile(clientPath(data))
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(raw, &f)
}

func writeClient(data string, f clientFile) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	tmp := clientPath(data) + ".new"
	if err := os.WriteFile(tmp, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, clientPath(data))
}
