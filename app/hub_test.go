package app_test

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/intake"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/queue/spool"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

const (
	hubQueue  = "acme/shop@main"
	hubSecret = "the secret of the webhook"
	patience  = 2 * time.Minute // of a test that waits for something that should come
)

// hub is a whole server in front of a simulated GitHub: signed webhooks over
// HTTP, real git, a real runner, the in-memory store unless a test brings
// another. On acme/shop, ada is an administrator, max a maintainer, ann and bob
// write, rea reads, eve is a stranger. main is protected; only the queue and
// ada push to it. A comment of the bot that a test does not read fails it.
type hub struct {
	*testing.T
	*forgetest.Repository
	github  *forgetest.Server
	adapter *github.Forge
	mirror  *mirror.Mirror
	store   queue.Store
	spool   *spool.Spool
	owner   *app.Owner
	server  *app.Server
	metrics *app.Metrics
	log     *slog.Logger
	stop    func()
	near    func() // ends what remote has begun
	ci      *forgeci.Controller
	options hubOptions
	intake  *intake.Intake
}

// hubOptions say what of a hub is other than usual.
type hubOptions struct {
	files      map[string]string // on main at first, beside those of plain
	store      queue.Store
	workers    workers.Controller
	wrap       func(queue.Store) queue.Store
	forge      func(forge.Forge) forge.Forge
	analyzers  app.Analyzers
	missed     time.Duration
	again      time.Duration
	progress   time.Duration    // 0: progress is told of at once
	now        func() time.Time // the owner's clock
	forgeNow   func() time.Time // GitHub's clock
	timeout    time.Duration    // of one request to GitHub; 0: one minute
	slots      int              // builds at a time; 0: two
	unguarded  bool             // main is not protected
	talkative  bool             // comments that nobody reads do not fail the test
	ci         *forgeci.Options // builds by the forge's CI, beside the runners
	unattended bool             // the owner is not started: nobody makes turns
	crowd      bool             // beside the other tests of a crowd, however many may run at once
	signer     mirror.Signer    // of the commits that the queue makes
	branch     string           // "": main
	follow     bool             // nobody has chosen it
	targets    []string         // branches that other queues of the server land on
	neighbors  *app.Neighbors   // nil: no other queue
	http       bool             // git goes over HTTP wherever the tests run: the mirror or the App's token may be lost
}

// plain is a repository whose one step fails where a file is called bad.
func plain() map[string]string {
	return map[string]string{
		".submitqueue.yml": oneStep,
		"test.sh":          "for f in bad */bad; do test ! -e $f || { echo \"$f is bad\"; exit 1; }; done\n",
	}
}

// areas is a repository of two areas, each with a test of its own.
func areas() map[string]string {
	return map[string]string{
		".submitqueue.yml": `version: 1
analysis:
  analyzer: paths
  areas:
    - {name: api, files: ["api/**"]}
    - {name: web, files: ["web/**"]}
steps:
  - name: test
    run: for t in $SUBMITQUEUE_TARGETS; do sh $t/test.sh || exit 1; done
    timeout: 1m
`,
		"api/test.sh": "test ! -e api/bad || { echo api is bad; exit 1; }\n",
		"web/test.sh": "test ! -e web/bad || { echo web is bad; exit 1; }\n",
	}
}

// newHub starts a server beside a forge of its own. These tests are many and cost the most, so
// that a plain go test draws them.
func newHub(t *testing.T, o hubOptions) *hub {
	t.Helper()
	storetest.OneOf(t, 3)
	if !o.crowd {
		t.Parallel()
	}
	s := must(forgetest.New(forgetest.Options{Dir: t.TempDir(), Judge: contract.For(t), Now: o.forgeNow}))
	t.Cleanup(func() { mustNot(t, s.Close()) })
	h := &hub{T: t, github: s, Repository: must(s.AddRepository("acme", "shop", "main")), metrics: app.NewMetrics(),
		log: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	for user, role := range map[string]string{"ada": "admin", "max": "maintain", "ann": "write", "bob": "write", "rea": "read"} {
		h.SetPermission(user, role)
	}
	s.AddUser("eve")
	files := plain()
	maps.Copy(files, o.files)
	h.push("ada", "main", files)
	if !o.unguarded {
		h.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue", "ada"}})
	}
	if h.store = o.store; h.store == nil {
		h.store = memstore.New(time.Now)
	}
	if o.wrap != nil {
		h.store = o.wrap(h.store)
	}
	if !o.talkative {
		s.Strict(t)
	}
	h.options = o
	h.start(o)
	t.Cleanup(func() { h.stop() })
	return h
}

// in is the same hub for a sub-test.
func (h *hub) in(t *testing.T) *hub {
	sub := *h
	sub.T = t
	return &sub
}

// start runs a server on what is stored, as after a restart.
func (h *hub) start(o hubOptions) {
	h.Helper()
	h.adapter = must(github.New(github.Options{BaseURL: h.github.APIURL(), AppID: h.github.AppID(), PrivateKey: h.github.AppKey(),
		Owner: "acme", Name: "shop", Logger: h.log, Timeout: o.timeout}))
	if o.now == nil {
		o.now = time.Now
	}
	if o.analyzers == nil {
		o.analyzers = analyzers
	}
	dir := h.TempDir()
	h.mirror = must(mirror.Open(h.Context(), filepath.Join(dir, "mirror")))
	h.mirror.Merges.Signer = o.signer
	h.near = func() {}
	remote := h.remote()
	port := remote
	if o.forge != nil {
		port = o.forge(port)
	}
	h.spool = must(spool.Open(filepath.Join(dir, "spool")))
	pool := o.workers
	if pool == nil {
		pool = must(workers.NewPool(workers.PoolOptions{Slots: cmp.Or(o.slots, 2), Dir: filepath.Join(dir, "runners"), Log: h.log,
			Runner: workers.RunnerOptions{Checkout: mirror.Checkouts{Mirror: h.mirror, Forge: remote}, Log: h.log}}))
	}
	tell := func([]string, forge.CINews) {}
	if o.ci != nil {
		ci := *o.ci
		ci.CI, ci.Refs, ci.Branch, ci.Log = h.adapter.Capabilities().CI, mirror.OwnRefs{Mirror: h.mirror, Forge: remote}, "main", h.log
		h.ci = must(forgeci.New(ci))
		pool = workers.NewSplit(pool, h.ci)
		tell = func(_ []string, news forge.CINews) { h.ci.News(news) }
	}
	branch := cmp.Or(o.branch, "main")
	if kept := must(app.Under(h.Context(), h.store, "acme/shop@"+branch, branch)); kept != hubQueue {
		h.Errorf("the queue of %s is kept as %s", branch, kept)
	}
	h.owner = app.NewOwner(app.OwnerOptions{Queue: hubQueue, Branch: branch, Follow: o.follow, Name: "hub", Store: h.store, Forge: port, Mirror: h.mirror,
		Workers: pool, Analyzers: o.analyzers, Now: o.now, Metrics: h.metrics, Log: h.log, Missed: o.missed, Again: o.again, Progress: cmp.Or(o.progress, time.Millisecond),
		Moved: func(now forge.Place) { h.intake.Moved("github", "acme/shop", now) }, Targets: func() []string { return o.targets },
		Neighbors: o.neighbors, Texts: texts.Options{Queue: hubQueue, RepoURL: h.github.URL() + "/acme/shop", Words: texts.Words{Branch: "main"}}})
	queues := app.NewQueues(h.store, pool, time.Now, h.owner)
	h.server = app.NewServer(app.ServerOptions{Address: "127.0.0.1:0", Source: queues, Metrics: h.metrics, Ready: queues.Ready, Public: true,
		Log: h.log, Intake: h.intakeOf(intake.Options{
			Hooks:    map[string]intake.Hook{"github": {Receiver: github.NewReceiver(hubSecret), Queues: map[string][]string{"acme/shop": {hubQueue}}, CI: tell}},
			Appender: h.store, Spool: h.spool, Metrics: h.metrics, Now: time.Now})})
	mustNot(h.T, h.server.Listen())
	h.github.SetWebhook("http://"+h.server.Addr()+"/webhook", hubSecret)

	live, stop := context.WithCancel(context.Background())
	ended := make(chan error, 3)
	go func() { ended <- h.server.Serve() }()
	go func() { queues.Watch(live); ended <- nil }()
	go func() {
		if !o.unattended {
			ended <- h.owner.Run(live)
			return
		}
		ended <- nil
	}()
	h.stop = func() {
		h.quiet()
		stop()
		mustNot(h.T, h.server.Shutdown(context.Background()))
		for range 3 {
			mustNot(h.T, <-ended)
		}
		mustNot(h.T, pool.Close(context.Background()))
		mustNot(h.T, h.mirror.Close())
		h.near()
		mustNot(h.T, h.spool.Close())
		h.stop = func() {}
	}
}
