package workers

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// at has an agent of a host ask for work until the test ends.
func at(t *testing.T, p *Pool, name, host string, tags ...string) <-chan Assignment {
	t.Helper()
	out := make(chan Assignment, 1)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		if a, err := p.Next(ctx, Agent{Name: name, Host: host, Tags: tags}); err == nil {
			out <- a
		}
	}()
	until(t, name+" is there", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.members[name] != nil && p.members[name].asking > 0
	})
	return out
}

func idle(t *testing.T, agent <-chan Assignment, what string) {
	t.Helper()
	select {
	case a := <-agent:
		t.Errorf("%s: it got build %s", what, a.Build.ID)
	default:
	}
}

// A benched host gets no build while another one can run it, however long that takes;
// what probes it, it gets alone; and where no other host can run a step, it is used.
func TestBenchedHost(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute)
	p.o.Apart = time.Nanosecond
	first := at(t, p, "m1-1", "m1", "gpu")
	until(t, "the host is told", func() bool { return len(eventsOf[queue.Fleet](rec)) == 1 })
	alone := build("alone", job(step("true"), "."))
	alone.Shun = []string{"m1"}
	mustRun(t, p, alone, "run")
	a := <-first
	if a.Build.ID != "alone" {
		t.Fatalf("the last host got %s", a.Build.ID)
	}
	passed := queue.JobDone{Step: a.Build.Jobs[0].Step.Digest(), Outcome: queue.JobPassed}
	report := func(a Assignment) {
		t.Helper()
		if err := p.Report(t.Context(), a.Lease, Report{Job: &passed, End: &End{Outcome: queue.JobPassed}}); err != nil {
			t.Fatal(err)
		}
	}
	report(a)
	if d := rec.done(t, 1); d.Host != "m1" || !d.Alone {
		t.Errorf("%+v", d)
	}
	second := at(t, p, "m2-1", "m2")
	first = at(t, p, "m1-1", "m1", "gpu")
	fleet := eventsOf[queue.Fleet](rec)
	if got := fleet[len(fleet)-1].Hosts; !reflect.DeepEqual(got, []queue.FleetHost{{Name: "m1", Slots: 1}, {Name: "m2", Slots: 1}}) {
		t.Errorf("hosts %+v", got)
	}
	shunned := build("shunned", job(step("true"), "."))
	shunned.Shun, shunned.Avoid = []string{"m1"}, []string{"m2"}
	mustRun(t, p, shunned, "run")
	b := <-second // though it avoids that host: no build waits for a benched host
	idle(t, first, "benched")
	waits := shunned
	waits.ID = "waits"
	mustRun(t, p, waits, "run")
	probe := build("probe", job(step("true"), "."))
	probe.Only = "m1"
	mustRun(t, p, probe, "probe")
	c := <-first
	if c.Build.ID != "probe" {
		t.Errorf("it was to be probed, and got %s", c.Build.ID)
	}
	report(c)
	first = at(t, p, "m1-1", "m1", "gpu")
	idle(t, first, "benched, and probed")
	// A build that waits follows what the queue says of hosts since.
	waits.Shun = nil
	mustRun(t, p, waits, "run/2")
	if d := <-first; d.Build.ID != "waits" {
		t.Errorf("back from the bench it got %s", d.Build.ID)
	}
	report(b)
	// A step that only the benched host can run is run there.
	gpu := step("true")
	gpu.Tags = []string{"gpu"}
	special := build("special", job(gpu, "."))
	special.Shun = []string{"m1"}
	mustRun(t, p, special, "run")
	if err := p.Report(t.Context(), 4, Report{End: &End{Outcome: queue.JobInfra, Detail: "cannot check out"}}); err != nil {
		t.Fatal(err)
	}
	if d, err := p.Next(t.Context(), Agent{Name: "m1-1", Host: "m1", Tags: []string{"gpu"}}); err != nil || d.Build.ID != "special" {
		t.Errorf("the last host with the tag got %s, %v", d.Build.ID, err)
	}
}

// A probe of a host that is away ends at once.
func TestProbeOfAHostThatIsAway(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute)
	at(t, p, "m2-1", "m2")
	probe := build("probe", job(step("true"), "."))
	probe.Only = "m1"
	mustRun(t, p, probe, "probe")
	if d := rec.done(t, 1); !d.NoRunner || d.Outcome != queue.JobInfra || !strings.Contains(d.Detail, "m1") {
		t.Errorf("%+v", d)
	}
}
