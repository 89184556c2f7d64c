package forgeci

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
)

// DefaultPrefix is the default prefix of the names of our refs.
const DefaultPrefix = "submitqueue"

// Refs are branches that only the queue writes; mirror.OwnRefs implements it.
type Refs interface {
	// Push moves branches in one push, if the forge takes so many. fresh says for each branch
	// whether the push has moved it, and it was not there already. each has the error of each
	// branch.
	Push(ctx context.Context, moves []mirror.RefMove) (fresh []bool, each []error, err error)
	// Wait returns how long the next push is to wait, so that more moves can go into it. idle
	// says that nobody waits for these refs.
	Wait(ctx context.Context, idle bool) time.Duration
	// List returns the branches under a prefix.
	List(ctx context.Context, prefix string) (map[string]queue.CommitID, error)
	// Message returns the message of a commit; hostile text.
	Message(ctx context.Context, commit queue.CommitID) (string, error)
	// File makes a commit that holds one file.
	File(ctx context.Context, name string, data []byte) (queue.CommitID, error)
	// Read returns the content of a file of a commit; hostile text. Nil: it has none.
	Read(ctx context.Context, commit queue.CommitID, path string) ([]byte, error)
}

// Options configure a Controller. CI, Refs and Branch are required; other zero
// values mean the defaults.
type Options struct {
	CI      forge.CI
	Starter forge.Starter // makes runs on request; nil: pushes start them
	// Inputs returns the inputs that a CI file declares and that take any text. Nil: no CI file
	// declares inputs.
	Inputs func(file []byte) []string
	Refs   Refs
	Branch string           // the queue's
	Prefix string           // default DefaultPrefix
	Slots  int              // builds at a time; default 10
	Name   string           // of the CI, as a machine; default "ci"
	Poll   time.Duration    // the controller looks at a build without news for so long, less often while webhooks come; default 1 min
	Linger time.Duration    // refs of ended builds wait so long for company before they are deleted; default 15 s
	Grace  time.Duration    // how long a CI may take to begin after a push, before its ref may be deleted; default 30 s
	Now    func() time.Time // default time.Now
	Log    *slog.Logger     // default: none
}

// Controller builds by the forge's CI. Make it with New.
type Controller struct {
	o      Options
	events *workers.Stream
	stop   context.CancelFunc
	tasks  sync.WaitGroup
	toPush chan struct{} // holds a token when there is something to push
	toSee  chan struct{} // and when there is something to watch

	mu     sync.Mutex
	closed bool
	builds map[queue.BuildID]*entry
	ended  []queue.BuildID // oldest first
	gone   []string        // branches to delete
	goneAt time.Time       // since when the first of these waits
	apart  map[string]bool // kinds of refs of which it is not known whether a rule forbids to delete them: until it is, refs are deleted in pushes of their own
	stay   map[string]bool // kinds of refs that a rule forbids to delete
	skew   time.Duration   // forge's clock less ours
	synced bool            // skew is known
	heard  time.Time       // the last webhook
	sweep  *sweep          // wanted

	awaited []queue.CommitID // heads with runs that had not ended, or not begun, when PassedOn looked at them; oldest first
}

var (
	_ workers.Controller = (*Controller)(nil)
	_ workers.Sweeper    = (*Controller)(nil)
	_ workers.Standing   = (*Controller)(nil)
	_ workers.Attester   = (*Controller)(nil)
)

// maxEnded is how many ended builds are remembered with their results.
const maxEnded = 1024

// New starts a controller.
func New(o Options) (*Controller, error) {
	if o.CI == nil || o.Refs == nil || o.Branch == "" {
		return nil, errors.New("forgeci: CI, Refs and Branch are needed")
	}
	orDefault(&o.Prefix, DefaultPrefix)
	orDefault(&o.Slots, 10)
	orDefault(&o.Name, "ci")
	orDefault(&o.Poll, time.Minute)
	orDefault(&o.Linger, 15*time.Second)
	orDefault(&o.Grace, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Controller{o: o, events: workers.NewStream(), stop: stop, toPush: make(chan struct{}, 1), toSee: make(chan struct{}, 1),
		builds: map[queue.BuildID]*entry{}, apart: map[string]bool{}, stay: map[string]bool{}}
	c.events.Put(queue.Capacity{Forge: o.Slots})
	c.tasks.Go(func() { c.pushes(ctx) })
	c.tasks.Go(func() { c.watching(ctx) })
	return c, nil
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// CheckPrefix says what is wrong with a prefix, or nothing.
func CheckPrefix(prefix string) error {
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return errors.New("a prefix of refs is made of letters, digits, \"-\", \"_\" and \"/\" between them")
		}
	}
	return nil
}

// Run implements workers.Controller.
func (c *Controller) Run(ctx context.Context, b queue.Build, action string) error {
	if len(b.Jobs) == 0 {
		return workers.ErrNoJobs
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return workers.ErrClosed
	}
	if e := c.builds[b.ID]; e != nil && !e.orphan {
		e.action = action
		c.events.Put(e.reported...)
		if e.done != nil {
			e.done.Action = action
			c.events.Put(*e.done)
		}
		return nil
	}
	e := newEntry(b, action, c.o)
	c.gone = slices.DeleteFunc(c.gone, e.has) // what a sweep has found of it is wanted again
	for _, other := range c.builds {
		if other.build.Commit == b.Commit {
			for key, r := range other.results {
				if r.Branch != e.branch {
					e.before[key] = true
				}
				if r.Status {
					e.results[key] = r // it may end a status of this build (belated)
				}
			}
		}
	}
	c.builds[b.ID] = e
	poke(c.toPush)
	return nil
}

// Stop implements workers.Controller. The build ends at once; its runs are cancelled
// afterwards.
func (c *Controller) Stop(_ context.Context, id queue.BuildID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.builds[id]; e != nil && e.done == nil {
		c.finish(e, queue.BuildDone{Outcome: queue.JobStopped, Detail: "cancelled"})
	}
	return nil
}

// News takes in the news of a webhook, which may be about other people's builds.
func (c *Controller) News(news forge.CINews) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.heard = c.o.Now()
	c.endedThere(news.Runs)
	for _, e := range c.builds {
		touched := false
		for _, r := range news.Results {
			touched = e.fold(r) || touched
		}
		for _, r := range news.Runs {
			touched = e.foldRun(r) || touched
		}
		for _, branch := range news.Look {
			if branch == e.branch {
				e.look = e.look || e.done == nil && e.missing()
				touched = true
			}
		}
		if touched {
			e.heard = c.heard
			c.settle(e)
		}
	}
}

// Stands implements workers.Standing.
func (c *Controller) Stands() []queue.Body { return []queue.Body{queue.Capacity{Forge: c.o.Slots}} }

// Events implements workers.Controller.
func (c *Controller) Events() <-chan queue.Body { return c.events.Out() }

// Log implements workers.Controller: the news of the build, with links to the CI's own logs.
func (c *Controller) Log(id queue.BuildID) (workers.Log, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.builds[id]; e != nil && !e.orphan {
		return e.log, nil
	}
	return nil, workers.ErrNoLog
}

// Close implements workers.Controller. Runs at the forge go on: they are found
// again after a restart.
func (c *Controller) Close(ctx context.Context) error {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	for _, e := range c.builds {
		e.log.end()
	}
	c.mu.Unlock()
	if was {
		return nil
	}
	c.stop()
	c.tasks.Wait()
	c.events.Close(ctx)
	return nil
}

func poke(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
