package workers

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// open starts a pool with real runners.
func open(t *testing.T, slots int, change ...func(*PoolOptions)) (*Pool, *recorder) {
	t.Helper()
	o := PoolOptions{Slots: slots, Dir: t.TempDir(), Name: "m", Log: quiet(),
		Runner: RunnerOptions{Checkout: tree{"f": "x"}, Grace: 200 * time.Millisecond}}
	for _, c := range change {
		c(&o)
	}
	p, err := NewPool(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, p) })
	return p, record(p)
}

// bare starts a pool with the agents given, and none of its own.
func bare(t *testing.T, lease time.Duration, workers ...Worker) (*Pool, *recorder) {
	t.Helper()
	logs, err := OpenLogs(t.TempDir(), 10, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	p := startPool(PoolOptions{Lease: lease, Log: quiet()}, logs, workers)
	t.Cleanup(func() { mustClose(t, p) })
	return p, record(p)
}

func mustClose(t *testing.T, c Controller) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func mustRun(t *testing.T, c Controller, b queue.Build, action string) {
	t.Helper()
	if err := c.Run(t.Context(), b, action); err != nil {
		t.Fatal(err)
	}
}

func TestPoolRunsABuild(t *testing.T) {
	t.Parallel()
	p, rec := open(t, 2)
	b := build("b1", job(step("cat f"), "./a"), job(step("false"), "./a"))
	mustRun(t, p, b, "run/b1/1")
	done := rec.done(t, 1)
	if done.Action != "run/b1/1" || done.Build != "b1" || done.Outcome != queue.JobFailed || done.NoRunner {
		t.Errorf("%+v", done)
	}
	starts, jobs := eventsOf[queue.BuildStarted](rec), eventsOf[queue.JobDone](rec)
	slices.SortFunc(jobs, func(a, b queue.JobDone) int { return strings.Compare(string(b.Outcome), string(a.Outcome)) }) // they run at once
	if len(starts) != 1 || !strings.HasPrefix(starts[0].Machine, "m-") || len(jobs) != 2 || jobs[0].Outcome != queue.JobPassed || jobs[1].Outcome != queue.JobFailed {
		t.Errorf("%+v %+v", starts, jobs)
	}
	if got := eventsOf[queue.Capacity](rec); !reflect.DeepEqual(got, []queue.Capacity{{Slots: 2}}) {
		t.Errorf("capacity %+v", got)
	}
	if got := p.Stands(); !reflect.DeepEqual(got, []queue.Body{eventsOf[queue.Fleet](rec)[0], queue.Capacity{Slots: 2}}) {
		t.Errorf("it stands by %+v", got)
	}
	log, err := p.Log("b1")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := log.Read(0); err != nil || !c.End || !strings.Contains(c.Text, "\nx") || !strings.Contains(c.Text, "exit status 1") {
		t.Errorf("log %+v, %v", c, err)
	}
	if _, err := p.Log("other"); !errors.Is(err, ErrNoLog) {
		t.Errorf("log of an unknown build: %v", err)
	}
}

func TestRunIsIdempotent(t *testing.T) {
	t.Parallel()
	p, rec := open(t, 1)
	marks := filepath.Join(t.TempDir(), "marks")
	b := build("b1", job(step("echo x >> "+marks), "./a"))
	mustRun(t, p, b, "run/b1/1")
	mustRun(t, p, b, "run/b1/1")
	rec.done(t, 1)
	for i, action := range []string{"run/b1/1", "run/b1/2"} { // ended: reported again, as whoever asks may have lost it
		mustRun(t, p, b, action)
		if again := rec.done(t, 2+i); again.Action != action || again.Outcome != queue.JobPassed {
			t.Errorf("%+v", again)
		}
	}
	if jobs := eventsOf[queue.JobDone](rec); len(jobs) != 3 || !reflect.DeepEqual(jobs[0], jobs[1]) || !reflect.DeepEqual(jobs[1], jobs[2]) {
		t.Errorf("%+v", jobs)
	}
	check := build("b2", job(step("wc -l < "+marks), "./a"))
	mustRun(t, p, check, "run/b2/1")
	rec.done(t, 4)
	log, err := p.Log("b2")
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := log.Read(0); !strings.Contains(c.Text, "\n1\n") {
		t.Errorf("it ran more than once: %s", c.Text)
	}
	if err := p.Run(t.Context(), build("b3"), "a"); !errors.Is(err, ErrNoJobs) {
		t.Errorf("a build without jobs: %v", err)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	p, rec := open(t, 1)
	mustRun(t, p, build("runs", job(step("sleep 600"), "./a")), "run/runs/1")
	until(t, "start", func() bool { return len(eventsOf[queue.BuildStarted](rec)) == 1 })
	mustRun(t, p, build("waits", job(step("true"), "./a")), "run/waits/1")
	for _, id := range []queue.BuildID{"waits", "waits", "unknown"} {
		if err := p.Stop(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if d := rec.done(t, 1); d.Build != "waits" || d.Outcome != queue.JobStopped || d.Action != "run/waits/1" {
		t.Errorf("%+v", d)
	}
	mustRun(t, p, build("runs"+"", job(step("sleep 600"), "./a")), "run/runs/2")
	until(t, "what runs is told again", func() bool { return len(eventsOf[queue.BuildStarted](rec)) == 2 })
	if err := errors.Join(p.Stop(t.Context(), "runs"), p.Stop(t.Context(), "runs")); err != nil {
		t.Error(err)
	}
	if d := rec.done(t, 2); d.Build != "runs" || d.Outcome != queue.JobStopped || d.Action != "run/runs/2" {
		t.Errorf("%+v", d)
	}
	mustRun(t, p, build("next", job(step("true"), "./a")), "run/next/1")
	if d := rec.done(t, 3); d.Outcome != queue.JobPassed {
		t.Errorf("the slot did not recover: %+v", d)
	}
}

func TestHighestValueFirst(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute)
	agent := Agent{Name: "a"}
	p.mu.Lock()
	p.members["a"] = &member{agent: agent, heard: time.Now()}
	p.mu.Unlock()
	for i, v := range []float64{1, 3, 3, 2} {
		b := build(string(rune('w'+i)), job(step("true"), "./a"))
		b.Value = v
		mustRun(t, p, b, "run")
	}
	order := ""
	for range 4 {
		a, err := p.Next(t.Context(), agent)
		if err != nil {
			t.Fatal(err)
		}
		order += string(a.Build.ID)
		passed := queue.JobDone{Step: a.Build.Jobs[0].Step.Digest(), Outcome: queue.JobPassed}
		if err := p.Report(t.Context(), a.Lease, Report{Job: &passed, End: &End{Outcome: queue.JobPassed}}); err != nil {
			t.Fatal(err)
		}
	}
	if order != "xyzw" {
		t.Errorf("order %s", order)
	}
	if d := rec.done(t, 4); d.Outcome != queue.JobPassed {
		t.Errorf("%+v", d)
	}
}

func TestNoRunner(t *testing.T) {
	t.Parallel()
	p, rec := open(t, 1, func(o *PoolOptions) { o.Tags = []string{"gpu"} })
	for i, c := range []struct {
		change func(*config.Step)
		ok     bool
	}{
		{func(s *config.Step) { s.Tags = []string{"gpu"} }, true},
		{func(s *config.Step) { s.Tags = []string{"gpu", "big"} }, false},
		{func(s *config.Step) { s.OS = "plan9" }, false},
		{func(s *config.Step) { s.Arch = "s390" }, false},
		{func(s *config.Step) { s.Image = "golang:1" }, false},
	} {
		s := step("true")
		c.change(&s)
		mustRun(t, p, build(string(rune('a'+i)), job(step("true"), "."), job(s, ".")), "run")
		d := rec.done(t, i+1)
		if c.ok != (d.Outcome == queue.JobPassed) || c.ok == d.NoRunner || !c.ok && (d.Outcome != queue.JobInfra || d.Detail == "") {
			t.Errorf("case %d: %+v", i, d)
		}
	}
	none, rec := open(t, 0)
	mustRun(t, none, build("b", job(step("true"), ".")), "run")
	if d := rec.done(t, 1); !d.NoRunner {
		t.Errorf("%+v", d)
	}
	until(t, "capacity", func() bool { return len(eventsOf[queue.Capacity](rec)) == 1 })
	if !(Agent{OS: "darwin", Arch: "arm64"}).Offers(config.Step{OS: "macOS", Arch: "aarch64"}) {
		t.Error("names of systems")
	}
}

func TestLostAgent(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, 50*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	agent := Agent{Name: "far"}
	handed := make(chan Assignment, 1)
	go func() {
		if a, err := p.Next(ctx, agent); err == nil {
			handed <- a
		}
	}()
	until(t, "capacity 1", func() bool { return contains(rec, 1) })
	mustRun(t, p, build("b1", job(step("true"), ".")), "run/b1/1")
	a := <-handed
	// It is silent from here on.
	d := rec.done(t, 1)
	if d.Outcome != queue.JobInfra || d.NoRunner || !strings.Contains(d.Detail, "lost") {
		t.Errorf("%+v", d)
	}
	if err := p.Report(ctx, a.Lease, Report{End: &End{Outcome: queue.JobPassed}}); !errors.Is(err, ErrLost) {
		t.Errorf("a late report: %v", err)
	}
	until(t, "capacity 0", func() bool { c := eventsOf[queue.Capacity](rec); return c[len(c)-1].Slots == 0 })
	// It comes back, and is handed the next one.
	next := make(chan Assignment, 1)
	go func() {
		if a, err := p.Next(ctx, agent); err == nil {
			next <- a
		}
	}()
	until(t, "capacity 1 again", func() bool { c := eventsOf[queue.Capacity](rec); return c[len(c)-1].Slots == 1 })
	mustRun(t, p, build("b2", job(step("true"), ".")), "run/b2/1")
	if a := <-next; a.Build.ID != "b2" {
		t.Errorf("%+v", a)
	}
	// It starts anew while it holds a lease.
	again, stop := context.WithCancel(ctx)
	stop()
	if _, err := p.Next(again, agent); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if d := rec.done(t, 2); d.Build != "b2" || d.Outcome != queue.JobInfra {
		t.Errorf("%+v", d)
	}
}

func TestWaitingBuildLosesItsLastAgent(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, 50*time.Millisecond)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = p.Next(ctx, Agent{Name: "busy"})
		<-ctx.Done() // holds b1, and never reports
	}()
	until(t, "capacity 1", func() bool { return contains(rec, 1) })
	mustRun(t, p, build("b1", job(step("true"), ".")), "run/b1/1")
	mustRun(t, p, build("b2", job(step("true"), ".")), "run/b2/1")
	if d := rec.done(t, 2); d.Build != "b2" || !d.NoRunner {
		t.Errorf("%+v", d)
	}
	leave()
	<-left
}

func contains(rec *recorder, slots int) bool {
	for _, c := range eventsOf[queue.Capacity](rec) {
		if c.Slots == slots {
			return true
		}
	}
	return false
}

// fickle is a Builder that panics at its first build.
type fickle struct{ once sync.Once }

func (f *fickle) Build(_ context.Context, b queue.Build, out Output) End {
	f.once.Do(func() { panic("oh no") })
	for _, j := range b.Jobs {
		out.Job(queue.JobDone{Step: j.Step.Digest(), Outcome: queue.JobPassed})
	}
	return End{Outcome: queue.JobPassed}
}

func TestPanicIsAnInfrastructureError(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute, Worker{Agent: Agent{Name: "a"}, Builder: &fickle{}, Log: quiet()})
	mustRun(t, p, build("b1", job(step("true"), ".")), "run/b1/1")
	if d := rec.done(t, 1); d.Outcome != queue.JobInfra || !strings.Contains(d.Detail, "panicked: oh no") {
		t.Errorf("%+v", d)
	}
	mustRun(t, p, build("b2", job(step("true"), ".")), "run/b2/1")
	if d := rec.done(t, 2); d.Outcome != queue.JobPassed {
		t.Errorf("%+v", d)
	}
}

func TestResultsOfAnAgentAreChecked(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute)
	assigned := make(chan Assignment, 1)
	ask := func() {
		if a, err := p.Next(t.Context(), Agent{Name: "liar"}); err == nil {
			assigned <- a
		}
	}
	go ask()
	until(t, "capacity 1", func() bool { return contains(rec, 1) })
	s1, s2 := step("one"), step("two")
	mustRun(t, p, build("b1", job(s1, "./a", "./b"), job(s2, "./a"), job(step("three"), "./a")), "run/b1/1")
	begin := queue.At(time.Now().Add(-time.Second))
	for _, jobs := range [][]queue.JobDone{{
		{Build: "other", Step: s1.Digest(), Outcome: queue.JobFailed, Machine: "else", Took: 100 * time.Hour, Began: 7, Ended: 8, Passed: []string{"./a", "./z"}, Failed: []queue.TargetFailure{{Target: "./b"}, {Target: "./y"}}},
		{Step: s1.Digest(), Outcome: queue.JobPassed},
		{Step: "never asked", Outcome: queue.JobPassed},
	}, {
		{Step: s2.Digest(), Outcome: queue.JobPassed, Passed: []string{"./z"}},
		{Step: s1.Digest(), Outcome: queue.JobPassed},
	}, nil} {
		a := <-assigned
		for _, j := range jobs {
			if err := p.Report(t.Context(), a.Lease, Report{Job: &j}); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Report(t.Context(), a.Lease, Report{End: &End{Outcome: queue.JobPassed}}); err != nil {
			t.Fatal(err)
		}
		go ask()
	}
	if d := rec.done(t, 1); d.Outcome != queue.JobInfra {
		t.Errorf("a build that leaves out a step: %+v", d)
	}
	want := []queue.JobDone{
		{Build: "b1", Step: s1.Digest(), Outcome: queue.JobFailed, Took: 100 * time.Hour, Machine: "liar", Host: "liar", Alone: true, Passed: []string{"./a"}, Failed: []queue.TargetFailure{{Target: "./b"}}},
		{Build: "b1", Step: s2.Digest(), Outcome: queue.JobInfra, Machine: "liar", Host: "liar", Alone: true, Passed: []string{}},
	}
	got := eventsOf[queue.JobDone](rec)
	for i := range got {
		if len(got[i].Failed) == 0 {
			got[i].Failed = nil
		}
		if g := &got[i]; g.Began < begin || g.Ended < g.Began || g.Ended > queue.At(time.Now()) {
			t.Errorf("it ran from %v to %v, by the clock of the pool after %v", g.Began.Time(), g.Ended.Time(), begin.Time())
		}
		got[i].Began, got[i].Ended = 0, 0
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEventsDoNotWaitForTheirReader(t *testing.T) {
	t.Parallel()
	p, err := NewPool(PoolOptions{Slots: 1, Dir: t.TempDir(), Log: quiet(), Runner: RunnerOptions{Checkout: tree{}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		mustRun(t, p, build(string(rune('a'+i)), job(step("true"), ".")), "run")
	}
	until(t, "all ended", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.ended) == 5
	})
	mustClose(t, p) // nobody reads: they are dropped
	for range p.Events() {
	}
	if err := p.Run(t.Context(), build("z", job(step("true"), ".")), "run"); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	mustClose(t, p)
}

func TestEndedBuildsAreForgotten(t *testing.T) {
	t.Parallel()
	p, _ := bare(t, time.Minute)
	for i := range maxEnded + 10 {
		mustRun(t, p, build(strings.Repeat("x", i+1), job(step("true"), ".")), "run") // ends at once: no runner
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.builds) != maxEnded || len(p.ended) != maxEnded || len(p.waiting) != 0 {
		t.Errorf("%d builds, %d ended, %d waiting", len(p.builds), len(p.ended), len(p.waiting))
	}
}

func TestInstant(t *testing.T) {
	t.Parallel()
	c := NewInstant(3)
	rec := record(c)
	s := step("false")
	s.Report = config.ReportGoTestJSON
	b := build("b1", job(step("false"), "./a"), job(s, "./b"))
	mustRun(t, c, b, "run/b1/1")
	mustRun(t, c, b, "run/b1/1")
	if d := rec.done(t, 1); d.Outcome != queue.JobPassed || d.Action != "run/b1/1" {
		t.Errorf("%+v", d)
	}
	rec.done(t, 2) // asked for again: told again
	if jobs := eventsOf[queue.JobDone](rec); len(jobs) != 4 || jobs[1].Passed[0] != "./b" {
		t.Errorf("%+v", jobs)
	}
	if _, err := c.Log("b1"); !errors.Is(err, ErrNoLog) || c.Stop(t.Context(), "b1") != nil || !contains(rec, 3) || len(c.Stands()) != 1 {
		t.Error(err)
	}
	mustClose(t, c)
	mustClose(t, c)
	if err := c.Run(t.Context(), b, "x"); !errors.Is(err, ErrClosed) || !rec.ended() {
		until(t, "closed", rec.ended)
	}
	if err := c.Run(t.Context(), build("none"), "x"); !errors.Is(err, ErrNoJobs) {
		t.Error(err)
	}
}

// A build that has failed on a host goes to another one, while there is one that can
// run it and for a bounded time; what is said of it tells whether there was one.
func TestBuildAvoidsAHost(t *testing.T) {
	t.Parallel()
	agent := func(name, host, os string) *member { return &member{agent: Agent{Name: name, Host: host, OS: os}} }
	now := time.Now()
	for _, test := range []struct {
		name    string
		members []*member
		waited  time.Duration
		started time.Duration // ago; others may come back for half a minute
		want    bool          // m1 takes it
		alone   bool          // on m1
	}{
		{"no other host", []*member{agent("m1-1", "m1", "linux"), agent("m1-2", "m1", "linux")}, 0, time.Hour, true, true},
		{"another host", []*member{agent("m1-1", "m1", "linux"), agent("m2-1", "m2", "linux")}, 0, time.Hour, false, false},
		{"another host, not free in time", []*member{agent("m1-1", "m1", "linux"), agent("m2-1", "m2", "linux")}, time.Minute, time.Hour, true, false},
		{"another host that cannot run it", []*member{agent("m1-1", "m1", "linux"), agent("m2-1", "m2", "darwin")}, 0, time.Hour, true, true},
		{"another host may come back", []*member{agent("m1-1", "m1", "linux")}, 0, time.Second, false, false},
		{"another host has not come back", []*member{agent("m1-1", "m1", "linux")}, 0, 31 * time.Second, true, true},
	} {
		s := step("true")
		s.OS = "linux"
		b := build("b1", job(s, "./a"))
		b.Avoid = []string{"m1"}
		p := &Pool{o: PoolOptions{Apart: time.Minute, Await: 30 * time.Second}, started: now.Add(-test.started), members: map[string]*member{}, waiting: []*shard{{build: b, of: &entry{since: now.Add(-test.waited)}}}}
		for _, m := range test.members {
			p.members[m.agent.Name] = m
		}
		if got := p.pick(test.members[0], now) != nil; got != test.want {
			t.Errorf("%s: m1 takes it: %v", test.name, got)
		}
		if got := p.alone(b, "m1"); got != test.alone {
			t.Errorf("%s: m1 is alone: %v", test.name, got)
		}
	}
}
