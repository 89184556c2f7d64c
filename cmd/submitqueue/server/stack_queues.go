package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/predict"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// model is the name of the predictor of queues (predict.Models).
const model = "prior"

// served is one queue of a running server.
type served struct {
	Queue
	owner   *app.Owner
	mirror  *mirror.Mirror
	workers workers.Controller
	runners workers.Controller  // the part of workers that is shared with other queues
	ci      *forgeci.Controller // the part of workers for the forge's CI; nil: none
	stop    func()              // nil: it does not run yet
	done    chan struct{}
}

// queueSet is the queues of a server, which come and go. Opening one may wait
// for a disk; no other waits for it.
type queueSet struct {
	s         *Stack
	o         Options
	name      string                // under which this server owns queues
	keys      map[string]*queueKeys // by the names of forges that give ids; set before a forge has queues
	share     *app.Share
	metrics   *app.Metrics
	learner   *app.Learner              // of all queues
	neighbors map[string]*app.Neighbors // by the forge's name; guarded by mu

	once     sync.Once // the pool of checkouts
	pool     *checkout.Pool
	poolErr  error
	mu       sync.Mutex
	running  bool // the server does
	queues   []*served
	routes   map[string]map[string][]string // by the forge's name: keys of queues by Queue.Repository, in lower case
	opening  map[string]bool
	finished bool
	lacks    func() error // why there are queues that cannot be opened yet; nil: there are none
}

// errServed: there is a queue of that branch already, and a branch has only one.
var errServed = errors.New("this server serves that branch already")

// open makes a queue that does not run yet.
func (set *queueSet) open(ctx context.Context, q Queue) (*served, error) {
	o := set.o
	clone, err := mirror.Open(ctx, filepath.Join(o.Data, "mirrors", string(digest.Of("mirror1", q.Key())[:16])+".git"))
	if err != nil {
		return nil, fmt.Errorf("mirror of %s: %w", q.Key(), err)
	}
	if why := clone.Remade(); why != "" {
		o.Log.Warn("the mirror was damaged and is begun anew: it fills as it is used", "queue", q.Key(), "damage", why)
	}
	// A mirror's lock waits for a server that is ending; the pool of checkouts does not.
	set.once.Do(func() {
		set.pool, set.poolErr = checkout.Open(filepath.Join(o.Data, "checkouts"), checkout.Options{})
	})
	if set.poolErr != nil {
		clone.Close()
		return nil, set.poolErr
	}
	clone.Merges.Signer = o.Signer
	if o.Identity != (mirror.Identity{}) {
		clone.Merges.Identity = o.Identity
	}
	runners := set.share.For(q.Key(), mirror.Checkouts{Mirror: clone, Forge: q.Forge})
	controller, ci, err := q.builders(runners, mirror.OwnRefs{Mirror: clone, Forge: q.Forge})
	if err != nil {
		set.share.Leave(ctx, runners)
		clone.Close()
		return nil, err
	}
	return &served{Queue: q, mirror: clone, workers: controller, runners: runners, ci: ci, done: make(chan struct{}), owner: app.NewOwner(app.OwnerOptions{
		Queue: q.Key(), Called: q.Called, Site: q.Site, Branch: q.Branch, Follow: q.Follow, Name: set.name, Store: set.s.store, Forge: q.Forge,
		Mirror: clone, Workers: controller, Analyzers: o.Analyzers.With(set.pool), Now: o.Now, Metrics: set.metrics, Log: o.Log,
		Moved: set.s.moved(q.Hook, q.Repository), Targets: func() []string { return set.targets(q.Hook, q.Repository) },
		Missed: q.Look, Observer: set.s.observer(q.Key()), Notify: set.s.notify, Model: predict.Named(predict.Models(), model), Learner: set.learner, Neighbors: set.among(q.Hook), Texts: texts.Options{BaseURL: set.s.Base, RepoURL: q.URL, Queue: q.Key(), Words: texts.Words{Local: o.Requests != nil, Branch: q.Branch, Mark: q.Mark}},
	})}, nil
}

// add opens a queue and lets it run, if the server does. It returns its key.
func (set *queueSet) add(ctx context.Context, q Queue) (key string, err error) {
	if q.Alone != "" {
		if q, err = set.alone(ctx, q); err != nil {
			return "", err
		}
	}
	if q.Under, err = app.Under(ctx, set.s.store, q.Key(), q.Branch); err != nil {
		return "", err
	}
	if !set.reserve(q.Key()) {
		return "", fmt.Errorf("%s: %w", q.Key(), errServed)
	}
	defer set.release(q.Key())
	one, err := set.open(ctx, q)
	if err != nil {
		return "", err
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.finished {
		set.share.Leave(ctx, one.runners)
		return q.Key(), one.close()
	}
	set.queues = append(set.queues, one)
	set.route()
	if set.running {
		set.run(one)
		set.s.queues.Add(one.owner)
	}
	return q.Key(), nil
}

// reserve claims a key while its queue is being opened; release ends that. It
// reports false where the queue is there, or another one is opening it.
func (set *queueSet) reserve(name string) bool {
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.opening[name] || slices.ContainsFunc(set.queues, func(q *served) bool { return q.Key() == name }) {
		return false
	}
	if set.opening == nil {
		set.opening = map[string]bool{}
	}
	set.opening[name] = true
	return true
}

func (set *queueSet) release(name string) {
	set.mu.Lock()
	defer set.mu.Unlock()
	delete(set.opening, name)
}

// use sets where the present names of a forge's repositories are kept.
func (set *queueSet) use(hook string, keys *queueKeys) {
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.keys == nil {
		set.keys = map[string]*queueKeys{}
	}
	set.keys[hook] = keys
}

// wait keeps the server from being ready while lacks returns an error.
func (set *queueSet) wait(lacks func() error) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.lacks = lacks
}

// missing says why there are queues that cannot be opened yet, or nil.
func (set *queueSet) missing() error {
	set.mu.Lock()
	lacks := set.lacks
	set.mu.Unlock()
	if lacks == nil {
		return nil
	}
	return lacks()
}

// route makes the table of webhooks again. The caller holds mu.
func (set *queueSet) route() {
	routes := map[string]map[string][]string{}
	for _, q := range set.queues {
		if routes[q.Hook] == nil {
			routes[q.Hook] = map[string][]string{}
		}
		key := strings.ToLower(q.Repository)
		routes[q.Hook][key] = append(routes[q.Hook][key], q.Key())
	}
	set.routes = routes
}

// among returns the neighbors of a forge's queues.
func (set *queueSet) among(hook string) *app.Neighbors {
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.neighbors == nil {
		set.neighbors = map[string]*app.Neighbors{}
	}
	if set.neighbors[hook] == nil {
		set.neighbors[hook] = app.NewNeighbors()
	}
	return set.neighbors[hook]
}

// find returns the queues of a repository at a forge, by Queue.Repository in lower case.
func (set *queueSet) find(hook, repository string) []string {
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.routes[hook][repository]
}

// targets returns the branches that the queues of a repository land on, by their
// configured and by their present names.
func (set *queueSet) targets(hook, repository string) (out []string) {
	set.mu.Lock()
	queues := slices.Clone(set.queues)
	set.mu.Unlock()
	for _, q := range queues {
		if q.Hook == hook && strings.EqualFold(q.Repository, repository) {
			out = append(out, q.Branch, q.owner.Target())
		}
	}
	return out
}

// called reports whether the repository with a present name at a forge has a queue.
func (set *queueSet) called(hook, repository string) bool {
	set.mu.Lock()
	queues := slices.Clone(set.queues)
	set.mu.Unlock()
	return slices.ContainsFunc(queues, func(q *served) bool {
		name, _, _ := strings.Cut(q.owner.Called(), "@")
		return q.Hook == hook && strings.EqualFold(name, q.Site+repository)
	})
}

// repositoryOf returns the present name of a queue's repository. It is "" where that is not
// known yet, or another repository here had the name before: taking over a name gets nobody
// a secret.
func (s *Stack) repositoryOf(key string) string {
	if s.set == nil {
		return ""
	}
	s.set.mu.Lock()
	queues := slices.Clone(s.set.queues)
	s.set.mu.Unlock()
	i := slices.IndexFunc(queues, func(q *served) bool { return q.Key() == key })
	if i < 0 {
		return ""
	}
	own := queues[i]
	name, _, _ := strings.Cut(own.owner.Called(), "@")
	if slices.ContainsFunc(queues, func(q *served) bool {
		return q.Hook == own.Hook && q.Repository != own.Repository && q.owner.Had(strings.TrimPrefix(name, q.Site))
	}) {
		return ""
	}
	return name
}

// renamed takes in the present name of a repository at a forge.
func (set *queueSet) renamed(hook, repository string, now forge.Place) {
	set.mu.Lock()
	queues, keys := slices.Clone(set.queues), set.keys[hook]
	set.mu.Unlock()
	for _, q := range queues {
		if q.Hook == hook && q.Repository == repository && now.Name != "" {
			q.owner.Renamed(now.Name)
		}
	}
	if keys == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), keysLease)
	defer cancel()
	if err := keys.renamed(ctx, now); err != nil {
		set.o.Log.Warn("the name of a repository cannot be stored yet; it is asked for again at the next start", "repository", now.Name, "error", err)
	}
}

// all returns the table of a forge's webhooks.
func (set *queueSet) all(hook string) map[string][]string {
	set.mu.Lock()
	defer set.mu.Unlock()
	return maps.Clone(set.routes[hook])
}

// start lets all queues run, also those that are added later.
func (set *queueSet) start() {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.running = true
	for _, q := range set.queues {
		set.run(q)
	}
}

// run starts a queue. The caller holds mu.
func (set *queueSet) run(q *served) {
	ended, stop := context.WithCancel(context.Background())
	q.stop = stop
	set.s.spawn(func(live context.Context) {
		defer close(q.done)
		ctx, cancel := context.WithCancel(live)
		defer cancel()
		defer context.AfterFunc(ended, cancel)()
		if err := q.owner.Run(ctx); err != nil {
			set.o.Log.Error("a queue stopped", "queue", q.owner.Called(), "error", err)
		}
	})
}

// remove stops a queue. Its stored state stays, and it goes on from there when
// it is added again.
func (set *queueSet) remove(ctx context.Context, name string) error {
	set.mu.Lock()
	i := slices.IndexFunc(set.queues, func(q *served) bool { return q.Key() == name })
	if i < 0 {
		set.mu.Unlock()
		return nil
	}
	q := set.queues[i]
	set.queues = slices.Delete(slices.Clone(set.queues), i, i+1)
	set.route()
	set.mu.Unlock()
	set.s.queues.Remove(q.owner)
	if q.stop != nil {
		q.stop()
		<-q.done
	}
	set.share.Leave(ctx, q.runners)
	return q.close()
}

// owners returns the owners of the present queues.
func (set *queueSet) owners() (list []*app.Owner) {
	set.mu.Lock()
	defer set.mu.Unlock()
	for _, q := range set.queues {
		list = append(list, q.owner)
	}
	return list
}

// close closes the resources of the queues, which have ended.
func (set *queueSet) close() error {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.finished = true
	var err error
	for _, q := range set.queues {
		if e := q.close(); e != nil && err == nil {
			err = e
		}
	}
	if set.pool != nil {
		if e := set.pool.Close(); e != nil && err == nil {
			err = e
		}
	}
	return err
}
