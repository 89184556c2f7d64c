package workers

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// side is one side of a Split, driven by a test.
type side struct {
	*Stream
	ran     []queue.Build
	stopped []queue.BuildID
	swept   []queue.BuildID
}

func (s *side) Run(_ context.Context, b queue.Build, _ string) error {
	s.ran = append(s.ran, b)
	return nil
}

func (s *side) Stop(_ context.Context, id queue.BuildID) error {
	s.stopped = append(s.stopped, id)
	return nil
}
func (s *side) Events() <-chan queue.Body       { return s.Out() }
func (s *side) Log(queue.BuildID) (Log, error)  { return nil, ErrNoLog }
func (s *side) Close(ctx context.Context) error { s.Stream.Close(ctx); return nil }
func (s *side) Sweep(live []queue.BuildID)      { s.swept = live }
func (s *side) done(id, as string, o queue.JobOutcome) {
	s.Put(queue.BuildDone{Build: queue.BuildID(id), Action: as, Outcome: o, Detail: string(o)})
}

func TestSplit(t *testing.T) {
	t.Parallel()
	runners, forge := &side{Stream: NewStream()}, &side{Stream: NewStream()}
	s := NewSplit(runners, forge)
	defer mustClose(t, s)
	next := func() queue.Body { return <-s.Events() }

	runners.Put(queue.Capacity{Slots: 3})
	if got := next(); got != (queue.Capacity{Slots: 3}) {
		t.Errorf("%+v", got)
	}
	forge.Put(queue.Capacity{Forge: 9})
	if got := next(); got != (queue.Capacity{Slots: 3, Forge: 9}) {
		t.Errorf("%+v", got)
	}

	hosts := queue.Fleet{Hosts: []queue.FleetHost{{Name: "m1", Slots: 3}}}
	runners.Put(hosts)
	next()
	if got := s.Stands(); !reflect.DeepEqual(got, []queue.Body{hosts, queue.Capacity{Slots: 3, Forge: 9}}) {
		t.Errorf("it stands by %+v", got)
	}

	shell, checks := job(step("true"), "a"), job(config.Step{Name: "ci", Checks: []config.Check{{Name: "test"}}}, "a")
	mustRun(t, s, build("shell", shell), "run/shell")
	mustRun(t, s, build("ci", checks), "run/ci")
	mustRun(t, s, build("both", shell, checks), "run/both")
	if len(runners.ran) != 2 || len(forge.ran) != 2 || len(runners.ran[1].Jobs) != 1 || len(forge.ran[1].Jobs) != 1 || !forge.ran[1].Jobs[0].Step.ByForge() {
		t.Fatalf("runners %+v\nforge %+v", runners.ran, forge.ran)
	}
	forge.done("ci", "run/ci", queue.JobPassed)
	if got := next().(queue.BuildDone); got.Build != "ci" || got.Action != "run/ci" {
		t.Errorf("%+v", got)
	}

	// Of both it is told that it has begun once, and its end when both have ended.
	forge.Put(queue.BuildStarted{Build: "both", Machine: "f"})
	if got := next(); got != (queue.BuildStarted{Build: "both", Machine: "f"}) {
		t.Errorf("%+v", got)
	}
	forge.Put(queue.JobDone{Build: "both", Outcome: queue.JobPassed})
	next()
	forge.done("both", "run/both", queue.JobFailed)
	runners.Put(queue.BuildStarted{Build: "both", Machine: "r"}, queue.JobDone{Build: "both", Outcome: queue.JobPassed})
	if _, ok := next().(queue.JobDone); !ok {
		t.Error("told twice that it has begun")
	}
	runners.done("both", "run/both", queue.JobInfra)
	if got := next().(queue.BuildDone); got.Outcome != queue.JobInfra || got.Action != "run/both" || got.Detail != "infrastructure" {
		t.Errorf("%+v", got)
	}

	// Asked for again, both report again, and it ends again.
	for _, action := range []string{"run/both", "run/both/2"} {
		mustRun(t, s, build("both", shell, checks), action)
		forge.Put(queue.BuildStarted{Build: "both", Machine: "f"})
		if got := next(); got != (queue.BuildStarted{Build: "both", Machine: "f"}) {
			t.Errorf("%+v", got)
		}
		forge.done("both", action, queue.JobFailed)
		runners.Put(queue.BuildStarted{Build: "both", Machine: "r"})
		runners.done("both", action, queue.JobPassed)
		if got := next().(queue.BuildDone); got.Outcome != queue.JobFailed || got.Action != action {
			t.Errorf("%+v", got)
		}
	}

	if err := s.Stop(t.Context(), "both"); err != nil || !slices.Equal(runners.stopped, forge.stopped) || len(forge.stopped) != 1 {
		t.Errorf("%v, %v, %v", err, runners.stopped, forge.stopped)
	}
	if s.Sweep([]queue.BuildID{"x"}); !slices.Equal(forge.swept, []queue.BuildID{"x"}) {
		t.Errorf("swept %v", forge.swept)
	}
}

// A step with checks has no command; one that is run all the same would pass.
func TestPoolDoesNotRunChecks(t *testing.T) {
	t.Parallel()
	p, rec := open(t, 1)
	mustRun(t, p, build("b", job(config.Step{Name: "ci", Checks: []config.Check{{Name: "test"}}}, "a")), "run/b")
	end := rec.done(t, 1)
	if end.Outcome != queue.JobInfra || !end.NoRunner {
		t.Errorf("%+v", end)
	}
}
