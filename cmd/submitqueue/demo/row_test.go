package demo

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

func TestRowOf(t *testing.T) {
	got := RowOf(queue.View{
		Change: queue.Change{Number: 7, Title: "t", Author: "ada", Phase: queue.Pending},
		Waits:  []queue.Reason{{Code: queue.ReasonWaitsBuild}, {Code: queue.ReasonWaitsAhead}},
		Builds: []queue.BuildView{
			{Build: queue.Build{Started: 1000}, Expected: 5000},
			{Build: queue.Build{Started: 2000}, Expected: 4000},
			{Build: queue.Build{}},
		},
	}, "2 builds", 3000)
	want := Row{Number: 7, Title: "t", Author: "ada", Phase: queue.Pending, Reason: queue.ReasonWaitsBuild, Detail: "2 builds", Progress: 0.5, Running: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	got = RowOf(queue.View{
		Change: queue.Change{Number: 8, Phase: queue.Landed, Reason: queue.Reason{Code: queue.ReasonLanded},
			Ending: queue.Ending{Verdict: &queue.Verdict{Keys: 5, Reused: 2, Bypassed: []queue.ChangeID{"a", "b"}}}},
		Waits: []queue.Reason{{Code: queue.ReasonWaitsBuild}},
	}, "", 3000)
	want = Row{Number: 8, Phase: queue.Landed, Reason: queue.ReasonLanded, Progress: 1, Keys: 5, Reused: 2, Bypassed: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	got = RowOf(queue.View{
		Change: queue.Change{Number: 9, Phase: queue.Rejected, Reason: queue.Reason{Code: queue.ReasonFailed},
			Ending: queue.Ending{Verdict: &queue.Verdict{Failures: []queue.Evidence{{Step: "test", Tail: "a.go:1: no"}}}}},
		Builds: []queue.BuildView{{Build: queue.Build{}}},
	}, "push a fix", 3000)
	want = Row{Number: 9, Phase: queue.Rejected, Reason: queue.ReasonFailed, Detail: "push a fix", Progress: 1, Failure: "step test failed: a.go:1: no"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := "step test failed: a.go:1: no"; got.why() != want {
		t.Errorf("says %q", got.why())
	}
}

func TestProgressNeverGoesBackThroughThePhases(t *testing.T) {
	last := -1.0
	for _, phase := range []queue.Phase{"", queue.Analyzing, queue.Pending, queue.Landing, queue.Landed} {
		p := progress(queue.View{Change: queue.Change{Phase: phase}}, 0)
		if p <= last {
			t.Errorf("%s: %v after %v", phase, p, last)
		}
		last = p
	}
}

func TestResults(t *testing.T) {
	for want, r := range map[Result]Row{
		ResultLanded: {Phase: queue.Landed},
		ResultBuild:  {Phase: queue.Rejected, Reason: queue.ReasonFailed},
		ResultMerge:  {Phase: queue.Rejected, Reason: queue.ReasonMergeConflict},
		ResultOther:  {Phase: queue.Cancelled, Reason: queue.ReasonPushed},
		ResultNone:   {Phase: queue.Parked, Reason: queue.ReasonInfra},
	} {
		if got := r.result(); got != want {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
	if (Row{Phase: queue.Parked}).decided() || (Row{}).decided() || !(Row{Detail: "no"}).decided() {
		t.Error("decided is wrong")
	}
}

func TestStopwatch(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	s := NewStopwatch()
	s.Asked(1, at(1))
	s.Asked(2, at(2))
	s.Look([]Row{{Number: 1, Phase: queue.Pending}, {Number: 2, Phase: queue.Landed}, {Number: 9, Phase: queue.Landed}}, at(3))
	s.Look([]Row{{Number: 1, Phase: queue.Rejected}, {Number: 2, Phase: queue.Landed}}, at(8))
	got := s.Turnarounds()
	slices.Sort(got)
	if !slices.Equal(got, []time.Duration{time.Second, 7 * time.Second}) {
		t.Errorf("%v", got)
	}
}
