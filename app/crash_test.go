package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// fault is what goes wrong at one call of the store.
type fault struct {
	done bool // the write has happened, and its answer is lost
	dies bool // the process dies with it
}

func (f fault) String() string {
	return map[bool]string{true: "after", false: "before"}[f.done] + map[bool]string{true: ",dies", false: ""}[f.dies]
}

var errStore = errors.New("the store is on fire")

// frail is a store whose n-th call from the owner goes wrong.
type frail struct {
	queue.Store
	fault
	mu    sync.Mutex
	n     int // calls to go; 0: all is well from here on
	calls int
	dead  bool
	died  chan struct{}
}

func newFrail(s queue.Store, n int, f fault) *frail {
	return &frail{Store: s, fault: f, n: n, died: make(chan struct{})}
}

// call makes one call, or lets it go wrong.
func (f *frail) call(do func() error) error {
	f.mu.Lock()
	f.calls++
	fails := f.calls == f.n
	dead := f.dead
	if fails && f.dies {
		f.dead = true
		defer close(f.died)
	}
	f.mu.Unlock()
	if dead || fails && !f.done {
		return errStore
	}
	if err := do(); err != nil {
		return err
	}
	if fails {
		return errStore
	}
	return nil
}

func (f *frail) Acquire(ctx context.Context, q, owner string, ttl time.Duration) (token int64, err error) {
	err = f.call(func() error { token, err = f.Store.Acquire(ctx, q, owner, ttl); return err })
	return token, err
}

func (f *frail) Load(ctx context.Context, q string) (r []queue.Record, version int64, err error) {
	err = f.call(func() error { r, version, err = f.Store.Load(ctx, q); return err })
	return r, version, err
}

func (f *frail) Inbox(ctx context.Context, q, after string, max int, wait time.Duration) (a []queue.Arrived, err error) {
	err = f.call(func() error { a, err = f.Store.Inbox(ctx, q, after, max, wait); return err })
	return a, err
}

func (f *frail) Commit(ctx context.Context, t queue.Turn) error {
	return f.call(func() error { return f.Store.Commit(ctx, t) })
}

func (f *frail) Known(ctx context.Context, q string, keys []queue.Key) (e []queue.Entry, err error) {
	err = f.call(func() error { e, err = f.Store.Known(ctx, q, keys); return err })
	return e, err
}

func (f *frail) Append(ctx context.Context, q string, events ...queue.Event) error {
	return f.call(func() error { return f.Store.Append(ctx, q, events...) })
}

// seers are workers that see at once whether a commit has a file called bad.
type seers struct {
	*workers.Instant
	events chan queue.Body
	mirror *mirror.Mirror
}

func (s *seers) Events() <-chan queue.Body { return s.events }

func (s *seers) Run(ctx context.Context, b queue.Build, action string) error {
	if err := s.mirror.Objects.Flush(ctx); err != nil {
		return err
	}
	if exec.Command("git", "-C", s.mirror.Dir(), "cat-file", "-e", string(b.Commit)+":bad").Run() != nil {
		return s.Instant.Run(ctx, b, action)
	}
	for _, j := range b.Jobs {
		s.events <- queue.JobDone{Build: b.ID, Step: j.Step.Digest(), Outcome: queue.JobFailed, Tail: "bad is bad"}
	}
	s.events <- queue.BuildDone{Action: action, Build: b.ID, Outcome: queue.JobFailed}
	return nil
}

// process is one life of a server on a plain repository.
type process struct {
	owner *app.Owner
	kill  func()
}

func startProcess(t *testing.T, bare string, store queue.Store) *process {
	log := slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, cancel := context.WithCancel(context.Background())
	clone := must(mirror.Open(ctx, filepath.Join(t.TempDir(), "mirror")))
	f := must(local.New(ctx, bare, "main"))
	w := &seers{Instant: workers.NewInstant(2), events: make(chan queue.Body, 100), mirror: clone}
	var wg sync.WaitGroup
	wg.Go(func() {
		for b := range w.Instant.Events() {
			w.events <- b
		}
	})
	p := &process{owner: app.NewOwner(app.OwnerOptions{Queue: rigQueue, Branch: "main", Name: "crash", Store: store, Forge: f,
		Mirror: clone, Workers: w, Analyzers: analyzers, Now: time.Now, Log: log})}
	wg.Go(func() { mustNot(t, p.owner.Run(ctx)) })
	p.kill = sync.OnceFunc(func() {
		cancel()
		mustNot(t, w.Close(context.Background()))
		wg.Wait()
		mustNot(t, f.Stop())
		mustNot(t, clone.Close())
	})
	return p
}

// TestCrashAtEveryCallOfTheStore lands two good branches and a bad one while
// the n-th call of the store goes wrong: the server goes on, or is started again, and
// the outcome is the same. It does so for every third n always, and for every n where
// SUBMITQUEUE_REQUIRE names "matrix".
func TestCrashAtEveryCallOfTheStore(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	r := &rig{t: t, dir: t.TempDir(), bare: filepath.Join(t.TempDir(), "x.git")}
	git(t, r.dir, "init", "-q", "-b", "main")
	r.write(map[string]string{".submitqueue.yml": oneStep, "test.sh": "test ! -e bad\n"})
	git(t, r.dir, "commit", "-qm", "first")
	git(t, r.dir, "clone", "-q", "--bare", r.dir, r.bare)
	git(t, r.dir, "remote", "add", "origin", r.bare)
	for _, name := range []string{"one", "bad", "two"} {
		r.branch(name, "main", map[string]string{name: name + "\n"})
	}
	f := must(local.New(t.Context(), r.bare, "main"))
	for _, name := range []string{"one", "bad", "two"} {
		must(f.Open(t.Context(), name, "ann"))
	}
	mustNot(t, f.Stop())

	clean := crashAt(t, r.bare, 0, fault{})
	if clean < 15 {
		t.Fatalf("only %d calls of the store", clean)
	}
	step := 1
	switch {
	case testing.Short():
		step = 4
	case !storetest.Required("matrix"):
		step = 3 // and so with each kind of fault: there are four, in turn
	}
	var wg sync.WaitGroup // more at once than tests are run: they mostly wait
	defer wg.Wait()
	places := make(chan struct{}, 8)
	for n := 1; n <= clean; n += step {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			crashAt(t, r.bare, n, fault{done: n/2%2 == 0, dies: n%2 == 0})
		})
	}
}

// crashAt lands the branches of a copy of a repository and checks the outcome.
// It returns how many calls of the store there were.
func crashAt(t *testing.T, origin string, n int, f fault) int {
	what := fmt.Sprintf("call %d goes wrong (%s)", n, f)
	bare := filepath.Join(t.TempDir(), "x.git")
	mustNot(t, os.CopyFS(bare, os.DirFS(origin)))
	store := memstore.New(time.Now)
	for n, name := range []string{"one", "bad", "two"} { // as POST /api/land does
		mustNot(t, store.Append(t.Context(), rigQueue, queue.Event{ID: name, At: queue.At(time.Now()),
			Body: queue.Commented{Number: n + 1, Comment: forge.RequestComment(n+1, queue.PlainLand), Author: "ann", Body: "/land"}}))
	}
	frail := newFrail(store, n, f)
	p := startProcess(t, bare, frail)
	defer func() { p.kill() }()
	decided := func() bool {
		final := 0
		p.owner.Read(func(c *speculation.Core) {
			for _, ch := range c.State().Changes {
				if ch.Phase.Final() {
					final++
				}
			}
		})
		return final == 3
	}
	limit := time.After(patience)
	for died := frail.died; ; {
		changed := p.owner.Changed()
		if decided() {
			break
		}
		select {
		case <-died:
			p.kill()
			p = startProcess(t, bare, store)
			died = nil
		case <-changed:
		case <-limit:
			p.owner.Read(func(c *speculation.Core) { t.Errorf("%s: not all are decided: %+v", what, c.Queue(rigQueue)) })
			t.Logf("locks: %v\nprocesses:\n%s", locks(bare), hanging())
			return 0
		}
	}
	checkOutcome(t, what, bare, must(store.History(t.Context(), rigQueue, 1000)))
	frail.mu.Lock()
	defer frail.mu.Unlock()
	return frail.calls
}

// locks are the files in a repository that keep others from writing a ref.
func locks(bare string) (found []string) {
	_ = filepath.WalkDir(bare, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".lock") {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// hanging is what this process is at.
func hanging() string {
	out, _ := exec.Command("ps", "-o", "pid,ppid,stat,args", "-e").Output()
	stacks := new(strings.Builder)
	_ = pprof.Lookup("goroutine").WriteTo(stacks, 2)
	return string(out) + stacks.String()
}

// checkOutcome: one and two landed, once each; bad did not; no commit on main
// holds it; each has one verdict.
func checkOutcome(t *testing.T, what, bare string, notes []queue.Note) {
	t.Helper()
	seen := map[string]bool{}
	for commit := range strings.FieldsSeq(git(t, bare, "rev-list", "--first-parent", "main")) {
		if exec.Command("git", "-C", bare, "cat-file", "-e", commit+":bad").Run() == nil {
			t.Errorf("%s: commit %s on main is red", what, commit)
		}
		id := git(t, bare, "log", "-1", "--format=%(trailers:key=Change,valueonly)", commit)
		if id != "" && seen[id] {
			t.Errorf("%s: change %s landed twice", what, id)
		}
		seen[id] = id != ""
	}
	for _, name := range []string{"one", "two"} {
		if got := git(t, bare, "show", "main:"+name); got != name {
			t.Errorf("%s: %s is lost", what, name)
		}
	}
	verdicts := map[queue.ChangeID][]string{}
	for _, note := range notes {
		if queue.Phase(note.What).Final() {
			verdicts[note.Change] = append(verdicts[note.Change], note.What)
		}
	}
	if len(verdicts) != 3 {
		t.Errorf("%s: %d changes have verdicts, want 3: %v", what, len(verdicts), verdicts)
	}
	for id, list := range verdicts {
		if len(list) != 1 {
			t.Errorf("%s: change %s has the verdicts %v", what, id, list)
		}
	}
}
