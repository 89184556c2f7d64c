package workers

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

// Whatever of a build agents had before the process, still have, or have ended, and whatever
// it is divided into now: each target is run for once, and the build ends once.
func TestHeldShards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := build("b1")
		for i := range rapid.IntRange(1, 3).Draw(rt, "steps") {
			s := step(fmt.Sprintf("echo {targets} %d", i))
			s.Name = fmt.Sprint("step", i)
			var targets []string
			for n := range rapid.IntRange(0, 6).Draw(rt, "targets") {
				targets = append(targets, fmt.Sprint("t", n))
			}
			b.Jobs = append(b.Jobs, job(s, targets...))
		}
		p, rec := bare(t, time.Minute)
		p.mu.Lock()
		p.o.Await = time.Minute
		p.mu.Unlock()
		none := func(string) time.Duration { return 0 }
		runs := map[string]int{}
		var held []Assignment
		for i, s := range shardsOf(b, rapid.IntRange(1, 8).Draw(rt, "agents before"), none) {
			h := Held{Build: s.build, Agent: Agent{Name: fmt.Sprint("old", i)}, Handed: time.Now()}
			switch rapid.IntRange(0, 2).Draw(rt, "kept") {
			case 0:
				continue
			case 1:
				h.Ended, h.End = time.Now(), &End{Outcome: queue.JobPassed}
				h.Done = &queue.JobDone{Step: s.build.Jobs[0].Step.Digest(), Outcome: queue.JobPassed}
			}
			a, err := p.Hold(h)
			if err != nil {
				rt.Fatal(err)
			}
			if h.End == nil {
				held = append(held, a)
			}
			count(runs, s.build.Jobs[0])
		}
		pass := func(a Assignment) {
			if err := p.Report(t.Context(), a.Lease, Report{Job: &queue.JobDone{Step: a.Build.Jobs[0].Step.Digest(), Outcome: queue.JobPassed}, End: &End{Outcome: queue.JobPassed}}); err != nil {
				rt.Fatal(err)
			}
		}
		early := rapid.IntRange(0, len(held)).Draw(rt, "ended before it is asked for")
		for _, a := range held[:early] {
			pass(a)
		}
		asked := rapid.IntRange(1, 2).Draw(rt, "asked for")
		for range asked {
			mustRun(t, p, b, "again")
		}
		for _, a := range held[early:] {
			pass(a)
		}
		for p.Open("b1") {
			a, err := p.Next(t.Context(), Agent{Name: "new"})
			if err != nil {
				rt.Fatal(err)
			}
			count(runs, a.Build.Jobs[0])
			pass(a)
		}
		if d := rec.done(t, 1); d.Outcome != queue.JobPassed || d.Action != "again" {
			rt.Fatalf("%+v", d)
		}
		for _, j := range b.Jobs {
			for _, k := range j.Keys {
				if n := runs[string(k.Step)+k.Target]; n != 1 {
					rt.Fatalf("%s of %s was run %d times", k.Target, j.Step.Name, n)
				}
			}
			if n := runs[string(j.Step.Digest())]; len(j.Keys) == 0 && n != 1 {
				rt.Fatalf("%s was run %d times", j.Step.Name, n)
			}
		}
		if n := len(eventsOf[queue.BuildDone](rec)); n > asked { // once for each time that it is asked for
			rt.Fatalf("%d ends", n)
		}
	})
}

func count(runs map[string]int, j queue.Job) {
	for _, k := range j.Keys {
		runs[string(k.Step)+k.Target]++
	}
	if len(j.Keys) == 0 {
		runs[string(j.Step.Digest())]++
	}
}

// A build that nobody asks for again is cancelled in time, without a word; its agents are not
// taken for lost before that.
func TestHeldAndNotAskedFor(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute)
	a, err := p.Hold(Held{Build: build("b1", job(step("true"), "a")), Agent: Agent{Name: "old"}, Handed: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Hold(Held{Build: build("b1", job(step("false"), "a")), Agent: Agent{Name: "old"}, Handed: time.Now()}); err != ErrLost {
		t.Errorf("one agent holds two: %v", err)
	}
	p.expire(time.Now().Add(2 * time.Minute))
	if err := p.Report(t.Context(), a.Lease, Report{}); err != nil {
		t.Errorf("%v", err)
	}
	p.expire(time.Now().Add(unasked + time.Second))
	select {
	case <-a.Stop:
	default:
		t.Error("it is not cancelled")
	}
	if err := p.Report(t.Context(), a.Lease, Report{}); err != ErrLost || p.Open("b1") {
		t.Errorf("%v", err)
	}
	if d := eventsOf[queue.BuildDone](rec); len(d) != 0 {
		t.Errorf("%+v", d)
	}
}
