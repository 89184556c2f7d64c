package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/intake"
	"github.com/submitqueue/submitqueue/app/notify"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/history"
	"github.com/submitqueue/submitqueue/queue/redisstore"
	"github.com/submitqueue/submitqueue/queue/spool"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// Steps say which parts of the machine steps see, and where they run.
type Steps struct {
	Isolate   workers.Isolation // of the runners; "": none, and no page warns of that
	UIDs      workers.UIDs      // for IsolateUID
	Gaps      []string          // what the isolation leaves open here
	Hide      []string          // files and folders that steps see empty
	Show      []string          // files and folders in hidden ones that steps see all the same
	KeepHomes bool
	HomeSeed  string
	Pass      []string         // variables of the server that steps see
	Secrets   []workers.Secret // variables that logs do not show
	SlotsDir  string           // of the runners; "": below Data
}

// Options say what a server is made of. Data is a private folder.
type Options struct {
	Data    string
	Now     func() time.Time // the server's clock; nil: the machine's
	Redis   string           // URL; "" or "auto": see redisstore.Auto
	Runners int
	Weights map[string]int // of queues, against others that share the runners; default 1
	Steps
	Caches    workers.Caches // caches that the runners keep from build to build; Start fills in Seen
	Listen    string
	Public    string   // URL under which people reach the server; "": its address
	Hosts     []string // further names under which it answers
	Open      bool     // everybody may read
	Token     string   // the server's own
	TokenOf   string   // the name in which the token commands
	Queues    []Queue
	Receiver  map[string]forge.Receiver // of webhooks, by forge
	Workers   workers.Controller        // nil: a pool of Runners
	Requests  api.Requests              // of a forge without pull requests; nil: it has them
	Analyzers analyzers.Table           // nil: analyzers.All()
	Observer  func(speculation.Turn)    // sees every turn; nil: nobody
	Notify    []notify.Target           // targets of notifications
	History   string                    // folder for histories as files; "": none
	Past      queue.PastBounds          // how much of event archives is kept
	Identity  mirror.Identity           // the identity in commits; zero: the forge's
	Signer    mirror.Signer             // of commits; nil: they are not signed
	Mounts    map[string]http.Handler   // further handlers, by the beginning of their paths
	Log       *slog.Logger
}

// Queue is one queue of a server.
type Queue struct {
	Hook       string   // the forge's name, as in Options.Receiver; "": the only one there
	Repository string   // the beginning of its queues' keys: its name in the store
	Alone      string   // takes the place of Repository where another forge may have a queue of the same name, and Repository is not stored for ID; "": Repository
	ID         int64    // that the forge gives it, where Alone is set
	Called     []string // names that it had, the present one last; none: Repository
	Site       string   // before each of its names, where another forge of the server may have a repository of the same name
	Branch     string
	Follow     bool   // nobody chose the branch: it is the repository's default branch
	Under      string // the queue's key, where its branch had another name; "": that of repository and branch
	Forge      forge.Forge
	URL        string           // of the repository, for people
	Mark       string           // what the forge writes before the number of a change; "": "#"
	CI         *forgeci.Options // builds by the forge's own CI; Refs and Branch are filled in; nil: none
	Look       time.Duration    // how often the forge is asked without a webhook; 0: app's default
}

// Key is where the queue is in the store.
func (q Queue) Key() string {
	if q.Under != "" {
		return q.Under
	}
	return q.Repository + "@" + q.Branch
}

// Stack is a running server with all its parts.
type Stack struct {
	o      Options
	Server *app.Server
	queues *app.Queues
	Owners []*app.Owner // of the queues it was started with
	set    *queueSet
	store  *redisstore.Store
	notify *notify.Notifier
	Redis  string                      // which Redis it became, for people
	lasts  bool                        // what it stores outlives it
	Base   string                      // URL for people
	spawn  func(func(context.Context)) // runs a function until the server ends; the server waits for it
	stop   context.CancelFunc
	wg     sync.WaitGroup
	closes []func() error // in the order of making
	serve  chan error

	metrics *app.Metrics
	share   *app.Share
	pool    workers.Controller
	remote  *coordinator.Coordinator // of runners on other machines; nil: the builds are not the pool's
	tokens  *coordinator.Registry    // of those runners
	spooled *spool.Spool
	history *history.Folder // nil: none

	intake *intake.Intake // of webhooks; nil: there are none
}

// Start starts a server; [Stack.Close] ends it. Its stored state survives.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Analyzers == nil {
		o.Analyzers = analyzers.All()
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, print.Documented(fmt.Errorf("the data folder cannot be used: %w", err), "operate#where-things-are")
	}
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Stack{o: o, stop: stop, serve: make(chan error, 1), metrics: app.NewMetrics(), share: app.NewShare()}
	s.spawn = func(f func(context.Context)) { s.wg.Go(func() { f(live) }) }
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, open := range []func(context.Context) error{s.openFolder, s.openStore, s.openHistory, s.openRunners, s.openRemote, s.openQueues, s.openServer, s.openNotify} {
		if err := open(ctx); err != nil {
			return nil, err
		}
	}
	for _, q := range o.Queues {
		for name := range o.Receiver {
			if q.Hook == "" && len(o.Receiver) == 1 {
				q.Hook = name
			}
		}
		if _, err := s.set.add(ctx, q); err != nil {
			return nil, err
		}
	}
	s.Owners = s.set.owners()
	s.queues = app.NewQueues(s.store, s.pool, o.Now, s.Owners...)

	s.spawn(s.share.Run)
	s.spawn(s.queues.Watch)
	s.spawn(s.drainSpool)
	s.set.start()
	s.wg.Go(func() { s.serve <- s.Server.Serve() })
	return s, nil
}

// openFolder takes the data folder for this server.
func (s *Stack) openFolder(ctx context.Context) error {
	lock, err := takeFolder(ctx, s.o.Data)
	if err == nil {
		s.closes = append(s.closes, lock.Close)
	}
	return err
}

func (s *Stack) openStore(ctx context.Context) error {
	url := s.o.Redis
	if url == "auto" {
		url = ""
	}
	store, closeStore, kind, err := redisstore.Auto(ctx, redisstore.AutoOptions{URL: url, DataDir: s.o.Data, Past: s.o.Past, Logger: s.o.Log})
	switch {
	case err != nil && url != "" && ctx.Err() == nil:
		return print.Documented(fmt.Errorf("the Redis of --redis (REDIS_URL) cannot be used: start it, or name another; --redis auto starts one of the server's own (%w)", err), "operate#redis")
	case err != nil:
		return fmt.Errorf("redis: %w", err)
	}
	s.closes = append(s.closes, closeStore)
	s.store, s.Redis, s.lasts = store, kind, !strings.HasPrefix(kind, redisstore.InMemory)
	if warning := store.Durability(ctx); warning != "" {
		s.o.Log.Warn("redis may lose data", "detail", warning)
	}
	return nil
}

// comeBack is how long runners on other machines may take to ask again after the server has
// started.
const comeBack = 2 * time.Minute

// openRunners makes the pool, unless Options have other Workers.
func (s *Stack) openRunners(context.Context) (err error) {
	o := s.o
	if o.Caches.Shared != nil {
		s.closes = append(s.closes, o.Caches.Shared.Close) // after the runners
	}
	o.Caches.Seen = func(e workers.CacheEvent) { s.metrics.RecordCache(string(e.Result), e.Bytes) }
	if s.pool = o.Workers; s.pool == nil {
		s.tokens = coordinator.NewRegistry(o.Data)
		known, err := s.tokens.List()
		if err != nil {
			return err
		}
		await := time.Duration(0)
		if slices.ContainsFunc(known, func(r coordinator.Runner) bool { return r.Revoked.IsZero() }) {
			await = comeBack
		}
		if s.pool, err = workers.NewPool(workers.PoolOptions{Slots: o.Runners, Weights: o.Weights, Dir: filepath.Join(o.Data, "runners"), Await: await, Log: o.Log,
			Isolate: o.Isolate, UIDs: o.UIDs, Hide: o.Hide, Show: o.Show, SlotsDir: o.SlotsDir,
			Runner: workers.RunnerOptions{Checkout: s.share, KeepHome: o.KeepHomes, HomeSeed: o.HomeSeed, Caches: o.Caches, Pass: o.Pass, Secrets: o.Secrets, Called: s.repositoryOf, Log: o.Log}}); err != nil {
			return fmt.Errorf("runners: %w", err)
		}
	}
	s.share.Use(s.pool)
	s.closes = append(s.closes, func() error {
		wait, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		return s.pool.Close(wait)
	})
	return nil
}

// openQueues makes the set of queues, which is empty, and the spool for deliveries that
// come while Redis is away.
func (s *Stack) openQueues(context.Context) (err error) {
	if s.spooled, err = spool.Open(filepath.Join(s.o.Data, "spool")); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.closes = append(s.closes, s.spooled.Close)
	name, err := ownerName(s.o.Data)
	if err != nil {
		return err
	}
	s.set = &queueSet{s: s, o: s.o, name: name, share: s.share, metrics: s.metrics, learner: app.NewLearner()}
	s.closes = append(s.closes, s.set.close)
	return nil
}

// openServer listens for pages, commands and webhooks, but answers nothing yet.
func (s *Stack) openServer(ctx context.Context) error {
	o := s.o
	hooks := map[string]intake.Hook{}
	for name, r := range o.Receiver {
		hooks[name] = intake.Hook{Receiver: r, Find: func(repository string) []string { return s.set.find(name, repository) }, All: func() map[string][]string { return s.set.all(name) }, CI: s.set.tellCI}
	}
	var hook http.Handler
	if len(hooks) > 0 {
		s.intake = intake.New(intake.Options{Hooks: hooks, Appender: s.store, Spool: s.spooled, Metrics: s.metrics, Now: o.Now, Dir: o.Data, Log: o.Log})
		hook = s.intake
	}
	s.Server = app.NewServer(app.ServerOptions{Address: o.Listen, Hosts: hostNames(o), Source: lateSource{s}, Metrics: s.metrics, Intake: hook,
		Ready: s.ready, Words: texts.Words{Local: o.Requests != nil}, Token: o.Token, TokenName: o.TokenOf, Access: o.Data, Public: o.Open, URL: o.Public, Requests: o.Requests, Mounts: o.Mounts, Runners: s.runners, Isolation: o.Isolate, KeepHomes: o.KeepHomes, Gaps: o.Gaps, Now: o.Now, Log: o.Log})
	if err := s.Server.Listen(); err != nil {
		return err
	}
	if s.Base = o.Public; s.Base == "" {
		s.Base = "http://" + reachable(s.Server.Addr())
	}
	s.shutToSteps(ctx)
	return nil
}

// openNotify makes the sender of notifications, which link to the server's pages.
func (s *Stack) openNotify(context.Context) error {
	s.notify = notify.New(notify.Options{Targets: s.o.Notify, Feed: s.store, Words: texts.Words{Local: s.o.Requests != nil},
		BaseURL: s.Base, Now: s.o.Now, Log: s.o.Log, Record: s.metrics.RecordNotification})
	return nil
}

// hostNames returns the names under which a server answers: those that its operator
// gives, and the name of the machine, which no stranger can set.
func hostNames(o Options) []string {
	names := slices.Clone(o.Hosts)
	if o.Public != "" {
		names = append(names, o.Public)
	}
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	return names
}

// ready says why the server cannot work yet, or nil.
func (s *Stack) ready() error {
	if err := s.set.missing(); err != nil {
		return err
	}
	return s.queues.Ready()
}

// moved returns a function that takes in the present place of a repository at a forge:
// webhooks have its id and its present name, and people use that name.
func (s *Stack) moved(hook, repository string) func(now forge.Place) {
	return func(now forge.Place) {
		if s.intake != nil {
			s.intake.Moved(hook, repository, now)
		}
		s.set.renamed(hook, repository, now)
	}
}

// ownerName returns the name under which a server owns queues. It belongs to the data
// folder, so that a server that was killed takes over its own lease when it starts
// again. Only one process uses the name, since it holds the folder's lock. A folder that
// was copied to another machine has another name.
func ownerName(data string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	path := filepath.Join(data, "server-id")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(rand.Text() + "\n")
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return "", print.Documented(fmt.Errorf("the data folder cannot be used: %w", err), "operate#where-things-are")
	}
	id, err := os.ReadFile(path)
	if err != nil {
		return "", print.Documented(fmt.Errorf("the data folder cannot be used: %w", err), "operate#where-things-are")
	}
	if len(strings.TrimSpace(string(id))) < 16 { // a crash has cut it short
		return fmt.Sprintf("%s/%d", host, os.Getpid()), os.Remove(path)
	}
	return host + "/" + strings.TrimSpace(string(id)), nil
}

// drainSpool moves deliveries that were spooled while Redis was away into the
// inboxes, once it is back.
func (s *Stack) drainSpool(ctx context.Context) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	if d := s.spooled.Damage(); d.Places > 0 {
		s.o.Log.Error("spooled deliveries could not be read and are dropped; comments, labels and heads are read from the forge", "places", d.Places, "bytes", d.Bytes)
	}
	for {
		s.metrics.SetSpool(s.spooled.Len())
		if s.spooled.Len() > 0 {
			if n, err := intake.Drain(ctx, s.spooled, s.store, s.o.Log); err == nil && n > 0 {
				s.o.Log.Info("spooled deliveries are in their inboxes", "count", n)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends everything, newest first. The next start finds work under way in
// the store.
func (s *Stack) Close() error {
	var errs []error
	if s.Server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		errs = append(errs, s.Server.Shutdown(ctx))
		cancel()
	}
	s.stop()
	s.wg.Wait()
	for i := len(s.closes) - 1; i >= 0; i-- {
		errs = append(errs, s.closes[i]())
	}
	return errors.Join(errs...)
}

// lateSource is the source of queues, which are made after the server has its address.
type lateSource struct{ s *Stack }

var (
	_ api.Ledgers      = lateSource{}
	_ api.Pasts        = lateSource{}
	_ api.FlakesSource = lateSource{}
)

func (l lateSource) Queues() []string                       { return l.s.queues.Queues() }
func (l lateSource) Brief(n string) (api.Brief, bool)       { return l.s.queues.Brief(n) }
func (l lateSource) Queue(n string) (queue.QueueView, bool) { return l.s.queues.Queue(n) }
func (l lateSource) Change(n, id string) (queue.View, bool) { return l.s.queues.Change(n, id) }
func (l lateSource) Changed() <-chan struct{}               { return l.s.queues.Changed() }
func (l lateSource) BuildLog(id string, after int64) ([]byte, int64, bool, bool) {
	return l.s.queues.BuildLog(id, after)
}
func (l lateSource) History(ctx context.Context, n string, max int) ([]queue.Note, error) {
	return l.s.queues.History(ctx, n, max)
}
func (l lateSource) Submit(ctx context.Context, n string, e queue.Event) error {
	return l.s.queues.Submit(ctx, n, e)
}
func (l lateSource) Ledger(ctx context.Context, n, what string, most int) (api.LedgerView, error) {
	return l.s.queues.Ledger(ctx, n, what, most)
}
func (l lateSource) Flakes(ctx context.Context, n string) ([]api.FlakyTarget, error) {
	return l.s.queues.Flakes(ctx, n)
}
func (l lateSource) Forgetting(ctx context.Context, n string, f queue.Forgotten) (api.ForgetView, error) {
	return l.s.queues.Forgetting(ctx, n, f)
}
func (l lateSource) Rows(ctx context.Context, n, place string, max int) ([]queue.Row, string, error) {
	return l.s.queues.Rows(ctx, n, place, max)
}
func (l lateSource) Keep(ctx context.Context, n string, rows []queue.Row) error {
	return l.s.queues.Keep(ctx, n, rows)
}
