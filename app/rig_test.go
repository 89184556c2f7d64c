package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/notify"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/golang"
	"github.com/submitqueue/submitqueue/conflict/paths"
	"github.com/submitqueue/submitqueue/conflict/several"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

const rigQueue = "local@main"

// rig is a whole server on a plain git repository: real git, a real runner,
// the in-memory store.
type rig struct {
	t      *testing.T
	dir    string // working copy for making branches
	bare   string
	forge  *local.Forge
	store  queue.Store
	owner  *app.Owner
	queues *app.Queues
	pool   *workers.Pool
	stop   func()

	analyzers app.Analyzers
	notify    *notify.Notifier // nil: nobody is told
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func newRig(t *testing.T, files map[string]string) *rig {
	t.Helper()
	return newRigWith(t, files, analyzers)
}

func newRigWith(t *testing.T, files map[string]string, analyzers app.Analyzers) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), bare: filepath.Join(t.TempDir(), "x.git"), analyzers: analyzers}
	git(t, r.dir, "init", "-q", "-b", "main")
	r.write(files)
	git(t, r.dir, "commit", "-qm", "first")
	git(t, r.dir, "clone", "-q", "--bare", r.dir, r.bare)
	git(t, r.dir, "remote", "add", "origin", r.bare)
	r.store = memstore.New(time.Now)
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

func analyzers(s config.Analysis) (conflict.Analyzer, error) {
	if len(s.Analyzers) > 0 {
		var parts []several.Part
		for _, p := range s.Analyzers {
			parts = append(parts, several.Part{Name: p.Name, Under: p.Under, Needs: p.Needs, Barrier: p.Barrier, Analyzer: must(analyzers(p.Analysis()))})
		}
		return several.New(parts)
	}
	switch s.Analyzer {
	case "go":
		return golang.New(golang.Options{}), nil
	case "paths":
		return paths.New(s.Areas)
	}
	return nil, nil
}

// start runs a server on what is stored.
func (r *rig) start() {
	t := r.t
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	clone := must(mirror.Open(ctx, filepath.Join(t.TempDir(), "mirror")))
	r.forge = must(local.New(ctx, r.bare, "main"))
	pool := must(workers.NewPool(workers.PoolOptions{Slots: 2, Dir: t.TempDir(), Log: log, Tools: 20 * time.Millisecond,
		Runner: workers.RunnerOptions{Checkout: mirror.Checkouts{Mirror: clone, Forge: r.forge}, Log: log}}))
	r.pool = pool
	r.owner = app.NewOwner(app.OwnerOptions{Queue: rigQueue, Branch: "main", Name: "rig", Store: r.store, Forge: r.forge,
		Mirror: clone, Workers: pool, Analyzers: r.analyzers, Now: time.Now, Log: log, Notify: r.notify, Progress: time.Millisecond})
	r.queues = app.NewQueues(r.store, pool, time.Now, r.owner)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.owner.Run(ctx)
	}()
	r.stop = func() {
		cancel()
		<-done
		if err := pool.Close(context.Background()); err != nil {
			t.Error(err)
		}
		r.forge.Stop()
		clone.Close()
		r.stop = func() {}
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (r *rig) write(files map[string]string) {
	files = withoutRetries(files)
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if text == "" {
			os.Remove(path)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	git(r.t, r.dir, "add", "-A")
}

// branch pushes a branch off a commit of main with the given files.
func (r *rig) branch(name, from string, files map[string]string) {
	git(r.t, r.dir, "checkout", "-q", "-B", name, from)
	r.write(files)
	git(r.t, r.dir, "commit", "-qm", name)
	git(r.t, r.dir, "push", "-qf", "origin", name)
}

// land asks to land a branch and returns its number.
func (r *rig) land(branch string) int {
	ctx := context.Background()
	n := must(r.forge.Open(ctx, branch, "ann"))
	r.say(n, "/land")
	return n
}

func (r *rig) say(n int, text string) {
	id := fmt.Sprintf("%d-%s-%d", n, text, time.Now().UnixNano())
	if err := r.queues.Submit(context.Background(), rigQueue, queue.Event{ID: id,
		Body: queue.Commented{Number: n, Comment: id, Author: "ann", Body: text}}); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for a view of a pull request to satisfy ok.
func (r *rig) until(n int, what string, ok func(queue.View) bool) queue.View {
	r.t.Helper()
	deadline := time.After(3 * time.Minute)
	var last queue.View
	for {
		changed := r.owner.Changed()
		var v queue.View
		found := false
		r.owner.Read(func(c *speculation.Core) { v, found = c.PullView(n) })
		if found && ok(v) {
			return v
		}
		last = v
		select {
		case <-changed:
		case <-deadline:
			r.t.Fatalf("#%d is not %s: %+v", n, what, last)
		}
	}
}

func (r *rig) verdict(n int) queue.Change {
	r.t.Helper()
	return r.until(n, "decided", func(v queue.View) bool { return v.Change.Phase.Final() }).Change
}

func (r *rig) main() string { return git(r.t, r.bare, "rev-parse", "main") }

const oneStep = `version: 1
steps:
  - name: test
    run: sh ./test.sh
    timeout: 1m
`

// withoutRetries has one failure decide, where the configuration among some files
// does not say how many do: most tests are about what comes after a verdict.
func withoutRetries(files map[string]string) map[string]string {
	const none = "retries: 0"
	files = maps.Clone(files)
	switch cfg := files[config.Path]; {
	case cfg == "" || strings.Contains(cfg, "retries:"):
	case strings.Contains(cfg, "\nqueue: {"):
		files[config.Path] = strings.Replace(cfg, "\nqueue: {", "\nqueue: {"+none+", ", 1)
	case strings.Contains(cfg, "\nqueue:\n"):
		files[config.Path] = strings.Replace(cfg, "\nqueue:\n", "\nqueue:\n  "+none+"\n", 1)
	default:
		files[config.Path] = strings.TrimSuffix(cfg, "\n") + "\nqueue: {" + none + "}\n"
	}
	return files
}

func TestOneChangeLands(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "test ! -e bad\n"})
	r.branch("good", "main", map[string]string{"a": "a\n"})
	n := r.land("good")
	ch := r.verdict(n)
	if ch.Phase != queue.Landed {
		t.Fatalf("phase %s, %+v", ch.Phase, ch.Reason)
	}
	if got := r.main(); got != string(ch.Verdict.Commit) {
		t.Errorf("main is %s, the verdict says %s", got, ch.Verdict.Commit)
	}
	if got := git(t, r.bare, "show", "main:a"); got != "a" {
		t.Errorf("main's file says %q", got)
	}
}

func TestBadChangeIsRejected(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "test ! -e bad || { echo there is a bad file; exit 1; }\n"})
	before := r.main()
	r.branch("bad", "main", map[string]string{"bad": "bad\n"})
	ch := r.verdict(r.land("bad"))
	if ch.Phase != queue.Rejected || ch.Reason.Code != queue.ReasonFailed {
		t.Fatalf("phase %s, %+v", ch.Phase, ch.Reason)
	}
	if len(ch.Verdict.Failures) != 1 || !strings.Contains(ch.Verdict.Failures[0].Tail, "there is a bad file") {
		t.Errorf("evidence: %+v", ch.Verdict.Failures)
	}
	if r.main() != before {
		t.Error("main has moved")
	}
}
