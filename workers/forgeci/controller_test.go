package forgeci

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
)

// hub is a forge in memory: refs, and what is said of commits.
type hub struct {
	mu        sync.Mutex
	refs      map[string]queue.CommitID
	pushes    [][]mirror.RefMove
	refuse    []error // of the next pushes, for all of them
	bad       map[string]error
	results   []forge.CIResult
	runs      []forge.CIRun
	cancelled []int64
	asked     int   // for runs
	read      int   // results
	again     int   // that failed jobs run again
	deaf      error // in answer to that
	logs      map[int64]string
	messages  map[queue.CommitID]string
	unread    error // in answer to asking for one
	changed   chan struct{}
	now       func() time.Time
	files     map[string]string // of each commit

	pace sync.Mutex
	held time.Time // builds are not to be pushed before
}

func newHub() *hub {
	return &hub{refs: map[string]queue.CommitID{}, bad: map[string]error{}, changed: make(chan struct{}, 1000), now: time.Now}
}

func (h *hub) Push(_ context.Context, moves []mirror.RefMove) (fresh []bool, each []error, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed <- struct{}{}
	h.pushes = append(h.pushes, moves)
	if len(h.refuse) > 0 {
		err, h.refuse = h.refuse[0], h.refuse[1:]
		return nil, nil, err
	}
	for _, m := range moves {
		fresh, each = append(fresh, h.refs[m.Branch] != m.Commit), append(each, h.bad[m.Branch])
		if m.Commit == "" {
			delete(h.refs, m.Branch)
		} else if h.bad[m.Branch] == nil {
			h.refs[m.Branch] = m.Commit
		}
	}
	return fresh, each, nil
}

func (h *hub) Wait(_ context.Context, idle bool) time.Duration {
	h.pace.Lock()
	defer h.pace.Unlock()
	if idle {
		return 0
	}
	return max(0, time.Until(h.held))
}

func (h *hub) List(_ context.Context, prefix string) (map[string]queue.CommitID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]queue.CommitID{}
	for b, c := range h.refs {
		if strings.HasPrefix(b, prefix) {
			out[b] = c
		}
	}
	return out, nil
}

func (h *hub) File(_ context.Context, name string, data []byte) (queue.CommitID, error) {
	return queue.CommitID(fmt.Sprintf("%s:%d", name, len(data))), nil
}

func (h *hub) Read(_ context.Context, _ queue.CommitID, path string) ([]byte, error) {
	return []byte(h.files[path]), nil
}

func (h *hub) Message(_ context.Context, commit queue.CommitID) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.messages[commit], h.unread
}

func (h *hub) CIResults(context.Context, queue.CommitID) (forge.CIResults, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.read++
	return forge.CIResults{Now: h.now(), List: slices.Clone(h.results)}, h.deaf
}

func (h *hub) CIChecks(ctx context.Context, commit queue.CommitID, statuses bool) (forge.CIResults, error) {
	got, err := h.CIResults(ctx, commit)
	got.List = slices.DeleteFunc(got.List, func(r forge.CIResult) bool { return r.Status && !statuses })
	return got, err
}

func (h *hub) CIRuns(_ context.Context, branch string) (out []forge.CIRun, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	for _, r := range h.runs {
		if r.Branch == branch {
			out = append(out, r)
		}
	}
	return out, nil
}

func (h *hub) CIRunsOf(_ context.Context, commit queue.CommitID) (out []forge.CIRun, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.runs {
		if r.Commit == commit {
			out = append(out, r)
		}
	}
	return out, h.deaf
}

func (h *hub) CancelRun(_ context.Context, id int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancelled = append(h.cancelled, id)
	for i := range h.runs {
		if h.runs[i].ID == id {
			h.runs[i].Done = true
		}
	}
	return nil
}

func (h *hub) CILog(_ context.Context, r forge.CIResult) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text, ok := h.logs[r.ID]; ok {
		return text, nil
	}
	return "", forge.ErrNotFound
}

func (h *hub) RerunFailed(context.Context, int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.again++
	return nil
}

func (h *hub) start(t *testing.T, change ...func(*Options)) *Controller {
	t.Helper()
	o := Options{CI: h, Refs: h, Branch: "main", Linger: time.Millisecond, Grace: time.Millisecond}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if got := <-c.Events(); got != (queue.Capacity{Forge: 10}) {
		t.Errorf("%+v", got)
	}
	return c
}

func (h *hub) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(3 * time.Minute)
	for {
		h.mu.Lock()
		yes := ok()
		h.mu.Unlock()
		if yes {
			return
		}
		select {
		case <-h.changed:
		case <-limit:
			t.Fatalf("waited in vain until %s: %v", what, h.refs)
		}
	}
}

func order(id string) queue.Build {
	return queue.Build{ID: queue.BuildID(id), Commit: queue.CommitID("commit-" + id), At: queue.At(time.Now()), Jobs: []queue.Job{{
		Step: config.Step{Name: "unit", Checks: []config.Check{{Name: "test"}}, Appear: time.Minute, Timeout: time.Minute}, Keys: []queue.Key{{Target: "./a"}}}}}
}

func mustRun(t *testing.T, c *Controller, b queue.Build, action string) {
	t.Helper()
	if err := c.Run(t.Context(), b, action); err != nil {
		t.Fatal(err)
	}
}

func ref(id string) string { return "submitqueue/main/" + id }

func (c *Controller) ofEvent(t *testing.T) []string {
	t.Helper()
	var out []string
	for {
		switch b := (<-c.Events()).(type) {
		case queue.BuildStarted:
			out = append(out, "started")
		case queue.JobDone:
			out = append(out, string(b.Outcome))
		case queue.BuildDone:
			return append(out, fmt.Sprintf("done %s %s", b.Outcome, b.Action))
		}
	}
}

// Builds that come while a push is on its way go with the next one, and a build
// that has ended is told again under another action.
func TestRunPushesInBatches(t *testing.T) {
	h := newHub()
	c := h.start(t)
	h.mu.Lock() // the first push does not get through
	mustRun(t, c, order("a"), "run/a")
	c.mu.Lock()
	first := c.builds["a"]
	c.mu.Unlock()
	for pushing := false; !pushing; {
		c.mu.Lock()
		pushing = first.pushing()
		c.mu.Unlock()
	}
	for _, id := range []string{"b", "c", "d"} {
		mustRun(t, c, order(id), "run/"+id)
	}
	h.mu.Unlock()
	h.until(t, "all are pushed", func() bool { return len(h.refs) == 8 })
	h.mu.Lock()
	if len(h.pushes) != 2 || len(h.pushes[1]) != 6 {
		t.Errorf("pushes %v", h.pushes)
	}
	if m := h.pushes[0]; m[0].Branch != "submitqueue-targets/main/a" || m[1].Branch != ref("a") {
		t.Errorf("the targets are not there first: %v", m)
	}
	h.mu.Unlock()

	news := forge.CINews{Results: []forge.CIResult{{ID: 1, Name: "test", Commit: "commit-a", Suite: 1, Branch: ref("a"), Bound: true, State: forge.CIPassed, At: time.Now()}},
		Runs: []forge.CIRun{{ID: 1, Suite: 1, Commit: "commit-a", Branch: ref("a"), Attempt: 1, Done: true}}}
	c.News(news)
	if got := c.ofEvent(t); !slices.Equal(got, []string{"started", "passed", "done passed run/a"}) {
		t.Errorf("%v", got)
	}
	h.until(t, "its refs are deleted", func() bool { return len(h.refs) == 6 })
	c.News(news)
	for _, action := range []string{"run/a", "run/a/2"} { // whoever asks may have lost it
		mustRun(t, c, order("a"), action)
		if got := c.ofEvent(t); !slices.Equal(got, []string{"started", "passed", "done passed " + action}) {
			t.Errorf("%v", got)
		}
	}
	if got := c.Stands(); len(got) != 1 || got[0].(queue.Capacity).Forge == 0 {
		t.Errorf("it stands by %v", got)
	}
}

// A commit that surely has GitHub Actions start nothing is not pushed, where their
// check is waited for; another CI may report all the same.
func TestCommitThatSkips(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		app     string
		unread  error
		want    bool
	}{
		"says so":           {message: "x\n\n[ci skip]\n", app: config.AppActions, want: true},
		"does not":          {message: "ci skip\n", app: config.AppActions},
		"in other letters":  {message: "[CI Skip]\n", app: config.AppActions},
		"a trailer":         {message: "x\n\nskip-checks: true\n", app: config.AppActions},
		"of anybody":        {message: "[skip ci]\n"},
		"of another App":    {message: "[skip ci]\n", app: "circle"},
		"it cannot be read": {app: config.AppActions, unread: errors.New("gone")},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub()
			h.messages, h.unread = map[queue.CommitID]string{"commit-a": c.message}, c.unread
			ctl := h.start(t)
			b := order("a")
			b.Jobs[0].Step.Checks[0].App = c.app
			mustRun(t, ctl, b, "run/a")
			if !c.want {
				h.until(t, "it is pushed", func() bool { return len(h.refs) == 2 })
				return
			}
			d, ok := (<-ctl.Events()).(queue.BuildDone)
			if !ok || d.Outcome != queue.JobInfra || !d.NoCheck || !strings.Contains(d.Detail, "the check `test` would not appear: the message of the commit says `[ci skip]`") {
				t.Errorf("%+v", d)
			}
			mustRun(t, ctl, order("b"), "run/b")
			h.until(t, "the next is pushed", func() bool { return h.refs[ref("b")] != "" })
			if h.refs[ref("a")] != "" {
				t.Error("it was pushed")
			}
		})
	}
}

// A status that was pending for one build on a commit ends: that is no result of
// the next one on it.
func TestStatusOfTheBuildBefore(t *testing.T) {
	now := start
	h := newHub()
	c := h.still(func() time.Time { return now })
	run := func(id string) *entry {
		b := order(id)
		b.Commit, b.At = commit, queue.At(now)
		mustRun(t, c, b, "run/"+id)
		e := c.builds[b.ID]
		e.pushed = now
		return e
	}
	status := func(id int64, s forge.CIState) forge.CINews {
		return forge.CINews{Results: []forge.CIResult{{ID: id, Status: true, Name: "test", Commit: commit, State: s, At: now, URL: "https://ci/1"}}}
	}
	first := run("a")
	c.News(status(1, forge.CIRunning))
	if err := c.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	second := run("b")
	now = now.Add(10 * time.Second)
	c.News(status(2, forge.CIFailed))
	if first.done == nil || second.done != nil {
		t.Fatalf("the end of what ran before is taken for its own: %+v", second.done)
	}
	c.News(status(3, forge.CIRunning))
	c.News(status(4, forge.CIPassed))
	h.calm(t, c, second)
	if second.done == nil || second.done.Outcome != queue.JobPassed {
		t.Errorf("%+v", second.done)
	}
}

func TestStopCancels(t *testing.T) {
	h := newHub()
	c := h.start(t)
	mustRun(t, c, order("a"), "run/a")
	h.until(t, "it is pushed", func() bool { return len(h.refs) == 2 })
	h.mu.Lock()
	h.runs = []forge.CIRun{{ID: 7, Suite: 1, Commit: "commit-a", Branch: ref("a"), Attempt: 1}, {ID: 9, Suite: 3, Commit: "commit-a", Branch: ref("a"), Attempt: 1, Pull: true},
		{ID: 8, Suite: 2, Branch: "main", Attempt: 1}}
	h.mu.Unlock()
	for range 2 {
		if err := c.Stop(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	if got := c.ofEvent(t); !slices.Equal(got, []string{"done cancelled run/a"}) {
		t.Errorf("%v", got)
	}
	h.until(t, "its refs are deleted", func() bool { return len(h.refs) == 0 })
	if !slices.Equal(h.cancelled, []int64{7}) {
		t.Errorf("cancelled %v", h.cancelled)
	}
	if err := c.Stop(t.Context(), "unknown"); err != nil {
		t.Error(err)
	}
}

func TestPushThatFails(t *testing.T) {
	t.Run("for a while", func(t *testing.T) {
		h := newHub()
		h.refuse = []error{&forge.Transient{Err: errors.New("away"), After: time.Millisecond}}
		c := h.start(t)
		mustRun(t, c, order("a"), "run/a")
		h.until(t, "it is pushed", func() bool { return len(h.refs) == 2 })
	})
	t.Run("for one of two", func(t *testing.T) {
		h := newHub()
		h.bad[ref("a")] = fmt.Errorf("%w: refusing to allow a GitHub App to update workflow", forge.ErrForbidden)
		c := h.start(t)
		mustRun(t, c, order("a"), "run/a")
		mustRun(t, c, order("b"), "run/b")
		for b := range c.Events() {
			if d, ok := b.(queue.BuildDone); ok {
				if d.Build != "a" || d.Outcome != queue.JobInfra || !d.NoCheck || !strings.Contains(d.Detail, "refusing to allow") {
					t.Errorf("%+v", d)
				}
				break
			}
		}
		h.until(t, "the other is pushed", func() bool { return h.refs[ref("b")] != "" })
	})
}

// calm ends what runs on a build's ref, and has that looked at.
func (h *hub) calm(t *testing.T, c *Controller, e *entry) {
	t.Helper()
	for i := range h.runs {
		h.runs[i].Attempt, h.runs[i].Done = max(h.runs[i].Attempt, e.runs[h.runs[i].ID].Attempt), true
	}
	c.see(t.Context(), e)
}

// still is a controller that does nothing by itself.
func (h *hub) still(now func() time.Time) *Controller {
	h.now = now
	return &Controller{o: Options{CI: h, Poll: time.Minute, Linger: 15 * time.Second, Name: "ci", Now: now, Log: slog.New(slog.DiscardHandler)},
		events: workers.NewStream(), toPush: make(chan struct{}, 1), toSee: make(chan struct{}, 1), builds: map[queue.BuildID]*entry{}}
}

// Jobs that failed before the failed jobs are run again are known by then,
// however late their webhooks come.
func TestLateNewsOfWhatIsRunAgain(t *testing.T) {
	h := newHub()
	c := h.still(func() time.Time { return start.Add(time.Minute) })
	e := built(config.Step{Checks: []config.Check{{Name: "test"}, {Name: "lint"}}, Rerun: 1})
	c.builds[e.build.ID] = e
	failed, late := check(1, "test", forge.CIFailed, "failure"), check(2, "lint", forge.CIFailed, "failure")
	h.results = []forge.CIResult{failed, late}
	h.runs = []forge.CIRun{{ID: 1, Suite: 1, Commit: commit, Branch: e.branch, Attempt: 1, Done: true}}
	c.News(forge.CINews{Results: h.results[:1]})
	c.see(t.Context(), e)
	if e.jobs[0].rerun != rerunAsked {
		t.Fatal("it is not run again")
	}
	c.News(forge.CINews{Results: []forge.CIResult{late}})
	c.News(forge.CINews{Results: []forge.CIResult{check(3, "test", forge.CIPassed, "success")}})
	if e.done != nil || e.reading {
		t.Fatalf("decided by what was before: %+v", e.done)
	}
	c.News(forge.CINews{Results: []forge.CIResult{check(4, "lint", forge.CIPassed, "success")}})
	h.calm(t, c, e)
	if e.done == nil || e.done.Outcome != queue.JobPassed {
		t.Errorf("%+v", e.done)
	}
}

// TestRetryOnOfChecks holds that a failure whose log the step calls no result is none,
// and that every check that has failed needs such a log.
func TestRetryOnOfChecks(t *testing.T) {
	reset := "2026-01-01T00:00:00.0000000Z dial tcp: connection reset by peer\n##[error]Process completed with exit code 1.\n"
	for name, c := range map[string]struct {
		logs map[int64]string
		want queue.JobOutcome
	}{
		"both":    {map[int64]string{1: reset, 2: reset}, queue.JobInfra},
		"one":     {map[int64]string{1: reset, 2: "--- FAIL: TestX\n"}, queue.JobFailed},
		"neither": {map[int64]string{1: "no", 2: "no"}, queue.JobFailed},
		"unread":  {map[int64]string{1: reset}, queue.JobFailed},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub()
			h.logs = c.logs
			ctl := h.still(func() time.Time { return start.Add(time.Minute) })
			e := built(config.Step{Name: "ci", Checks: []config.Check{{Name: "test"}, {Name: "lint"}}, RetryOn: []string{"^never$", "connection (reset|refused)"}})
			ctl.builds[e.build.ID] = e
			h.results = []forge.CIResult{check(1, "test", forge.CIFailed, "failure"), check(2, "lint", forge.CIFailed, "failure")}
			h.runs = []forge.CIRun{{ID: 1, Suite: 1, Commit: commit, Branch: e.branch, Attempt: 1, Done: true}}
			ctl.News(forge.CINews{Results: h.results})
			ctl.readLogs(t.Context(), e)
			if e.done == nil || e.done.Outcome != c.want || e.done.Matched != (c.want == queue.JobInfra) {
				t.Fatalf("%+v", e.done)
			}
			if told := len(e.reported); c.want == queue.JobInfra && !strings.Contains(e.done.Detail, "has failed, and its log matches retry_on: connection (reset|refused)") {
				t.Errorf("%s, %d told", e.done.Detail, told)
			}
			for _, b := range e.reported {
				if j, ok := b.(queue.JobDone); ok && c.want == queue.JobInfra {
					t.Errorf("a result: %+v", j)
				}
			}
		})
	}
}

// While a failed job is run again, what passed under its name does not stand for it.
func TestRunAgainBesideAPassOfOneName(t *testing.T) {
	for name, suite := range map[string]int64{"in the same run": 1, "in another": 2} {
		for state, want := range map[forge.CIState]queue.JobOutcome{forge.CIPassed: queue.JobPassed, forge.CIFailed: queue.JobFailed} {
			h := newHub()
			c := h.still(func() time.Time { return start.Add(time.Minute) })
			e := built(config.Step{Checks: []config.Check{{Name: "test"}}, Rerun: 1})
			c.builds[e.build.ID] = e
			passed := check(2, "Test", forge.CIPassed, "success")
			passed.Suite = suite
			h.results = []forge.CIResult{check(1, "test", forge.CIFailed, "failure"), passed}
			h.runs = []forge.CIRun{{ID: 1, Suite: 1, Commit: commit, Branch: e.branch, Attempt: 1, Done: true}}
			c.News(forge.CINews{Results: h.results})
			if c.see(t.Context(), e); h.again != 1 || e.done != nil {
				t.Fatalf("%s: run again %d times, %+v", name, h.again, e.done)
			}
			c.News(forge.CINews{Results: []forge.CIResult{check(9, "test", state, string(state))}})
			if e.reading {
				c.see(t.Context(), e)
			}
			h.calm(t, c, e)
			if e.done == nil || e.done.Outcome != want {
				t.Errorf("%s, %s: %+v", name, state, e.done)
			}
		}
	}
}

// After a restart it is not known that failed jobs were run again, but the run says
// so: they are not once more, and what passed only then is marked.
func TestRunAgainOnceAcrossARestart(t *testing.T) {
	for state, want := range map[forge.CIState]queue.JobOutcome{forge.CIPassed: queue.JobPassed, forge.CIFailed: queue.JobFailed} {
		h := newHub()
		c := h.still(func() time.Time { return start.Add(time.Minute) })
		e := built(config.Step{Checks: []config.Check{{Name: "test"}, {Name: "lint"}}, Rerun: 1})
		c.builds[e.build.ID] = e
		h.results = []forge.CIResult{check(1, "test", forge.CIFailed, "failure"), check(2, "lint", forge.CIPassed, "success"),
			check(9, "test", state, string(state))}
		h.runs = []forge.CIRun{{ID: 1, Suite: 1, Commit: commit, Branch: e.branch, Attempt: 2, Began: start.Add(5 * time.Second), Done: true}}
		c.News(forge.CINews{Results: h.results})
		for n := 0; e.done == nil && n < 3; n++ {
			c.see(t.Context(), e)
		}
		if e.done == nil || e.done.Outcome != want || h.again != 0 {
			t.Errorf("%s: %+v, run again %d times", state, e.done, h.again)
		}
		marked := slices.ContainsFunc(e.reported, func(x queue.Body) bool { done, ok := x.(queue.JobDone); return ok && done.Again == 1 })
		if marked != (want == queue.JobPassed) {
			t.Errorf("%s: marked as passed only on attempt 2: %t", state, marked)
		}
	}
}

// A build whose checks we may not read does not wait for ever.
func TestChecksThatMayNotBeRead(t *testing.T) {
	h := newHub()
	now := start.Add(time.Minute)
	c := h.still(func() time.Time { return now })
	e := built(config.Step{Checks: []config.Check{{Name: "test"}}})
	c.builds[e.build.ID] = e
	h.deaf = fmt.Errorf("%w: checks=read is missing", forge.ErrForbidden)
	if c.see(t.Context(), e); e.done != nil {
		t.Fatalf("given up though webhooks may come: %+v", e.done)
	}
	now = e.pushed.Add(e.jobs[0].Step.Appear)
	if c.see(t.Context(), e); e.done == nil || e.done.Outcome != queue.JobInfra || !strings.Contains(e.done.Detail, "checks=read") {
		t.Errorf("%+v", e.done)
	}
}

// While a failed job waits for its run to end, what else is to be looked at is
// read, and nobody asks again at once.
func TestLookWhileARunIsWaitedFor(t *testing.T) {
	h := newHub()
	now := start.Add(time.Minute)
	c := h.still(func() time.Time { return now })
	e := built(config.Step{Checks: []config.Check{{Name: "test"}}, Rerun: 1})
	e.jobs = append(e.jobs, built(config.Step{Checks: []config.Check{{Name: "lint"}}}).jobs...)
	c.builds[e.build.ID] = e
	h.runs = []forge.CIRun{{ID: 1, Suite: 1, Commit: commit, Branch: e.branch, Attempt: 1}}
	c.News(forge.CINews{Results: []forge.CIResult{check(1, "test", forge.CIFailed, "failure")}, Look: []string{e.branch}})
	for n := 1; ; n++ {
		if at, ok := c.next(e); !ok || n > 5 {
			t.Fatalf("looked %d times, and is not at rest", n)
		} else if at.After(now) {
			break
		}
		c.see(t.Context(), e)
	}
	if h.asked != 1 || h.read != 1 {
		t.Errorf("asked %d times for runs and read results %d times", h.asked, h.read)
	}

	// At the deadline of what is missing, too, results are read before it is given up.
	now = e.pushed.Add(e.jobs[1].Step.Appear + e.jobs[1].Step.Timeout)
	c.see(t.Context(), e)
	if h.read != 2 {
		t.Errorf("read results %d times", h.read)
	}
}

// A sweep removes what is left of builds that do not live, and nothing else.
func TestSweep(t *testing.T) {
	h := newHub()
	keep := []string{ref("00000000000000aa"), "submitqueue-targets/main/00000000000000aa", "submitqueue/main/feature", "submitqueue/land/main",
		"submitqueue/other/00000000000000bb", "submitqueue/main/x/00000000000000bb"}
	for _, b := range append(slices.Clone(keep), ref("00000000000000bb"), "submitqueue-targets/main/00000000000000bb", "submitqueue-targets/main/00000000000000cc") {
		h.refs[b] = "c"
	}
	h.runs = []forge.CIRun{{ID: 5, Branch: ref("00000000000000bb"), Attempt: 1}}
	c := h.start(t)
	c.Sweep([]queue.BuildID{"00000000000000aa"})
	h.until(t, "the others are deleted", func() bool { return len(h.refs) <= len(keep) })
	if got := slices.Sorted(maps.Keys(h.refs)); !slices.Equal(got, slices.Sorted(slices.Values(keep))) {
		t.Errorf("left: %v", got)
	}
	if !slices.Equal(h.cancelled, []int64{5}) {
		t.Errorf("cancelled %v", h.cancelled)
	}
}

func TestContract(t *testing.T) {
	h := newHub()
	c := h.start(t)
	if err := c.Run(t.Context(), queue.Build{ID: "x"}, "run/x"); !errors.Is(err, workers.ErrNoJobs) {
		t.Errorf("without jobs: %v", err)
	}
	if _, err := c.Log("x"); !errors.Is(err, workers.ErrNoLog) {
		t.Errorf("a log of nothing: %v", err)
	}
	mustRun(t, c, order("a"), "run/a")
	h.until(t, "it is pushed", func() bool { return len(h.refs) == 2 })
	log, err := c.Log("a")
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := log.Follow(t.Context(), 0)
	if err != nil || !strings.Contains(chunk.Text, "to "+ref("a")) || chunk.End {
		t.Errorf("%+v, %v", chunk, err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if chunk, _ := log.Follow(t.Context(), chunk.Next); !chunk.End {
		t.Errorf("%+v", chunk)
	}
	if err := c.Run(t.Context(), order("b"), "run/b"); !errors.Is(err, workers.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if _, open := <-c.Events(); open {
		t.Error("a build that was cut off reports something")
	}
}
