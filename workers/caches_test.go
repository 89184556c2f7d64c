package workers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/cache"
)

// caching returns an option that has a runner keep caches, and what it has seen of them.
func caching() (func(*RunnerOptions), func() string) {
	var mu sync.Mutex
	var seen []string
	return func(o *RunnerOptions) {
			o.Caches = Caches{Bytes: 64 << 20, Seen: func(e CacheEvent) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, string(e.Result))
			}}
		}, func() string {
			mu.Lock()
			defer mu.Unlock()
			defer func() { seen = nil }()
			return strings.Join(seen, " ")
		}
}

// cached returns a step that keeps paths.
func cached(run string, key []string, paths ...string) config.Step {
	s := step(run)
	s.Caches = []config.Cache{{Paths: paths, Key: key}}
	return s
}

// of returns a build of a queue, for a change.
func of(name string, s config.Step) queue.Build {
	b := build("b1", job(s, "./a"))
	b.Queue = name
	return b
}

// mustLog runs a build, which passes, and holds that its log has some texts.
func mustLog(t *testing.T, r *Runner, b queue.Build, texts ...string) result {
	t.Helper()
	res := execute(t.Context(), r, b)
	if res.end.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
	for _, want := range texts {
		if !strings.Contains(res.log, want) {
			t.Errorf("no %q in\n%s", want, res.log)
		}
	}
	return res
}

const (
	none = "echo have $(cat node_modules/x 2>/dev/null || echo none); mkdir -p node_modules; echo one > node_modules/x"
)

func TestCachesStayInTheSlot(t *testing.T) {
	t.Parallel()
	with, seen := caching()
	files := tree{"package-lock.json": "1"}
	r := slot(t, files, with)
	b := of("q", cached(none, []string{"package-lock.json"}, "node_modules"))
	res := mustLog(t, r, b, "cache node_modules: nothing kept yet (key ", "have none\n", "cache node_modules: kept, 8 KiB\n")
	if res.jobs[0].Cached || seen() != "miss kept" {
		t.Errorf("%+v", res.jobs[0])
	}
	if _, err := os.Stat(filepath.Join(r.files.checkout, "node_modules")); err == nil {
		t.Error("the checkout still has what was put away")
	}
	res = mustLog(t, r, b, "cache node_modules: restored, 8 KiB (key ", "have one\n", "cache node_modules: kept, 8 KiB\n")
	if !res.jobs[0].Cached || seen() != "hit kept" {
		t.Errorf("%+v", res.jobs[0])
	}

	// Another queue, another content of the key and other paths are other caches.
	mustLog(t, r, of("other", b.Jobs[0].Step), "have none\n")
	files["package-lock.json"] = "2"
	mustLog(t, r, b, "have none\n")
	mustLog(t, r, of("q", cached(none, nil, "node_modules")), "have none\n", "(no key)")
	mustLog(t, r, of("q", cached(none, []string{"package-lock.json"}, "node_modules", "dist")), "have none\n")
	files["package-lock.json"] = "1"
	mustLog(t, r, b, "have one\n")

	// Another process finds them.
	o := r.o
	again, err := NewRunner(o)
	if err != nil {
		t.Fatal(err)
	}
	mustLog(t, again, b, "have one\n")

	// A step that says nothing of caches begins as ever.
	mustLog(t, again, of("q", step("test ! -e node_modules && mkdir node_modules")))
}

// A failure that is run again, the branch itself and a host that is probed are without caches;
// what they leave takes the place of what was there.
func TestColdBuilds(t *testing.T) {
	t.Parallel()
	with, seen := caching()
	r := slot(t, tree{"f": ""}, with)
	run := "cat n/x 2>/dev/null; mkdir -p n; echo $SUBMITQUEUE_BUILD >> n/x"
	warm := of("q", cached(run, nil, "n"))
	for i, change := range []func(*queue.Build){
		func(b *queue.Build) { b.Avoid = []string{"host"} },
		func(b *queue.Build) { b.Only = "host" },
		func(b *queue.Build) { b.Change = "" },
	} {
		mustLog(t, r, warm)
		seen()
		b := of("q", warm.Jobs[0].Step)
		change(&b)
		b.ID = queue.BuildID(fmt.Sprint("cold", i))
		res := mustLog(t, r, b, "without caches", "cache n: kept")
		if res.jobs[0].Cached || seen() != "skipped kept" || strings.Contains(res.log, "\nb1\n") {
			t.Errorf("%d: %s", i, res.log)
		}
		if res := mustLog(t, r, warm, "\n"+string(b.ID)+"\n"); strings.Contains(res.log, "\nb1\n") {
			t.Errorf("%d: what was there before is there again: %s", i, res.log)
		}
	}
}

// What a step that was ended from outside has left may be torn, and is not kept; what a
// failed one has left is.
func TestTornCaches(t *testing.T) {
	t.Parallel()
	with, seen := caching()
	for run, want := range map[string]string{
		"mkdir -p n; echo x > n/x; exit 1":       "cache n: kept",
		"mkdir -p n; echo x > n/x; kill -9 $$":   "cache n: not kept, as a step was ended while it may have written there",
		"mkdir -p n; echo x > n/x; sleep 600":    "cache n: not kept, as a step was ended while it may have written there",
		"mkdir -p n; echo x > n/x; no-such-tool": "cache n: not kept, as a step was ended while it may have written there",
	} {
		r := slot(t, tree{"f": ""}, with)
		s := cached(run, nil, "n")
		s.Timeout = 500 * time.Millisecond
		if !strings.Contains(run, "sleep") {
			s.Timeout = time.Minute
		}
		mustLog(t, r, of("q", cached("mkdir n; echo old > n/x", nil, "n")))
		seen()
		res := execute(t.Context(), r, of("q", s))
		if !strings.Contains(res.log, want) {
			t.Errorf("%s: %s", run, res.log)
		}
		got := "lost"
		if strings.Contains(want, ": kept") {
			got = "kept"
		}
		if s := seen(); s != "hit "+got {
			t.Errorf("%s: %s", run, s)
		}
		if r.kept.Total() > 0 != (got == "kept") {
			t.Errorf("%s: %d bytes are kept", run, r.kept.Total())
		}
	}
}

// A run again within the build that is killed leaves caches that may be torn, too, though
// the failure before it is the result.
func TestCacheOfARunAgainThatIsKilled(t *testing.T) {
	t.Parallel()
	with, seen := caching()
	r := slot(t, tree{"f": ""}, with)
	s := cached("if test -e kept/x; then echo half > kept/x; kill -KILL $$; fi; mkdir -p kept; echo whole > kept/x; exit 1", nil, "kept")
	s.Retries = 1
	if res := execute(t.Context(), r, of("q", s)); res.end.Outcome != queue.JobFailed || !strings.Contains(res.log, "attempt 2 of 2") {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
	if got := seen(); got != "miss lost" {
		t.Errorf("of the cache came %q", got)
	}
}

// A build that is cancelled before its first step gives back what it was given.
func TestCancelledBeforeItBegins(t *testing.T) {
	t.Parallel()
	with, _ := caching()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := slot(t, tree{"f": ""}, with)
	b := of("q", cached("mkdir -p n; touch n/x", nil, "n"))
	mustLog(t, r, b)
	r.o.Caches.Seen = func(e CacheEvent) {
		if e.Result == CacheHit {
			cancel()
		}
	}
	if res := execute(ctx, r, b); res.end.Outcome != queue.JobStopped || len(res.jobs) != 0 {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
	mustLog(t, r, b, "cache n: restored")
}

func TestCachesThatTheCommitHas(t *testing.T) {
	t.Parallel()
	with, _ := caching()
	files := tree{"f": ""}
	r := slot(t, files, with)
	b := of("q", cached("cat vendor/x; mkdir -p vendor out; echo step > vendor/x; echo step > out/x", nil, "vendor", "out"))
	execute(t.Context(), r, b)
	files["vendor/x"] = "commit"
	mustLog(t, r, b, "the commit has vendor itself, which is neither restored nor kept", "\ncommit", "cache vendor, out: kept, 8 KiB")
}

// Steps lead the paths of caches elsewhere, as links and as folders on the way.
func TestHostileCachePaths(t *testing.T) {
	t.Parallel()
	with, _ := caching()
	r := slot(t, tree{"f": ""}, with)
	out := t.TempDir()
	if err := os.MkdirAll(filepath.Join(out, "n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "n", "secret"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	// A cache of another queue, within the slot.
	mustLog(t, r, of("victim", cached("mkdir n; echo victim > n/x", nil, "n")), "kept")
	for _, run := range []string{
		"ln -s " + out + " d",
		"ln -s ../caches d",
		"ln -s ../caches/* d",
		"mkdir d; ln -s " + out + "/n d/n",
		"mkdir d; mkfifo d/n",
	} {
		s := cached(run, nil, "d/n")
		if res := execute(t.Context(), r, of("q", s)); strings.Contains(res.log, "cache d/n: kept") {
			t.Errorf("%s: %s", run, res.log)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "n", "secret")); err != nil {
		t.Error(err)
	}
	mustLog(t, r, of("victim", cached("cat n/x", nil, "n")), "\nvictim\n")

	// What was kept goes to no place that a link of the commit leads to.
	mustLog(t, r, of("q", cached("mkdir -p d; mkdir d/n; touch d/n/mine", nil, "d/n")), "kept")
	link := linked{tree{"f": ""}, map[string]string{"d": out}}
	r.o.Checkout = link
	mustLog(t, r, of("q", cached("true", nil, "d/n")), "the commit has d/n itself")
	if _, err := os.Stat(filepath.Join(out, "n", "mine")); err == nil {
		t.Error("a cache was restored through a link")
	}
}

// linked is a tree with symbolic links.
type linked struct {
	tree
	links map[string]string
}

func (l linked) Checkout(ctx context.Context, commit queue.CommitID, dir string) (func() error, error) {
	release, err := l.tree.Checkout(ctx, commit, dir)
	for name, to := range l.links {
		if err == nil {
			err = os.Symlink(to, filepath.Join(dir, name))
		}
	}
	return release, err
}

// Of the jobs of one checkout each cache is there once; what lies in one another is left out.
func TestCachesOfSeveralSteps(t *testing.T) {
	t.Parallel()
	with, seen := caching()
	r := slot(t, tree{"f": ""}, with)
	a, b, c := cached("mkdir -p n; touch n/a", nil, "n"), cached("test -e n/a", nil, "n"), cached("true", nil, "n/deep")
	b.Name, c.Name = "second", "third"
	res := execute(t.Context(), r, build("b1", job(a, "./a"), job(b, "./a"), job(c, "./a")))
	if res.end.Outcome != queue.JobPassed || seen() != "miss kept" || !strings.Contains(res.log, "cache n/deep of step third: left out") {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
}

func TestCachesAreBounded(t *testing.T) {
	t.Parallel()
	with, _ := caching()
	r := slot(t, tree{"f": ""}, with, func(o *RunnerOptions) { o.Caches.Bytes = 100 << 10 })
	fill := func(name string, kib int) queue.Build {
		return of(name, cached(fmt.Sprintf("mkdir -p n; head -c %d /dev/zero > n/x", kib<<10), nil, "n"))
	}
	mustLog(t, r, fill("a", 40), "kept, 44 KiB")
	mustLog(t, r, fill("b", 40), "kept, 44 KiB")
	mustLog(t, r, fill("big", 200), "cache n: not kept: it takes more than the 100 KiB that all caches of a runner may take together (--cache-mb)")
	mustLog(t, r, fill("c", 40), "kept, 44 KiB")
	if got := r.kept.Total(); got != 88<<10 {
		t.Errorf("%d bytes are kept", got)
	}
	mustLog(t, r, fill("b", 40), "restored")
	mustLog(t, r, fill("a", 40), "nothing kept yet")
	// Many files without content take disk, too.
	mustLog(t, r, of("many", cached("mkdir n; i=0; while [ $i -lt 30 ]; do : > n/$i; i=$((i+1)); done", nil, "n")), "not kept: it takes more than")
	// A full disk takes it all.
	r.o.MinFree = 1 << 62
	if r.lowDisk() == "" || r.kept.Total() != 0 {
		t.Errorf("%d bytes are kept on a full disk", r.kept.Total())
	}
}

func TestCachesAreOff(t *testing.T) {
	t.Parallel()
	r := slot(t, tree{"f": ""})
	b := of("q", cached(none, nil, "node_modules"))
	mustLog(t, r, b, "caches are off on this runner")
	mustLog(t, r, b, "have none")
}

// What a passed build of one runner has left, another runner begins with; a failed one
// shares nothing, and a store that does not work is no trouble of a build.
func TestSharedCaches(t *testing.T) {
	t.Parallel()
	with, seen := caching()
	dir := t.TempDir()
	store, err := cache.OpenFolder(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	shared := cache.NewShared(store, quiet())
	defer shared.Close()
	sharing := func(o *RunnerOptions) { o.Caches.Shared = shared }
	a, b := slot(t, tree{"f": ""}, with, sharing), slot(t, tree{"f": ""}, with, sharing)
	run := "cat n/x; mkdir -p n; echo $SUBMITQUEUE_BUILD > n/x"
	execute(t.Context(), a, of("failed", cached(run+"; exit 1", nil, "n")))
	mustLog(t, a, of("q", cached(run, nil, "n")), "nothing kept yet", "kept")
	shared.Wait()
	if found, err := os.ReadDir(dir); err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	seen()
	res := mustLog(t, b, of("q", cached(run, nil, "n")), "cache n: fetched from the shared store", "cache n: restored, 8 KiB", "\nb1\n")
	if !res.jobs[0].Cached || seen() != "fetched hit kept" {
		t.Errorf("%+v", res.jobs[0])
	}
	cold := of("q", cached(run, nil, "n"))
	cold.Avoid = []string{"host"}
	if res := mustLog(t, slot(t, tree{"f": ""}, with, sharing), cold, "without caches"); strings.Contains(res.log, "fetched") {
		t.Error(res.log)
	}
	seen()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if err := os.WriteFile(filepath.Join(dir, f.Name()), []byte("garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustLog(t, slot(t, tree{"f": ""}, with, sharing), of("q", cached(run, nil, "n")), "cache n: the shared one cannot be had: ", "nothing kept yet", "kept")
	if s := seen(); s != "failed miss kept" {
		t.Error(s)
	}
}
