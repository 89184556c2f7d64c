package forgeci

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Two workflows have a job "test"; that of the second one needs another job first.
func TestTwoWorkflowsOneName(t *testing.T) {
	e := built(config.Step{Checks: []config.Check{{Name: "test", App: config.AppActions}}})
	e.foldRun(forge.CIRun{ID: 1, Suite: 1, Commit: commit, Branch: e.branch, Attempt: 1, Done: true, Push: true})
	e.foldRun(forge.CIRun{ID: 2, Suite: 2, Commit: commit, Branch: e.branch, Attempt: 1, Push: true, Name: "nightly"})
	first, setup, late := check(1, "test", forge.CIPassed, "success"), check(2, "setup", forge.CIRunning, "in_progress"), check(9, "test", forge.CIFailed, "failure")
	for _, r := range []*forge.CIResult{&first, &setup, &late} {
		r.App = config.AppActions
	}
	setup.Suite, late.Suite = 2, 2
	e.fold(first)
	e.fold(setup)
	at := after(time.Minute)
	e.sure = at.now
	if f := e.judge(e.jobs[0], at); f.outcome != "" || f.due.IsZero() {
		t.Errorf("decided as %s while run 2, which has a job of that name, is under way", f.outcome)
	}
	at = after(2 * time.Hour)
	e.polled, e.sure = at.now, at.now
	if f := e.judge(e.jobs[0], at); f.outcome != queue.JobInfra || f.detail != `all checks have ended, but run 2 of the workflow "nightly" is still under way on submitqueue/main/00112233445566aa after 2 hours, and may bring another one of their names` {
		t.Errorf("a run without end: %s %s", f.outcome, f.detail)
	}
	e.fold(late)
	if f := e.judge(e.jobs[0], at); f.outcome != queue.JobFailed {
		t.Errorf("with both known: %s", f.outcome)
	}
}

// A pass of an App's check does not wait for workflows, which cannot bring one.
func TestChecksOfAppsDoNotWaitForWorkflows(t *testing.T) {
	e := built(config.Step{Checks: []config.Check{{Name: "test", App: "circleci"}}})
	e.foldRun(forge.CIRun{ID: 2, Suite: 2, Commit: commit, Branch: e.branch, Attempt: 1, Push: true})
	e.fold(forge.CIResult{ID: 9, Name: "test", App: "circleci", Commit: commit, Suite: 7, State: forge.CIPassed, At: start.Add(time.Second)})
	if f := e.judge(e.jobs[0], after(time.Minute)); f.outcome != queue.JobPassed {
		t.Errorf("%s, due %s", f.outcome, f.due)
	}
}

// workflow is what truly happens on a ref: runs whose jobs appear when those before
// them have ended.
type workflow struct {
	run  forge.CIRun
	jobs []forge.CIResult // each needs the one before it
	at   int              // how many have ended
}

// shows returns what the forge knows of a workflow now.
func (w *workflow) shows() (out []forge.CIResult) {
	for i, j := range w.jobs[:min(w.at+1, len(w.jobs))] {
		if i == w.at {
			j.State, j.Word, j.Ended = forge.CIRunning, "in_progress", time.Time{}
		}
		out = append(out, j)
	}
	return out
}

// For any workflows that a push starts, any names of their jobs, and any webhooks, in
// any order or lost: a build passes only if in the end every check of the step's name
// has passed, and its result is the last state of its checks.
func TestPassIsTheWholeTruth(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHub()
		now := start.Add(2 * time.Second)
		c := h.still(func() time.Time { return now })
		c.o.Grace = 5 * time.Second
		step := config.Step{Checks: []config.Check{{Name: "test"}}}
		if rapid.Bool().Draw(rt, "two checks") {
			step.Checks = append(step.Checks, config.Check{Name: "lint"})
		}
		e := built(step)
		c.builds[e.build.ID] = e
		flows := drawWorkflows(rt, e)
		var mail []forge.CINews
		known := false // the first look comes after all runs are there
		publish := func() {
			h.results, h.runs = nil, nil
			for _, w := range flows {
				if known {
					h.runs = append(h.runs, w.run)
					h.results = append(h.results, w.shows()...)
				}
			}
		}
		send := func(n forge.CINews) {
			if rapid.IntRange(0, 3).Draw(rt, "webhook is lost") > 0 {
				mail = append(mail, n)
			}
		}
		look := func() {
			publish()
			if e.done == nil {
				c.settle(e)
				c.see(context.Background(), e)
			}
		}
		truth := truthOf(step, flows)
		for range 40 {
			now = now.Add(time.Second)
			known = known || now.After(start.Add(4*time.Second)) || rapid.Bool().Draw(rt, "runs begin")
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0, 1:
				w := flows[rapid.IntRange(0, len(flows)-1).Draw(rt, "workflow")]
				if !known || w.run.Done {
					break
				}
				if w.at < len(w.jobs) {
					w.at++
				} else {
					w.run.Done = true
					send(forge.CINews{Runs: []forge.CIRun{w.run}})
				}
				for _, r := range w.shows() {
					send(forge.CINews{Results: []forge.CIResult{r}})
				}
			case 2:
				if len(mail) > 0 {
					i := rapid.IntRange(0, len(mail)-1).Draw(rt, "mail")
					c.News(mail[i])
					mail = slices.Delete(mail, i, i+1)
				}
			case 3:
				look()
			}
			if e.done != nil && e.done.Outcome == queue.JobPassed && truth != queue.JobPassed {
				rt.Fatalf("it passes, and in the end it has not: %s", truth)
			}
		}
		for _, w := range flows {
			w.at, w.run.Done = len(w.jobs), true
		}
		for known = true; e.done == nil; now = now.Add(2 * time.Minute) {
			if now.After(start.Add(3 * time.Hour)) {
				rt.Fatalf("it never ends; in the end: %s", truth)
			}
			look()
		}
		if e.done.Outcome != truth {
			rt.Fatalf("%s (%s), and in the end: %s", e.done.Outcome, e.done.Detail, truth)
		}
	})
}

func drawWorkflows(rt *rapid.T, e *entry) (flows []*workflow) {
	id := int64(0)
	for n := range rapid.IntRange(1, 3).Draw(rt, "workflows") {
		w := &workflow{run: forge.CIRun{ID: int64(n + 1), Suite: int64(n + 1), Commit: commit, Branch: e.branch, Attempt: 1, Push: true, Name: fmt.Sprint("w", n)}}
		for range rapid.IntRange(1, 3).Draw(rt, "jobs") {
			id++
			end := rapid.SampledFrom([]forge.CIState{forge.CIPassed, forge.CIPassed, forge.CIPassed, forge.CIFailed, forge.CINone}).Draw(rt, "ends as")
			r := check(id, rapid.SampledFrom([]string{"test", "setup", "lint"}).Draw(rt, "name"), end, string(end))
			r.Suite, r.Ended = w.run.Suite, r.At.Add(time.Second)
			w.jobs = append(w.jobs, r)
		}
		flows = append(flows, w)
	}
	return flows
}

// truthOf is what a step comes to when all has ended.
func truthOf(s config.Step, flows []*workflow) queue.JobOutcome {
	out := queue.JobPassed
	for _, check := range s.Checks {
		there := false
		for _, w := range flows {
			for _, r := range w.jobs {
				switch {
				case r.Name != check.Name:
				case r.State == forge.CIFailed:
					return queue.JobFailed
				case r.State == forge.CINone:
					there, out = true, queue.JobInfra
				default:
					there = true
				}
			}
		}
		if !there {
			out = queue.JobInfra
		}
	}
	return out
}
