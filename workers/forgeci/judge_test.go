package forgeci

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var start = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

const commit = queue.CommitID("c0ffee")

// built is a build of one step, pushed a second after it was asked for.
func built(s config.Step) *entry {
	s.Name, s.Timeout = "unit", time.Hour
	if s.Appear == 0 {
		s.Appear = 10 * time.Minute
	}
	e := newEntry(queue.Build{ID: "00112233445566aa", Commit: commit, At: queue.At(start), Jobs: []queue.Job{{Step: s}}}, "run/x",
		Options{Prefix: "submitqueue", Branch: "main"})
	e.pushed = start.Add(time.Second)
	return e
}

// check is a check run of the build's own workflow, some time after it was asked for.
func check(id int64, name string, state forge.CIState, word string) forge.CIResult {
	return forge.CIResult{ID: id, Name: name, Commit: commit, Suite: 1, Branch: "submitqueue/main/00112233445566aa", Bound: true, State: state, Word: word,
		At: start.Add(time.Duration(id) * time.Second)}
}

func after(d time.Duration) moment {
	return moment{now: start.Add(time.Second + d), prefix: "submitqueue"}
}

func TestJudge(t *testing.T) {
	passed, failed := check(1, "test", forge.CIPassed, "success"), check(1, "Test", forge.CIFailed, "failure")
	running, queued := check(1, "test", forge.CIRunning, "in_progress"), check(1, "test", forge.CIQueued, "queued")
	lint := func(s forge.CIState, word string) forge.CIResult { return check(2, "lint", s, word) }
	other := func(r forge.CIResult, change func(*forge.CIResult)) forge.CIResult {
		change(&r)
		return r
	}
	elsewhere := other(passed, func(r *forge.CIResult) { r.Branch = "submitqueue/main/ffffffffffffffff" })
	unsaid := other(passed, func(r *forge.CIResult) { r.Branch = "" })
	by := func(r forge.CIResult, app string) forge.CIResult {
		return other(r, func(r *forge.CIResult) { r.App = app })
	}
	to := func(r forge.CIResult, page string) forge.CIResult {
		return other(r, func(r *forge.CIResult) { r.URL = page })
	}
	app := func(at time.Duration, s forge.CIState) forge.CIResult {
		return other(passed, func(r *forge.CIResult) {
			r.ID, r.Suite, r.Bound, r.Branch, r.At, r.State = int64(at/time.Second)+1000, 9, false, "", start.Add(at), s
		})
	}
	status := func(id int64, at time.Duration, s forge.CIState) forge.CIResult {
		return forge.CIResult{ID: id, Status: true, Name: "TEST", Commit: commit, State: s, At: start.Add(at)}
	}
	// The workflow was run a second time, three seconds after the build was asked for.
	second := forge.CIRun{ID: 1, Suite: 1, Commit: commit, Branch: passed.Branch, Attempt: 2, Began: start.Add(3 * time.Second), Done: true}
	first := forge.CIRun{ID: 1, Suite: 1, Commit: commit, Branch: passed.Branch, Attempt: 1}
	pull := forge.CIRun{ID: 1, Suite: 1, Commit: commit, Branch: passed.Branch, Attempt: 1, Pull: true}
	both := []config.Check{{Name: "test"}, {Name: "lint"}}
	ofActions := []config.Check{{Name: "test", App: config.AppActions}}
	otherSuite := other(by(failed, "evil"), func(r *forge.CIResult) {
		r.ID, r.Suite, r.Bound, r.Branch, r.At = 77, 9, false, "", start.Add(time.Minute)
	})
	for _, c := range []struct {
		name   string
		checks []config.Check
		have   []forge.CIResult
		run    forge.CIRun
		skips  string
		at     time.Duration
		looked bool // after the deadline
		want   queue.JobOutcome
		says   string
	}{
		{name: "nothing yet"},
		{name: "passes", have: []forge.CIResult{passed}, want: queue.JobPassed},
		{name: "fails, in other letters", have: []forge.CIResult{failed}, want: queue.JobFailed},
		{name: "times out at the CI", have: []forge.CIResult{check(1, "test", forge.CITimeout, "timed_out")}, want: queue.JobTimeout},
		{name: "one of two", checks: both, have: []forge.CIResult{passed}},
		{name: "both", checks: both, have: []forge.CIResult{passed, lint(forge.CIPassed, "success")}, want: queue.JobPassed},
		{name: "the other fails", checks: both, have: []forge.CIResult{passed, lint(forge.CIFailed, "failure")}, want: queue.JobFailed},
		{name: "one fails, the other runs", checks: both, have: []forge.CIResult{failed, lint(forge.CIRunning, "in_progress")}, want: queue.JobFailed},
		{name: "skipped is none", have: []forge.CIResult{check(1, "test", forge.CINone, "skipped")}, want: queue.JobInfra, says: `the check "test" ended as skipped`},
		{name: "cancelled, but the other runs", checks: both, have: []forge.CIResult{check(1, "test", forge.CINone, "cancelled"), lint(forge.CIRunning, "in_progress")}},
		{name: "cancelled, and the other failed", checks: both, have: []forge.CIResult{check(1, "test", forge.CINone, "cancelled"), lint(forge.CIFailed, "failure")}, want: queue.JobFailed},
		{name: "of another ref", have: []forge.CIResult{elsewhere}},
		{name: "of a ref that is not told", have: []forge.CIResult{unsaid}},
		{name: "of a pull request whose branch has the ref's name", run: pull, have: []forge.CIResult{passed}},
		{name: "failed for a pull request whose branch has the ref's name", run: pull, have: []forge.CIResult{failed}},
		{name: "of another App, before", have: []forge.CIResult{app(-time.Minute, forge.CIPassed)}},
		{name: "of another App, after", have: []forge.CIResult{app(time.Minute, forge.CIPassed)}, want: queue.JobPassed},
		{name: "of another App, failed yesterday, passed today", have: []forge.CIResult{app(-24*time.Hour, forge.CIFailed), app(time.Minute, forge.CIPassed)}, want: queue.JobPassed},
		{name: "yesterday's status", have: []forge.CIResult{status(1, -24*time.Hour, forge.CIPassed)}},
		{name: "the newest status", have: []forge.CIResult{status(1, time.Second, forge.CIRunning), status(2, time.Minute, forge.CIFailed)}, want: queue.JobFailed},
		{name: "a status that is set back", have: []forge.CIResult{status(1, time.Second, forge.CIFailed), status(2, time.Minute, forge.CIRunning)}},
		{name: "a status that ends what was pending before", have: []forge.CIResult{status(1, -time.Minute, forge.CIRunning), status(2, time.Minute, forge.CIPassed)}},
		{name: "a status that fails what was pending before", have: []forge.CIResult{status(1, -time.Minute, forge.CIRunning), status(2, time.Minute, forge.CIFailed)}},
		{name: "a status that was pending before, and again since", have: []forge.CIResult{status(1, -time.Minute, forge.CIRunning), status(2, time.Minute, forge.CIRunning), status(3, 2*time.Minute, forge.CIPassed)}, want: queue.JobPassed},
		{name: "a status that had ended before", have: []forge.CIResult{status(1, -2*time.Minute, forge.CIRunning), status(2, -time.Minute, forge.CIFailed), status(3, time.Minute, forge.CIPassed)}, want: queue.JobPassed},
		{name: "the second end since", have: []forge.CIResult{status(1, -time.Minute, forge.CIRunning), status(2, time.Minute, forge.CIPassed), status(3, 2*time.Minute, forge.CIFailed)}, want: queue.JobFailed},
		{name: "an end to another page", have: []forge.CIResult{to(status(1, -time.Minute, forge.CIRunning), "/1"), to(status(2, time.Minute, forge.CIFailed), "/2")}, want: queue.JobFailed},
		{name: "the old run ends after the new one", have: []forge.CIResult{to(status(1, -time.Minute, forge.CIRunning), "/1"), to(status(2, time.Second, forge.CIRunning), "/2"),
			to(status(3, 2*time.Second, forge.CIPassed), "/2"), to(status(4, time.Minute, forge.CIFailed), "/1")}, want: queue.JobPassed},
		{name: "of the App", checks: ofActions, have: []forge.CIResult{by(passed, "github-actions")}, want: queue.JobPassed},
		{name: "fails, of the App", checks: ofActions, have: []forge.CIResult{by(failed, "github-actions")}, want: queue.JobFailed},
		{name: "passes of another App", checks: ofActions, have: []forge.CIResult{by(passed, "evil")}},
		{name: "of an App that is not told", checks: ofActions, have: []forge.CIResult{passed}},
		{name: "another App fails under the name", checks: ofActions, have: []forge.CIResult{by(passed, "github-actions"), otherSuite}, want: queue.JobPassed},
		{name: "the App fails, another passes", checks: ofActions, have: []forge.CIResult{by(failed, "github-actions"), by(app(time.Minute, forge.CIPassed), "evil")}, want: queue.JobFailed},
		{name: "a status under the name passes", checks: ofActions, have: []forge.CIResult{status(9, time.Minute, forge.CIPassed)}},
		{name: "a status under the name fails", checks: ofActions, have: []forge.CIResult{by(passed, "github-actions"), status(9, time.Minute, forge.CIFailed)}, want: queue.JobPassed},
		{name: "of two Apps", checks: []config.Check{{Name: "test", App: "a"}, {Name: "test", App: "b"}}, have: []forge.CIResult{by(app(time.Minute, forge.CIPassed), "a")}},
		{name: "only others, absent", checks: ofActions, have: []forge.CIResult{by(app(time.Minute, forge.CIPassed), "evil"), status(9, time.Minute, forge.CIPassed)},
			at: 10 * time.Minute, looked: true, want: queue.JobInfra, says: "the check `test` of the App github-actions did not appear on submitqueue/main/00112233445566aa within 10 minutes; " +
				"the workflow needs `on: push: branches: ['submitqueue/**']`; there were: TEST of a commit status, test of evil"},
		{name: "absent, and the message says why", skips: "[skip ci]", at: 10 * time.Minute, looked: true, want: queue.JobInfra,
			says: "within 10 minutes; the message of the commit says `[skip ci]`, and GitHub starts no workflow for such a commit; take that out of the message"},
		{name: "there, whatever the message says", skips: "[skip ci]", have: []forge.CIResult{passed}, want: queue.JobPassed},
		{name: "a status and a check run of one name", have: []forge.CIResult{passed, status(1, time.Second, forge.CIFailed)}, want: queue.JobFailed},
		{name: "two workflows with one name", have: []forge.CIResult{passed, other(failed, func(r *forge.CIResult) { r.ID, r.Suite = 8, 2 })}, want: queue.JobFailed},
		{name: "two jobs of one run with one name", have: []forge.CIResult{failed, check(5, "test", forge.CIPassed, "success")}, want: queue.JobFailed},
		{name: "the newer of two jobs with one name fails", have: []forge.CIResult{passed, check(5, "test", forge.CIFailed, "failure")}, want: queue.JobFailed},
		{name: "run again by a person", run: second, have: []forge.CIResult{failed, check(5, "test", forge.CIPassed, "success")}, want: queue.JobPassed},
		{name: "both run again by a person", run: second, have: []forge.CIResult{failed, check(2, "test", forge.CINone, "cancelled"),
			check(5, "test", forge.CIPassed, "success"), check(6, "test", forge.CIPassed, "success")}, want: queue.JobPassed},
		{name: "one of two run again by a person", run: second, have: []forge.CIResult{failed, check(2, "test", forge.CIFailed, "failure"),
			check(5, "test", forge.CIPassed, "success")}, want: queue.JobFailed},
		{name: "another of the run is run again", run: second, have: []forge.CIResult{check(1, "test", forge.CIPassed, "success"), check(2, "test", forge.CIPassed, "success")}, want: queue.JobPassed},
		{name: "absent, to be looked for", at: 10 * time.Minute},
		{name: "absent", at: 10 * time.Minute, looked: true, want: queue.JobInfra,
			says: "the check `test` did not appear on submitqueue/main/00112233445566aa within 10 minutes; the workflow needs `on: push: branches: ['submitqueue/**']`"},
		{name: "others are there", checks: []config.Check{{Name: "tests"}}, have: []forge.CIResult{passed}, at: 10 * time.Minute, looked: true, want: queue.JobInfra, says: "there were: test"},
		{name: "absent while the run goes on, whose jobs come one after the other", run: first, at: time.Hour, looked: true},
		{name: "absent while another check runs", have: []forge.CIResult{lint(forge.CIRunning, "in_progress")}, at: time.Hour, looked: true},
		{name: "absent though the run goes on for ever", run: first, at: 70 * time.Minute, looked: true, want: queue.JobInfra, says: "did not appear"},
		{name: "runs for long", have: []forge.CIResult{running}, at: 30 * time.Minute, looked: true},
		{name: "runs too long", have: []forge.CIResult{running}, at: 2 * time.Hour, looked: true, want: queue.JobTimeout, says: "still running after 1 hour"},
		{name: "queued for long", have: []forge.CIResult{queued}, at: 65 * time.Minute, looked: true},
		{name: "queued too long", have: []forge.CIResult{queued}, at: 70 * time.Minute, looked: true, want: queue.JobInfra, says: "waiting for a machine"},
	} {
		if c.checks == nil {
			c.checks = []config.Check{{Name: "test"}}
		}
		for range 5 { // in any order
			e := built(config.Step{Checks: c.checks})
			e.skips = c.skips
			e.foldRun(c.run)
			rand.Shuffle(len(c.have), func(i, j int) { c.have[i], c.have[j] = c.have[j], c.have[i] })
			for _, r := range c.have {
				e.fold(r)
				late := r
				late.State = forge.CIQueued
				e.fold(late) // its beginning is heard of after its end
			}
			e.jobs[0].running = start
			at := after(c.at)
			e.sure = at.now // the runs on the ref were looked at
			if c.looked {
				e.polled = at.now
			}
			f := e.judge(e.jobs[0], at)
			if f.outcome != c.want || !strings.Contains(f.detail, c.says) {
				t.Fatalf("%s: %q %q, want %q %q", c.name, f.outcome, f.detail, c.want, c.says)
			}
			if f.outcome == "" && !f.look && f.due.IsZero() && len(c.have) == 0 {
				t.Errorf("%s: nobody ever looks again", c.name)
			}
		}
	}
}

// A failed job waits for its run to end before it is run again, but not for ever.
func TestRunningAgainHasALimit(t *testing.T) {
	e := built(config.Step{Checks: []config.Check{{Name: "test"}}, Rerun: 1})
	e.fold(check(1, "test", forge.CIFailed, "failure"))
	limit := 10*time.Minute + time.Hour
	if f := e.judge(e.jobs[0], after(limit-time.Second)); !f.again || !f.due.Equal(after(limit).now) {
		t.Errorf("%+v", f)
	}
	if f := e.judge(e.jobs[0], after(limit)); f.again || f.outcome != queue.JobFailed {
		t.Errorf("%+v", f)
	}
}

// A run that ends long after the push has started a job just before, perhaps:
// the forge is asked once more.
func TestJudgeLooksAgainAfterTheLastNews(t *testing.T) {
	e := built(config.Step{Checks: []config.Check{{Name: "test"}}})
	at := after(20 * time.Minute)
	e.polled, e.heard = at.now.Add(-time.Second), at.now
	if f := e.judge(e.jobs[0], at); !f.look || f.outcome != "" {
		t.Errorf("%+v", f)
	}
	e.polled = at.now
	if f := e.judge(e.jobs[0], at); f.look || !f.noCheck {
		t.Errorf("%+v", f)
	}
}

// Passes on the head of a change count only if all checks passed, in a run that a
// push has started.
func TestPassedEarlier(t *testing.T) {
	run := forge.CIRun{ID: 1, Suite: 1, Attempt: 1, Push: true, Done: true}
	passed, status := check(1, "Test", forge.CIPassed, "success"), forge.CIResult{ID: 9, Status: true, Name: "test", State: forge.CIPassed}
	changed := func(change func(*forge.CIRun)) forge.CIRun {
		r := run
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		list []forge.CIResult
		run  forge.CIRun
		want bool
	}{
		"passed":              {[]forge.CIResult{passed}, run, true},
		"nothing":             {nil, run, false},
		"not by a push":       {[]forge.CIResult{passed}, changed(func(r *forge.CIRun) { r.Push = false }), false},
		"still runs":          {[]forge.CIResult{passed}, changed(func(r *forge.CIRun) { r.Done = false }), false},
		"of another run":      {[]forge.CIResult{passed}, changed(func(r *forge.CIRun) { r.Suite = 2 }), false},
		"skipped":             {[]forge.CIResult{check(1, "test", forge.CINone, "skipped")}, run, false},
		"a job of this name":  {[]forge.CIResult{check(0, "test", forge.CIFailed, "failure"), passed}, run, false},
		"failed, then passed": {[]forge.CIResult{check(0, "test", forge.CIFailed, "failure"), passed}, changed(func(r *forge.CIRun) { r.Attempt, r.Began = 2, passed.At }), true},
		"another's too":       {[]forge.CIResult{passed, forge.CIResult{ID: 8, Name: "test", App: "evil", Suite: 1, Bound: false, State: forge.CIPassed}}, run, false},
		"a status too":        {[]forge.CIResult{passed, status}, run, false},
	} {
		got, why, open := passedEarlier(config.Step{Checks: []config.Check{{Name: "test"}}, Earlier: config.EarlierCount}, c.list, []forge.CIRun{c.run}, onPush)
		if (got != nil) != c.want || (why == "") != c.want || open != (name == "still runs") {
			t.Errorf("%s: %v %q %v", name, got, why, open)
		}
	}
	actions := config.Step{Checks: []config.Check{{Name: "test", App: config.AppActions}}, Earlier: config.EarlierCount}
	counted := func(s config.Step, list ...forge.CIResult) bool {
		got, _, _ := passedEarlier(s, list, []forge.CIRun{run}, onPush)
		return got != nil
	}
	if counted(actions, passed) {
		t.Error("a pass of nobody counts for one of an App")
	}
	passed.App = config.AppActions
	if !counted(actions, passed, status) {
		t.Error("a status hides the pass of the App that is named")
	}
	if counted(config.Step{Checks: []config.Check{{Name: "test"}}}, passed) {
		t.Error("it counts where nobody asked for it")
	}
}

// The forge's clock counts, not ours.
func TestJudgeByTheClockOfTheForge(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		e := built(config.Step{Checks: []config.Check{{Name: "test"}}})
		e.fold(forge.CIResult{ID: 1, Status: true, Name: "test", Commit: commit, State: forge.CIFailed, At: start.Add(skew - 10*time.Second)})
		at := after(0)
		at.skew, e.sure = skew, at.now
		if f := e.judge(e.jobs[0], at); f.outcome != "" {
			t.Errorf("skew %s: a status from before counts: %+v", skew, f)
		}
		e.fold(forge.CIResult{ID: 2, Status: true, Name: "test", Commit: commit, State: forge.CIPassed, At: start.Add(skew)})
		if f := e.judge(e.jobs[0], at); f.outcome != queue.JobPassed {
			t.Errorf("skew %s: a status from after does not count: %+v", skew, f)
		}
	}
}

// An answer that was long in coming does not say that the forge's clock is ahead.
func TestClockOfASlowForge(t *testing.T) {
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		asked, answered, said time.Time
		want                  time.Duration
	}{
		"at once":               {at(0), at(0), at(0), 0},
		"by a whole second":     {at(0), at(0), at(-1), 0},
		"a minute later":        {at(0), at(60), at(60), 0},
		"ahead":                 {at(0), at(1), at(3600), time.Hour - time.Second},
		"behind":                {at(0), at(1), at(-3600), -time.Hour},
		"ahead, a minute later": {at(0), at(60), at(3600), time.Hour - time.Minute},
	} {
		var ctl Controller
		if ctl.clock(c.asked, c.answered, c.said); ctl.skew != c.want || !ctl.synced {
			t.Errorf("%s: %s, want %s", name, ctl.skew, c.want)
		}
	}
	var ctl Controller
	if ctl.clock(at(0), at(0), time.Time{}); ctl.synced {
		t.Error("nothing was told")
	}
}

func TestRefIsKeptWhileSomethingRuns(t *testing.T) {
	e := built(config.Step{Checks: []config.Check{{Name: "test"}}})
	if e.told(0) {
		t.Error("told of nothing")
	}
	e.fold(check(1, "test", forge.CIPassed, "success"))
	if e.busy(0) != "" || e.told(0) {
		t.Errorf("busy %q, told %v: the run may have other jobs", e.busy(0), e.told(0))
	}
	run := forge.CIRun{ID: 3, Suite: 1, Commit: commit, Branch: e.branch, Attempt: 1}
	if e.foldRun(forge.CIRun{ID: 2, Suite: 2, Commit: "other", Branch: e.branch, Attempt: 1}) {
		t.Error("a run of a fork's branch of this name is one on the ref")
	}
	e.foldRun(run)
	if e.busy(0) == "" {
		t.Error("a run that has not ended is no reason to wait")
	}
	run.Done = true
	e.foldRun(run)
	run.Done = false
	if e.foldRun(run) {
		t.Error("the end of a run is taken back")
	}
	if e.busy(0) != "" || !e.told(0) {
		t.Errorf("busy %q, told %v", e.busy(0), e.told(0))
	}
	e.fold(forge.CIResult{ID: 1, Status: true, Name: "x", Commit: commit, State: forge.CIRunning, At: start})
	if e.busy(0) != "x" {
		t.Error("a pending status is no reason to wait")
	}
	e.fold(forge.CIResult{ID: 2, Status: true, Name: "X", Commit: commit, State: forge.CIPassed, At: start})
	if e.busy(0) != "" {
		t.Errorf("busy with %q", e.busy(0))
	}
}

func TestLastLines(t *testing.T) {
	const log = "\ufeff2026-11-22T10:00:00.1234567Z ##[group]Run go test\n2026-11-22T10:00:00.1234567Z go test ./...\n2026-11-22T10:00:00.1Z ##[endgroup]\n" +
		"2026-11-22T10:00:01.1Z --- FAIL: TestX\r\n2026-11-22T10:00:01.2Z ##[error]Process completed with exit code 1.\n2026-11-22T10:00:02.1Z Post job cleanup.\n"
	if got, want := lastLines(log), "go test ./...\n--- FAIL: TestX\nProcess completed with exit code 1."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := lastLines(strings.Repeat("x", 9000)); len(got) > logBytes+3 || !strings.HasPrefix(got, "…") {
		t.Errorf("%d bytes", len(got))
	}
	if got := lastLines(""); got != "" {
		t.Errorf("%q of nothing", got)
	}
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{10 * time.Minute: "10 minutes", time.Hour: "1 hour", time.Second: "1 second", 90 * time.Second: "90 seconds", 24 * time.Hour: "24 hours"} {
		if got := words(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	for prefix, ok := range map[string]bool{"submitqueue": true, "ci/sq": true, "": false, "a//b": false, "/a": false, "a..b": false, "a*": false, "a b": false} {
		if err := CheckPrefix(prefix); (err == nil) != ok {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

// A result says when it was run by our clock, whatever the forge's says.
func TestResultsSayWhenTheyRan(t *testing.T) {
	e := built(config.Step{Checks: []config.Check{{Name: "test"}}})
	first, last := check(1, "test", forge.CIFailed, "failure"), check(2, "test", forge.CIFailed, "failure")
	skew := 3 * time.Hour
	first.At, first.Ended = start.Add(skew+time.Minute), start.Add(skew+2*time.Minute)
	last.At, last.Ended = start.Add(skew+90*time.Second), start.Add(skew+5*time.Minute)
	f := finding{outcome: queue.JobFailed, list: []forge.CIResult{last, first}}
	got := e.result(e.jobs[0], f, moment{skew: skew, name: "ci"})
	if got.Began != queue.At(start.Add(time.Minute)) || got.Ended != queue.At(start.Add(5*time.Minute)) || got.Took != 4*time.Minute || got.Machine != "ci" {
		t.Errorf("%s ran from %v to %v, in %v", got.Machine, got.Began.Time(), got.Ended.Time(), got.Took)
	}
	first.Ended = first.At
	f.list = []forge.CIResult{first}
	if got = e.result(e.jobs[0], f, moment{skew: skew}); got.Began != queue.At(start.Add(time.Minute)) || got.Ended != got.Began {
		t.Errorf("within the same second: from %v to %v", got.Began.Time(), got.Ended.Time())
	}
	first.Ended = time.Time{}
	f.list = []forge.CIResult{first}
	if got = e.result(e.jobs[0], f, moment{skew: skew}); got.Began != 0 || got.Ended != 0 {
		t.Errorf("when it ended is not known: from %v to %v", got.Began.Time(), got.Ended.Time())
	}
}
