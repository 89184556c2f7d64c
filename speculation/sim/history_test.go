package sim

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/history"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// mustRecord runs ours and returns the rows of its archive, and what it landed.
func mustRecord(t *testing.T, w *World, workers int) ([]queue.Row, map[int]bool) {
	t.Helper()
	var rows []queue.Row
	o, err := ours{}.Run(t.Context(), w, Options{Workers: workers, Record: func(r queue.Row) { rows = append(rows, r) }})
	if err != nil {
		t.Fatal(err)
	}
	landed := map[int]bool{}
	for _, d := range o.Decisions {
		landed[d.Change] = d.Landed
	}
	for _, r := range rows {
		if err := r.Check(); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
	}
	return rows, landed
}

// The archive that ours writes of a world gives a world in which the same changes are broken
// and those that landed are sound; changes rejected for a conflict are not.
func TestHistoryRoundTrip(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Params){
		"plain":     func(p *Params) { p.Changes = fewer(400, 200) },
		"conflicts": func(p *Params) { p.Changes, p.Conflict, p.Seed = 300, 0.05, 3 },
		"tree step": func(p *Params) { p.TreeStepMin, p.Seed = 3, 6 },
		"large":     func(p *Params) { p.Large, p.Seed = 0.03, 4 },
	} {
		if !storetest.Drawn(t.Name()+name, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := mustWorld(t, change)
			rows, landed := mustRecord(t, w, 200)
			got, err := FromHistory(rows, Defaults())
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Changes) != len(w.Changes) {
				t.Fatalf("%d changes of %d", len(got.Changes), len(w.Changes))
			}
			own, conflicts := 0, 0
			for i := range w.Changes {
				was, is := &w.Changes[i], &got.Changes[i]
				alsoBreaks := len(was.Conflicts) > 0 || slices.ContainsFunc(w.Changes, func(c Change) bool {
					return slices.ContainsFunc(c.Conflicts, func(x Conflict) bool { return x.With == i })
				}) // that may have been seen first
				if was.BrokenTarget >= 0 && is.BrokenTarget < 0 && !alsoBreaks {
					t.Errorf("change %d was broken at %d and is not", i, was.BrokenTarget)
				}
				if landed[i] && is.BrokenTarget >= 0 {
					t.Errorf("change %d has landed and is broken", i)
				}
				breaks := len(is.Conflicts) > 0 || slices.ContainsFunc(got.Changes, func(c Change) bool {
					return slices.ContainsFunc(c.Conflicts, func(x Conflict) bool { return x.With == i })
				})
				if !landed[i] && is.BrokenTarget < 0 && !breaks {
					t.Errorf("change %d was rejected and is sound", i)
				}
				if was.BrokenTarget < 0 && !landed[i] {
					conflicts++
					if is.BrokenTarget >= 0 {
						own++
					}
				}
				if math.Abs(was.ArriveMin-is.ArriveMin) > 0.01 {
					t.Errorf("change %d arrives at %v, not %v", i, is.ArriveMin, was.ArriveMin)
				}
				if diff := cmp.Diff(was.Features.Paths, is.Features.Paths); diff != "" || was.Features.Author != is.Features.Author {
					t.Errorf("features of change %d: %s", i, diff)
				}
			}
			t.Logf("of %d rejections for a conflict %d count as broken alone, for want of evidence", conflicts, own)
			if math.Abs(got.TreeStepMin-w.TreeStepMin) > 0.01 {
				t.Errorf("the tree step takes %v, not %v", got.TreeStepMin, w.TreeStepMin)
			}
			var file bytes.Buffer
			if err := WriteWorld(&file, got); err != nil {
				t.Fatal(err)
			}
			again, err := ReadWorld(&file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("as a file: %s", diff)
			}
			m := mustRun(t, got, ours{}, 200, nil)
			if m.Bad() || m.Landed+m.Rejected != len(w.Changes) {
				t.Errorf("replayed: %+v", m)
			}
		})
	}
}

// Durations come back from what builds took.
func TestHistoryDurations(t *testing.T) {
	w := mustWorld(t, func(p *Params) { p.Changes, p.RatePerHour = 150, 60 })
	rows, _ := mustRecord(t, w, 300)
	got, err := FromHistory(rows, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	var off []float64
	for i := range w.Changes {
		off = append(off, math.Abs(math.Log(got.Changes[i].DurationMin/w.Changes[i].DurationMin)))
	}
	slices.Sort(off)
	if p50, p90 := Percentile(off, 0.5), Percentile(off, 0.9); p50 > 0.05 || p90 > 0.4 {
		t.Errorf("durations are off by %.2f at the median and %.2f at P90, in logarithms", p50, p90)
	}
}

// Values of the history are taken; missing ones are drawn.
func TestHistoryTells(t *testing.T) {
	arrival := func(id string, at queue.Instant, targets ...string) queue.Row {
		return queue.Row{At: at, Arrival: &queue.ArrivalRow{Change: queue.ChangeID(id), Author: "ann", Arrival: at, Targets: targets, Affected: len(targets), Chance: 0.25}}
	}
	verdict := func(id string, phase queue.Phase, f ...queue.FailureRow) queue.Row {
		r := &queue.VerdictRow{Change: queue.ChangeID(id), Outcome: phase, Failures: f}
		if phase == queue.Rejected {
			r.Reason = queue.ReasonFailed
		}
		return queue.Row{At: 90, Verdict: r}
	}
	const minute = 60_000
	rows := []queue.Row{
		arrival("1", 10*minute, "a/x", "a/y", "b/z"), arrival("2", 11*minute, "a/x"), arrival("3", 12*minute, "b/z"),
		{At: 20 * minute, Result: &queue.ResultRow{Build: "b1", Step: "unit", Outcome: queue.JobPassed, Took: 6 * minute, Asked: 3, Targets: []queue.TargetRow{
			{Target: "a/x", Outcome: queue.JobPassed, Took: 1 * minute}, {Target: "a/y", Outcome: queue.JobPassed, Took: 2 * minute}, {Target: "b/z", Outcome: queue.JobPassed, Took: 3 * minute}}}},
		{At: 20 * minute, Build: &queue.BuildRow{Build: "b1", Change: "1", Main: "m0", Asked: 12 * minute, Started: 12 * minute, Outcome: queue.JobPassed}},
		{At: 20 * minute, Main: &queue.MainRow{Commit: "m1", Changes: []queue.ChangeID{"1"}}},
		// 2 passed without 1 and fails with it; 3 never passed.
		{At: 21 * minute, Result: &queue.ResultRow{Build: "b2", Step: "unit", Outcome: queue.JobPassed, Took: minute, Asked: 1, Targets: []queue.TargetRow{{Target: "a/x", Outcome: queue.JobPassed, Took: minute}}}},
		{At: 21 * minute, Build: &queue.BuildRow{Build: "b2", Change: "2", Main: "m0", Started: 18 * minute, Outcome: queue.JobPassed}},
		{At: 21 * minute, Main: &queue.MainRow{Commit: "m2", Outside: true}},
		verdict("1", queue.Landed),
		verdict("2", queue.Rejected, queue.FailureRow{Step: "unit", Targets: []string{"a/x"}, Build: "b3", Main: "m1", Change: "2"}),
		verdict("3", queue.Rejected, queue.FailureRow{Step: "unit", Targets: []string{"b/z"}, Build: "b4", Main: "m1", Change: "3"}),
	}
	p := Defaults()
	w, err := FromHistory(rows, p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Target{{1, 0}, {2, 0}, {3, 1}}, w.Targets); diff != "" || w.OverheadMin != 2 {
		t.Errorf("overhead %v, targets: %s", w.OverheadMin, diff)
	}
	a, b, c := w.Changes[0], w.Changes[1], w.Changes[2]
	if a.BrokenTarget != -1 || a.DurationMin != 8 || a.ArriveMin != 0 || a.Predicted.Success != 0.25 {
		t.Errorf("1: %+v", a)
	}
	if b.BrokenTarget != -1 || !cmp.Equal(b.Conflicts, []Conflict{{With: 0, Target: 0}}) || b.DurationMin != 3 {
		t.Errorf("2: %+v", b)
	}
	if c.BrokenTarget != 2 || len(c.Conflicts) != 0 || c.ArriveMin != 2 {
		t.Errorf("3: %+v", c)
	}
	if len(w.Pushes) != 0 { // after the last arrival
		t.Errorf("pushes: %v", w.Pushes)
	}
	p.Changes = 2
	if w, err := FromHistory(rows, p); err != nil || len(w.Changes) != 2 || w.Changes[0].ArriveMin != 0 {
		t.Errorf("the last two: %v, %v", w, err)
	}
	if _, err := FromHistory(rows[3:4], p); err == nil || !strings.Contains(err.Error(), "no arrival") {
		t.Errorf("without arrivals: %v", err)
	}
}

// Any rows make a world in which every rule holds, or an error.
func TestHistoryOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		change := rapid.SampledFrom([]queue.ChangeID{"1", "2", "3", "4", "5", ""})
		changes := rapid.SliceOfN(change, 0, 4)
		targets := rapid.SliceOfN(rapid.SampledFrom([]string{"a/x", "a/y", "//b:z", "tree", ""}), 0, 4)
		commit := rapid.SampledFrom([]queue.CommitID{"m0", "m1", "m2", "m3"})
		build := rapid.SampledFrom([]queue.BuildID{"b1", "b2", "b3"})
		moment := rapid.Custom(func(t *rapid.T) queue.Instant { return queue.Instant(rapid.Int64Range(1, 1e8).Draw(t, "at")) })
		outcome := rapid.SampledFrom([]queue.JobOutcome{queue.JobPassed, queue.JobFailed, queue.JobStopped, queue.JobInfra})
		row := rapid.Custom(func(t *rapid.T) queue.Row {
			r := queue.Row{At: moment.Draw(t, "at")}
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				r.Arrival = &queue.ArrivalRow{Change: change.Draw(t, "change"), Arrival: moment.Draw(t, "arrival"), Targets: targets.Draw(t, "targets"),
					All: rapid.IntRange(0, 3).Draw(t, "all") == 0, Chance: rapid.Float64Range(-1, 2).Draw(t, "chance"), Predicted: rapid.Int64().Draw(t, "predicted"),
					Features: queue.Features{"files": rapid.Float64().Draw(t, "files")}}
			case 1:
				r.Verdict = &queue.VerdictRow{Change: change.Draw(t, "change"), Outcome: rapid.SampledFrom([]queue.Phase{queue.Landed, queue.Rejected, queue.Cancelled}).Draw(t, "outcome"),
					Reason: rapid.SampledFrom([]queue.ReasonCode{queue.ReasonFailed, queue.ReasonMergeConflict, ""}).Draw(t, "reason"), Against: changes.Draw(t, "against"),
					Failures: []queue.FailureRow{{Step: "unit", Targets: targets.Draw(t, "failing"), Main: commit.Draw(t, "main"), Chain: changes.Draw(t, "chain"), Change: change.Draw(t, "of")}}}
			case 2:
				r.Build = &queue.BuildRow{Build: build.Draw(t, "build"), Change: change.Draw(t, "change"), Also: changes.Draw(t, "also"), Main: commit.Draw(t, "main"),
					Chain: changes.Draw(t, "chain"), Started: moment.Draw(t, "started"), Outcome: outcome.Draw(t, "outcome")}
			case 3:
				res := &queue.ResultRow{Build: build.Draw(t, "build"), Step: "unit", Whole: rapid.Bool().Draw(t, "whole"), Outcome: outcome.Draw(t, "outcome"), Took: rapid.Int64Range(0, 1e6).Draw(t, "took")}
				for _, x := range targets.Draw(t, "targets") {
					res.Targets = append(res.Targets, queue.TargetRow{Target: x, Outcome: outcome.Draw(t, "said"), Took: rapid.Int64Range(0, 1e6).Draw(t, "took")})
				}
				r.Result = res
			default:
				r.Main = &queue.MainRow{Commit: commit.Draw(t, "commit"), Changes: changes.Draw(t, "changes"), Outside: rapid.Bool().Draw(t, "outside")}
			}
			return r
		})
		w, err := FromHistory(history.Tidy(rapid.SliceOfN(row, 1, 30).Draw(t, "rows")), Defaults())
		if err != nil {
			if !strings.Contains(err.Error(), "no arrival") {
				t.Fatal(err)
			}
			return
		}
		var file bytes.Buffer
		if err := WriteWorld(&file, w); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadWorld(&file); err != nil {
			t.Fatal(err)
		}
	})
}
