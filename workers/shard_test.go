package workers

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Each target is in one shard, no shard is empty, and the fullest is within a tenth of what
// the number of agents allows, or a third at worst (Graham's bound), unless the fixed cost
// says otherwise.
func TestDivide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		costs := make([]time.Duration, rapid.IntRange(1, 60).Draw(t, "targets"))
		var total, longest time.Duration
		for i := range costs {
			costs[i] = time.Duration(rapid.IntRange(1, 1000).Draw(t, "cost")) * time.Second
			total, longest = total+costs[i], max(longest, costs[i])
		}
		most := rapid.IntRange(1, 30).Draw(t, "agents")
		fixed := time.Duration(rapid.IntRange(0, 100).Draw(t, "fixed")) * time.Second
		parts := divide(costs, fixed, most)
		var seen []int
		var fullest time.Duration
		for _, p := range parts {
			var full time.Duration
			for _, i := range p {
				full += costs[i]
			}
			fullest = max(fullest, full)
			if len(p) == 0 || !slices.IsSorted(p) {
				t.Fatalf("part %v", p)
			}
			seen = append(seen, p...)
		}
		slices.Sort(seen)
		for i := range costs {
			if len(seen) != len(costs) || seen[i] != i {
				t.Fatalf("%d targets in parts %v", len(costs), parts)
			}
		}
		switch n := len(parts); {
		case n > most:
			t.Fatalf("%d parts for %d agents", n, most)
		case n > 1 && time.Duration(n)*worthwhile*fixed > total:
			t.Fatalf("%d parts of %s in all, with a fixed cost of %s each", n, total, fixed)
		case fixed == 0 && float64(fullest) > 4.0/3*float64(max(longest, total/time.Duration(min(most, len(costs)))))+float64(time.Second):
			t.Fatalf("the fullest of %d parts takes %s, the longest target %s of %s", n, fullest, longest, total)
		}
	})
}

// What the CI of a repository spends on its targets is skewed; so is this: the fullest shard
// is within a tenth of the least there can be.
func TestShardsOfSkewedTargets(t *testing.T) {
	t.Parallel()
	var costs []time.Duration
	var total time.Duration
	for i := range 120 {
		costs = append(costs, time.Duration(1000/(i+3))*time.Second)
		total += costs[i]
	}
	for _, agents := range []int{2, 4, 8, 16} {
		_, fullest := packed(costs, len(divide(costs, time.Second, agents)))
		if least := max(costs[0], total/time.Duration(agents)); float64(fullest) > 1.1*float64(least) {
			t.Errorf("%d agents: %s, and the least is %s", agents, fullest, least)
		}
	}
}

// The tests of this repository, as they were recorded: the makespan of their shards is within
// a tenth of the lower bound, for any number of runners. -v prints it.
func TestShardsOfARecordedHistory(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/durations.txt")
	if err != nil {
		t.Fatal(err)
	}
	var costs []time.Duration
	var total, longest time.Duration
	for line := range strings.Lines(string(raw)) {
		var name string
		var seconds float64
		if n, _ := fmt.Sscan(line, &name, &seconds); n == 2 {
			d := time.Duration(seconds * float64(time.Second))
			costs, total, longest = append(costs, d), total+d, max(longest, d)
		}
	}
	if len(costs) < 40 {
		t.Fatalf("%d packages", len(costs))
	}
	for _, agents := range []int{2, 3, 4, 6, 8, 16, 32} {
		parts := divide(costs, firstFixed, agents)
		var fullest time.Duration
		for _, part := range parts {
			var full time.Duration
			for _, i := range part {
				full += costs[i]
			}
			fullest = max(fullest, full)
		}
		least := max(longest, total/time.Duration(agents))
		t.Logf("%2d runners: %2d shards, the fullest %s, the bound %s: %.3f", agents, len(parts), fullest.Round(time.Second), least.Round(time.Second), float64(fullest)/float64(least))
		if float64(fullest) > 1.1*float64(least) {
			t.Errorf("%d runners: %s, and the bound is %s", agents, fullest, least)
		}
	}
}

func wide(name string, targets ...string) queue.Job {
	s := step(name)
	s.Run = name + " {targets}"
	return job(s, targets...)
}

func TestWhatIsDivided(t *testing.T) {
	t.Parallel()
	none := func(string) time.Duration { return 0 }
	shown := func(shards []*shard) string {
		var out []string
		for _, s := range shards {
			out = append(out, fmt.Sprintf("%d %s", s.place, strings.Join(s.asked, ",")))
		}
		return strings.Join(out, "; ")
	}
	whole := wide("tree", "a", "b")
	whole.Step.Scope = config.ScopeRepository
	blind := job(step("make test"), "a", "b")
	timed := wide("timed", "a", "b", "c")
	timed.Expect = []time.Duration{time.Minute, time.Second, time.Minute}
	for name, test := range map[string]struct {
		jobs   []queue.Job
		agents int
		want   string
	}{
		"a step for each target":             {[]queue.Job{wide("t", "a", "b")}, 4, "1 a; 2 b"},
		"one agent":                          {[]queue.Job{wide("t", "a", "b")}, 1, "1 "},
		"a step on the whole tree":           {[]queue.Job{whole}, 4, "1 "},
		"a command without targets":          {[]queue.Job{blind}, 4, "1 "},
		"by what they take":                  {[]queue.Job{timed}, 2, "1 a,b; 2 c"},
		"agents are shared out by work":      {[]queue.Job{wide("big", "a", "b", "c"), wide("small", "a")}, 4, "1 a; 2 b; 3 c; 4 "},
		"two jobs of a step name their own":  {[]queue.Job{wide("t", "a"), wide("t", "b")}, 1, "1 a; 2 b"},
		"more agents than there are targets": {[]queue.Job{wide("t", "a", "b")}, 100, "1 a; 2 b"},
	} {
		if got := shown(shardsOf(build("b", test.jobs...), test.agents, none)); got != test.want {
			t.Errorf("%s: %s, not %s", name, got, test.want)
		}
	}
}

// Two steps on eight targets use all four slots, their results say which targets they are
// of, and the log says whose lines are whose.
func TestBuildRunsInShards(t *testing.T) {
	t.Parallel()
	p, rec := open(t, 4)
	p.fixed["unit"], p.fixed["vet"] = 0, 0
	unit, vet := config.Step{Name: "unit", Run: "echo unit of {targets}"}, config.Step{Name: "vet", Run: "echo vet of {targets}; exit 1"}
	targets := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	mustRun(t, p, build("b1", job(unit, targets...), job(vet, targets...)), "run/b1/1")
	if d := rec.done(t, 1); d.Outcome != queue.JobFailed {
		t.Errorf("%+v", d)
	}
	asked := map[queue.Digest][]string{}
	jobs := eventsOf[queue.JobDone](rec)
	for _, j := range jobs {
		asked[j.Step] = append(asked[j.Step], j.Asked...)
	}
	for _, s := range []config.Step{unit, vet} {
		slices.Sort(asked[s.Digest()])
		if !slices.Equal(asked[s.Digest()], targets) {
			t.Errorf("%s was run for %v", s.Name, asked[s.Digest()])
		}
	}
	if len(jobs) != 4 || len(eventsOf[queue.BuildStarted](rec)) != 1 {
		t.Errorf("%d results: %+v", len(jobs), jobs)
	}
	log, err := p.Log("b1")
	if err != nil {
		t.Fatal(err)
	}
	c, err := log.Read(0)
	if err != nil || !strings.Contains(c.Text, "---- part 1 of 4: step unit, a, ") || strings.Count(c.Text, "unit of ") < 2 {
		t.Errorf("%s %v", c.Text, err)
	}
}

// A cancelled build's shards leave the line at once; those that run are stopped.
func TestCancelledShardsLeaveTheLine(t *testing.T) {
	t.Parallel()
	p, rec := open(t, 1)
	mustRun(t, p, build("b1", job(step("sleep 60"), "a"), job(step("true"), "a"), job(step("false"), "a")), "run/b1/1")
	until(t, "it runs", func() bool { return len(eventsOf[queue.BuildStarted](rec)) == 1 })
	if err := p.Stop(t.Context(), "b1"); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	if len(p.waiting) != 0 {
		t.Errorf("%d shards wait", len(p.waiting))
	}
	p.mu.Unlock()
	if d := rec.done(t, 1); d.Outcome != queue.JobStopped || len(eventsOf[queue.JobDone](rec)) > 1 {
		t.Errorf("%+v %+v", d, eventsOf[queue.JobDone](rec))
	}
}

// Queues that share runners get them by their weights, whatever their builds are worth.
func TestQueuesShareByWeight(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute)
	p.o.Weights, p.fixed["unit"] = map[string]int{"big": 3}, 0
	assigned := make(chan Assignment)
	go func() {
		for {
			a, err := p.Next(t.Context(), Agent{Name: "one"})
			if err != nil {
				return
			}
			assigned <- a
		}
	}()
	until(t, "an agent", func() bool { return contains(rec, 1) })
	mustRun(t, p, build("first", job(step("true"), "a")), "x")
	a := <-assigned
	for i := range 24 {
		b := build(fmt.Sprint(i), job(step("true"), "a"))
		if b.Queue = "big"; i%2 == 1 {
			b.Queue, b.Value = "small", 100
		}
		mustRun(t, p, b, "x")
	}
	got := map[string]int{}
	for range 12 {
		j := a.Build.Jobs[0]
		_ = p.Report(t.Context(), a.Lease, Report{Job: &queue.JobDone{Step: j.Step.Digest(), Outcome: queue.JobPassed}, End: &End{Outcome: queue.JobPassed}})
		a = <-assigned
		got[a.Build.Queue]++
	}
	if got["big"] < 8 || got["small"] < 2 {
		t.Errorf("with weights 3 and 1, of 12: %v", got)
	}
}

// A shard that an agent gives back, because its runner was gone when it should have had it,
// is another one's next; of a cancelled build it is not run.
func TestShardIsGivenBack(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute)
	ask := func(name string) Assignment {
		a, err := p.Next(t.Context(), Agent{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	p.mu.Lock()
	p.members["a"] = &member{agent: Agent{Name: "a"}, heard: time.Now()}
	p.mu.Unlock()
	mustRun(t, p, build("b1", job(step("true"), "x")), "run/b1/1")
	a := ask("a")
	p.Return(a.Lease)
	p.Return(a.Lease)
	if err := p.Report(t.Context(), a.Lease, Report{}); err != ErrLost {
		t.Errorf("the lease is held still: %v", err)
	}
	b := ask("b")
	if b.Build.ID != "b1" || len(eventsOf[queue.BuildStarted](rec)) > 1 {
		t.Errorf("%+v", b)
	}
	if err := p.Stop(t.Context(), "b1"); err != nil {
		t.Fatal(err)
	}
	p.Return(b.Lease)
	if d := rec.done(t, 1); d.Outcome != queue.JobStopped {
		t.Errorf("%+v", d)
	}
}

// A build that came while all agents were busy is one shard. When several of them are free
// it is theirs together, and each of its targets is run once.
func TestWaitingShardIsDividedAgain(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute)
	p.fixed["unit"] = 0
	ask := func(name string) Assignment {
		a, err := p.Next(t.Context(), Agent{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	end := func(a Assignment) {
		done := queue.JobDone{Step: a.Build.Jobs[0].Step.Digest(), Outcome: queue.JobPassed}
		if err := p.Report(t.Context(), a.Lease, Report{Job: &done, End: &End{Outcome: queue.JobPassed}}); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"one", "two", "three"}
	p.mu.Lock()
	for _, name := range names {
		p.members[name] = &member{agent: Agent{Name: name}, heard: time.Now()}
	}
	p.mu.Unlock()
	var busy []Assignment
	for _, name := range names {
		mustRun(t, p, build("of "+name, job(step("true"), "x")), "x")
		busy = append(busy, ask(name))
	}
	timed := job(config.Step{Name: "unit", Run: "unit {targets}"}, "a", "b", "c", "d")
	timed.Expect = []time.Duration{30 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second}
	mustRun(t, p, build("late", timed), "x")
	p.mu.Lock()
	if len(p.waiting) != 1 {
		t.Fatalf("%d shards wait for busy agents", len(p.waiting))
	}
	p.mu.Unlock()
	for _, a := range busy {
		end(a)
	}
	var got []string
	for _, name := range []string{"one", "two"} {
		a := ask(name)
		got = append(got, strings.Join(a.Build.Jobs[0].Targets(), ","))
		busy[len(got)-1] = a
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b,c,d"}) {
		t.Errorf("the agents were handed %v", got)
	}
	end(busy[0])
	if len(eventsOf[queue.BuildDone](rec)) > 3 {
		t.Error("the build ended with a part of it still running")
	}
	end(busy[1])
	rec.done(t, 4)
	var asked []string
	for _, j := range eventsOf[queue.JobDone](rec)[3:] {
		asked = append(asked, j.Asked...)
	}
	if slices.Sort(asked); !slices.Equal(asked, []string{"a", "b", "c", "d"}) {
		t.Errorf("results for %v", asked)
	}
}
