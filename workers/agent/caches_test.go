package agent_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/cache"
)

// cached runs a step with a cache of the folder n, as a build of a change, and returns how
// its job has ended and what it has said.
func (w *world) cached(id queue.BuildID, run string, limit time.Duration, change ...func(*queue.Build)) (queue.JobDone, string) {
	w.t.Helper()
	s := config.Step{Name: "unit", Run: run, Timeout: limit, Caches: []config.Cache{{Paths: []string{"n"}}}}
	b := queue.Build{ID: id, Queue: "acme/shop@main", Change: "7.abc", Commit: queue.CommitID(w.commit), Jobs: []queue.Job{{Step: s, Keys: []queue.Key{{Step: s.Digest(), Target: "a", Hash: "h"}}}}}
	for _, f := range change {
		f(&b)
	}
	w.must(w.pool.Run(w.t.Context(), b, "run/"+string(id)))
	w.done(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if j, ok := e.(queue.JobDone); ok && j.Build == id {
			return j, w.log(id)
		}
	}
	w.t.Fatalf("no job of %s, whose end is %+v\n%s", id, w.events[len(w.events)-1], w.log(id))
	return queue.JobDone{}, ""
}

const leaves = "cat n/x 2>/dev/null; mkdir -p n; echo left-by-$SUBMITQUEUE_BUILD >> n/x; "

// Caches stay on the machine from job to job as on the server's own runners; whether a job
// had one is what really was, and a cold one begins without.
func TestCaches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options()
	o.Runner.Caches = workers.Caches{Bytes: 64 << 20}
	w.agent(o)
	type want struct {
		outcome queue.JobOutcome
		cached  bool
		has, no string
	}
	check := func(id queue.BuildID, run string, want want, change ...func(*queue.Build)) {
		t.Helper()
		j, log := w.cached(id, run, time.Minute, change...)
		if j.Outcome != want.outcome || j.Cached != want.cached || !strings.Contains(log, want.has) || want.no != "" && strings.Contains(log, want.no) {
			t.Errorf("%s: %s, cached %v; want %+v\n%s", id, j.Outcome, j.Cached, want, log)
		}
	}
	check("empty", leaves, want{queue.JobPassed, false, "cache n: nothing kept yet (no key)", "restored"})
	check("warm", leaves, want{queue.JobPassed, true, "left-by-empty", "left-by-warm\n"})
	check("failed", leaves+"exit 1", want{queue.JobFailed, true, "cache n: kept", ""})
	check("after-failed", leaves, want{queue.JobPassed, true, "left-by-failed", ""})
	check("cold", leaves+"exit 1", want{queue.JobFailed, false, "without caches", "\nleft-by"}, func(b *queue.Build) { b.Avoid = []string{"box-elsewhere"} })
	check("after-cold", leaves, want{queue.JobPassed, true, "left-by-cold", "left-by-empty"})
	check("other-queue", leaves, want{queue.JobPassed, false, "nothing kept yet", "\nleft-by"}, func(b *queue.Build) { b.Queue = "acme/other@main" })
	check("killed", leaves+"kill -9 $$", want{queue.JobInfra, true, "cache n: not kept, as a step was ended", ""})
	check("after-killed", leaves, want{queue.JobPassed, false, "nothing kept yet", "\nleft-by"})
	check("link", "mv n m; ln -s /etc n", want{queue.JobPassed, true, "", "cache n: kept"})
	check("after-link", leaves, want{queue.JobPassed, false, "nothing kept yet", "\nleft-by"})

	// One that the step's own time-out has ended is torn, however it has taken that.
	j, log := w.cached("late", leaves+"trap 'exit 0' TERM; sleep 60 & wait", time.Second)
	if j.Outcome != queue.JobTimeout || !strings.Contains(log, "cache n: not kept") {
		t.Errorf("%+v\n%s", j, log)
	}
}

// A machine that keeps nothing has no caches, and says so truly: its failures need no second
// run. What one machine has left in the store another one finds.
func TestCachesOffAndShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder, err := cache.OpenFolder(filepath.Join(t.TempDir(), "store"), 64<<20)
	w.must(err)
	shared := cache.NewShared(folder, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { w.must(shared.Close()) })
	for _, m := range []struct {
		id     queue.BuildID
		caches workers.Caches
		has    string
		cached bool
	}{
		{"first", workers.Caches{Bytes: 64 << 20, Shared: shared}, "cache n: kept", false},
		{"second", workers.Caches{Bytes: 64 << 20, Shared: shared}, "left-by-first", true},
		{"off", workers.Caches{}, "caches are off on this runner", false},
	} {
		o := w.options()
		o.Runner.Caches = m.caches
		a := w.agent(o)
		j, log := w.cached(m.id, leaves, time.Minute)
		if j.Outcome != queue.JobPassed || j.Cached != m.cached || !strings.Contains(log, m.has) {
			t.Errorf("%s: %+v\n%s", m.id, j, log)
		}
		w.drain(a)
		shared.Wait()
	}
}
