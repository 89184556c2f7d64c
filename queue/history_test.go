package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func many(n int, form string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(form, i))
	}
	return out
}

// A row is bounded, whatever a change touches, and says of how much it is.
func TestRowsAreBounded(t *testing.T) {
	ch := &queue.Change{ID: "1.a", Title: strings.Repeat("é", 300), Author: "ann", Arrival: 7,
		Foreseen: queue.Foreseen{Predicted: 90 * time.Second, Chance: 0.9}}
	f := &queue.Footprint{Paths: many(1000, "p%04d"), Affected: many(1000, "t%04d")}
	a := queue.NewArrivalRow(ch, f)
	if len(a.Paths) != queue.MostRowPaths || len(a.Targets) != queue.MostRowTargets || a.Affected != 1000 || len(a.Title) > queue.MostTitle || !utf8.ValidString(a.Title) {
		t.Errorf("%d paths, %d targets of %d, title %q", len(a.Paths), len(a.Targets), a.Affected, a.Title)
	}
	if a.Predicted != 90_000 || a.Chance != 0.9 || a.Arrival != 7 {
		t.Errorf("%+v", a)
	}
	f.Affected = append(f.Affected, "z")
	if b := queue.NewArrivalRow(ch, f); b.Digest == a.Digest {
		t.Error("the digest is not of all targets")
	}
	var chain []queue.ChangeID
	for i := range 600 {
		chain = append(chain, queue.ChangeID(fmt.Sprint(i)))
	}
	b := queue.NewBuildRow(&queue.Build{ID: "b", Chain: chain}, queue.JobPassed)
	if len(b.Chain) != queue.MostRowChanges || b.Chain[len(b.Chain)-1] != "599" {
		t.Errorf("a chain of %d", len(b.Chain))
	}
}

// A result says of each target what the step's report said of it: what has no name in it
// is passed by a step that only passes as a whole, and by no other.
func TestResultRow(t *testing.T) {
	j := &queue.Job{Step: config.Step{Name: "unit"}, Keys: []queue.Key{{Target: "a"}, {Target: "b"}, {Target: "c"}}}
	named := queue.JobDone{Build: "x", Outcome: queue.JobFailed, Passed: []string{"a"}, Failed: []queue.TargetFailure{{Target: "b", Tail: "SECRET"}},
		Took: 3 * time.Second, PerTarget: map[string]time.Duration{"a": time.Second}, Machine: "SECRET", Tail: "SECRET"}
	want := &queue.ResultRow{Build: "x", Step: "unit", Outcome: queue.JobFailed, Took: 3000, Asked: 3,
		Targets: []queue.TargetRow{{Target: "a", Outcome: queue.JobPassed, Took: 1000}, {Target: "b", Outcome: queue.JobFailed}, {Target: "c"}}}
	if diff := cmp.Diff(want, queue.NewResultRow(j, named, false, true)); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		outcome queue.JobOutcome
		unnamed bool
		want    queue.JobOutcome
	}{{queue.JobPassed, true, queue.JobPassed}, {queue.JobPassed, false, ""}, {queue.JobFailed, true, ""}} {
		r := queue.NewResultRow(j, queue.JobDone{Build: "x", Outcome: c.outcome}, true, c.unnamed)
		if r.Targets[2].Outcome != c.want || !r.Whole {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

func TestVerdictRow(t *testing.T) {
	ch := &queue.Change{ID: "1.a", Number: 1, Arrival: 3, Phase: queue.Rejected, Reason: queue.Reason{Code: queue.ReasonFailed, Detail: "SECRET"},
		Ending: queue.Ending{Verdict: &queue.Verdict{Commit: "c", Failures: []queue.Evidence{{Step: "unit", Run: "SECRET", Targets: []string{"a"}, Build: "b",
			Tail: "SECRET", Ran: queue.Ran{Change: "1.a", Main: "m", Chain: []queue.ChangeID{"2.b", "1.a"}}}}}}}
	want := &queue.VerdictRow{Change: "1.a", Number: 1, Arrival: 3, Outcome: queue.Rejected, Reason: queue.ReasonFailed, Commit: "c",
		Failures: []queue.FailureRow{{Step: "unit", Targets: []string{"a"}, Build: "b", Main: "m", Chain: []queue.ChangeID{"2.b", "1.a"}, Change: "1.a"}}}
	if diff := cmp.Diff(want, queue.NewVerdictRow(ch)); diff != "" {
		t.Error(diff)
	}
}
