package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/notify"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/cacheflags"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
)

// Serve runs the server until SIGTERM or Ctrl-C. Stopping loses nothing: work
// under way goes on with the next start.
type Serve struct {
	Forge     []string         `enum:"${forges}" default:"github" env:"SUBMITQUEUE_FORGE" help:"Where the repositories are: ${forge_words}. Once per forge, where a server has several." placeholder:"FORGE"`
	Repo      []string         `env:"SUBMITQUEUE_REPO" help:"OWNER/NAME on GitHub, once per repository (default: all that the App is installed on and that have a .submitqueue.yml); GROUP/NAME on GitLab, once per project; or the path of a bare repository. With several forges FORGE:OWNER/NAME." placeholder:"REPO"`
	Owner     []string         `env:"SUBMITQUEUE_OWNERS" help:"Accounts whose repositories are served, where no --repo is given; * is everybody (default: the App's owner)." placeholder:"NAME"`
	Branch    string           `env:"SUBMITQUEUE_BRANCH" help:"Target branch (default: main, or a local repository's own)." placeholder:"NAME"`
	Listen    string           `default:"127.0.0.1:8080" env:"SUBMITQUEUE_LISTEN" help:"Address for webhooks and pages."`
	Public    string           `name:"url" env:"SUBMITQUEUE_URL" help:"URL under which people reach the server." placeholder:"URL"`
	Open      bool             `name:"public" env:"SUBMITQUEUE_PUBLIC" help:"Let everybody read pages, logs, metrics and the API, without a token or a session. Commands need a token all the same."`
	Hosts     []string         `name:"host" env:"SUBMITQUEUE_HOSTS" help:"Further names that the server answers for, besides those of --url and --listen; for others it does not, so that no page elsewhere can read it by a name of its own." placeholder:"NAME"`
	Data      string           `default:"${data}" env:"SUBMITQUEUE_DATA" help:"Folder for the mirror, logs and a Redis of our own." type:"path"`
	Redis     string           `default:"auto" env:"REDIS_URL" help:"redis://... or auto: a private redis-server, or one in memory."`
	Runners   int              `default:"2" env:"SUBMITQUEUE_RUNNERS" help:"Builds that can run at once on this machine."`
	Weights   map[string]int   `name:"weight" env:"SUBMITQUEUE_WEIGHTS" help:"Share of the runners' time that a queue gets against others that use them, as OWNER/NAME@BRANCH=N (default: 1 each)." placeholder:"QUEUE=N"`
	Isolate   isolateFlags     `embed:""`
	Caches    cacheflags.Flags `embed:""`
	Variables variableFlags    `embed:""`
	CIBuilds  int              `name:"ci-builds" default:"10" env:"SUBMITQUEUE_CI_BUILDS" help:"Builds that may run at once on the forge's own CI, for each branch."`
	RefPrefix string           `name:"ref-prefix" default:"submitqueue" env:"SUBMITQUEUE_REF_PREFIX" help:"First part of the names of the refs that the forge's CI builds."`
	Notify    []string         `env:"SUBMITQUEUE_NOTIFY" sep:"none" help:"Tell people what happens: slack=URL or webhook=URL#secret=SECRET, or =@FILE with the rest in it; #kinds=red,rejected says of what. As the URL is a secret, prefer a file or the variable (with spaces between several)." placeholder:"SINK=URL"`
	History   string           `env:"SUBMITQUEUE_HISTORY" help:"Folder in which the history of each queue is kept as JSON lines as well, a file for each day." placeholder:"DIR" type:"path"`
	Days      int              `name:"history-days" default:"100" env:"SUBMITQUEUE_HISTORY_DAYS" help:"Days for which histories are kept, here and in Redis."`
	Megabytes int              `name:"history-mb" default:"256" env:"SUBMITQUEUE_HISTORY_MB" help:"Megabytes of Redis that the history of each queue may take, as JSON; a change takes about 3 kB."`
	LogJSON   bool             `name:"log-json" env:"SUBMITQUEUE_LOG_JSON" help:"Write logs as JSON lines."`

	Signing signingFlags        `embed:""`
	GitLab  gitlabaccount.Flags `embed:"" prefix:"gitlab-"`
	githubapp.Flags
	ShowApp bool `name:"show-app" help:"Let the set-up page show the new App's credentials, for a secret store, and not keep them."`

	out       io.Writer       // for output that is only for the console; nil: standard error
	forges    []forgeRow      // the table that Forge may name forges of; nil: forges()
	among     []string        // the names in Forge, each once
	analyzers analyzers.Table // nil: analyzers.All()
}

// console is the output for texts that only the operator of the server may read.
func (c *Serve) console() io.Writer {
	if c.out == nil {
		return os.Stderr
	}
	return c.out
}

// Bounds of the flags that say how much of histories is kept, and how many builds run at once.
const (
	mostDays      = 10_000
	mostMegabytes = 1 << 20
	mostRunners   = 512 // as of a runner on another machine
	mostCIBuilds  = 10_000
)

// Validate refuses bounds of histories that keep nothing or overflow, and numbers of builds and
// weights out of range.
func (c *Serve) Validate() error {
	if c.Runners < 0 || c.Runners > mostRunners {
		return fmt.Errorf("--runners is a number from 0 (only other machines build) to %d, not %d", mostRunners, c.Runners)
	}
	if c.CIBuilds < 1 || c.CIBuilds > mostCIBuilds {
		return fmt.Errorf("--ci-builds is a number from 1 to %d, not %d", mostCIBuilds, c.CIBuilds)
	}
	if c.Days < 1 || c.Days > mostDays {
		return fmt.Errorf("--history-days is a number from 1 to %d, not %d", mostDays, c.Days)
	}
	for queue, n := range c.Weights {
		if n < 1 || n > 1000 {
			return fmt.Errorf("--weight %s=%d: a weight is a number from 1 to 1000", queue, n)
		}
		if repository, branch, _ := strings.Cut(queue, "@"); repository == "" || branch == "" {
			return fmt.Errorf("--weight %s=%d: a queue is named as on its page, such as acme/shop@main", queue, n)
		}
	}
	if c.Megabytes < 1 || c.Megabytes > mostMegabytes {
		return fmt.Errorf("--history-mb is a number from 1 to %d, not %d", mostMegabytes, c.Megabytes)
	}
	return nil
}

// Run implements the command.
func (c *Serve) Run(ctx context.Context) error {
	SpareMemory()
	log := print.Log(os.Stderr, c.LogJSON)
	o, late, err := c.options(ctx, log)
	if err != nil {
		return err
	}
	s, err := startWithRoom(ctx, o)
	if err != nil {
		return err
	}
	c.tellClients(s)
	for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
		if !slices.Contains(s.queues.Queues(), name) {
			log.Warn("--weight names a queue that is not served yet", "queue", name, "served", strings.Join(s.queues.Queues(), " "))
		}
	}
	if late.start != nil {
		if err := late.start(s); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	if !c.Open && !late.signsIn {
		announceLink(c.console(), s.Base+s.Server.Link())
	}
	log.Info("serving", "url", s.Base, "redis", s.Redis, "queues", s.queues.Queues(), "runners", c.Runners)
	var failed error
	select {
	case <-ctx.Done():
		log.Info("stopping; work under way goes on with the next start")
	case failed = <-s.serve:
	}
	err = errors.Join(failed, s.Close())
	switch {
	case err != nil:
	case s.lasts:
		log.Info("stopped; nothing is lost")
	default:
		log.Warn("stopped; the queue was in memory and is gone")
	}
	return err
}

// options returns the server's options from the command line, and the work that is left
// once it runs.
func (c *Serve) options(ctx context.Context, log *slog.Logger) (o Options, late late, err error) {
	if c.Public = strings.TrimSuffix(c.Public, "/"); c.Public != "" && !isAddress(c.Public) {
		return o, late, print.Documented(print.UsageError(fmt.Sprintf("--url %q is not an address of this server: write https://HOST", c.Public)), "operate#names-of-the-server")
	}
	past := queue.PastBounds{Age: time.Duration(c.Days) * 24 * time.Hour, Bytes: int64(c.Megabytes) << 20}
	o = Options{Data: c.Data, History: c.History, Past: past, Now: wallClock(), Redis: c.Redis, Runners: c.Runners, Weights: c.Weights, Listen: c.Listen, Public: c.Public, Hosts: c.Hosts, Open: c.Open, Analyzers: c.analyzers, Log: log}
	if o.Notify, err = notify.Parse(c.Notify); err != nil {
		return o, late, print.Documented(print.UsageError("--notify: "+err.Error()), "operate#tell-people")
	}
	if late, err = c.open(ctx, &o); err != nil {
		return o, late, err
	}
	if o.Identity, o.Signer, err = c.Signing.open(ctx); err != nil {
		return o, late, print.Documented(err, "configure#how-a-change-lands")
	}
	if o.Token, o.TokenOf, err = ClientToken(c.Data); err != nil {
		return o, late, print.Documented(err, "operate#tokens")
	}
	if o.Caches, err = c.Caches.Open(log); err != nil {
		return o, late, print.Documented(print.UsageError(err.Error()), "runners#caches-that-runners-share")
	}
	o.Pass = c.Variables.Env
	if o.Secrets, err = c.Variables.read(); err != nil {
		return o, late, print.Documented(print.UsageError(err.Error()), "runners#variables-and-secrets")
	}
	if err := hideFromSteps(); err != nil {
		log.Warn("steps may be able to read the server's environment", "error", err)
	}
	if err := c.Isolate.choose(c, &o); err != nil {
		return o, late, print.Documented(err, "runners#isolation")
	}
	switch open := opens(c.Listen); {
	case open == "":
	case c.Open:
		log.Warn("everybody on "+open+" can read pages, logs and the API (--public)", "listen", c.Listen)
	case !strings.HasPrefix(c.Public, "https://"):
		log.Warn("tokens and sessions can be read on their way over "+open+"; put https in front, and say so with --url https://HOST", "listen", c.Listen)
	}
	return o, late, nil
}

// tellClients writes down the server's address, for commands on this machine: now, or
// once the disk has room.
func (c *Serve) tellClients(s *Stack) {
	file := client.File{URL: "http://" + reachable(s.Server.Addr()), Token: s.o.Token, User: s.o.TokenOf}
	write := func() error { return client.WriteFile(c.Data, file) }
	if err := write(); err != nil {
		s.o.Log.Warn("commands on this machine do not find this server yet: its address cannot be written down; trying again. Is the disk full?", "error", err)
		s.spawn(func(ctx context.Context) { keepWriting(ctx, s.o.Log, write) })
	}
}

// roomEvery is how often a server that found its disk full tries to start again.
const roomEvery = 2 * time.Second

// startWithRoom starts a server as soon as its disk has room. If it ended instead, the
// queues would stand still also after somebody has freed the disk.
func startWithRoom(ctx context.Context, o Options) (*Stack, error) {
	for told := false; ; told = true {
		s, err := Start(ctx, o)
		if !errors.Is(err, syscall.ENOSPC) {
			return s, err
		}
		if !told {
			o.Log.Error("the disk is full: the server starts once there is room", "data", o.Data, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(roomEvery):
		}
	}
}

// opens says where beside this machine an address can be reached from, or "".
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

// reachable returns an address under which this machine can reach a listener.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err == nil && net.ParseIP(host).IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}

// leastToken is the least length of the server's own token, where its operator chose it.
const leastToken = 16

// ClientToken returns the server's own token: the environment's, that of the last start, or
// a new one. It also returns the name in which the token commands: the user that the server
// runs as, unless the file of the last start names another user.
func ClientToken(data string) (token, user string, err error) {
	f, err := client.ReadFile(data)
	if err != nil {
		f = client.File{}
	}
	if f.User == "" {
		f.User = client.UserName()
	}
	switch t := os.Getenv(api.TokenVariable); {
	case t != "" && len(t) < leastToken:
		return "", "", fmt.Errorf("%s has %d characters, and could be guessed: take %d or more, such as those of openssl rand -hex 16; or leave it out, and the server makes one",
			api.TokenVariable, len(t), leastToken)
	case t != "":
		return t, f.User, nil
	case f.Token != "":
		return f.Token, f.User, nil
	}
	return rand.Text(), f.User, nil
}

// writeAgain is how often a write to a full disk is tried again.
const writeAgain = 5 * time.Second

// keepWriting calls write until it succeeds, or ctx ends.
func keepWriting(ctx context.Context, log *slog.Logger, write func() error) {
	tick := time.NewTicker(writeAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if write() == nil {
			log.Info("commands on this machine find this server now")
			return
		}
	}
}

// announceLink tells the person at the console how to read the server's pages.
func announceLink(w io.Writer, link string) {
	fmt.Fprintf(w, "\nThe pages of this server are closed. This link signs one browser in, once, within an hour:\n\n    %s\n\nAnother link: submitqueue token link. For people and programs: submitqueue token add NAME.\n\n", link)
}
