package forgeci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// asking is a hub that makes runs when it is asked to.
type asking struct {
	*hub
	push   bool    // pushes start runs after all
	answer []error // to the next questions
	lost   bool    // the answer to the first question is lost, and its run is there
	asks   []string
	own    int // looks at one run that has results
	before int // whole looks by the first of them
	told   []forge.CIVariable
	inputs []forge.CIVariable
	untold bool // it takes no variables
}

func (a *asking) CIFile(context.Context) string { return "ci.yml" }

func (a *asking) CIStarts(_ context.Context, inputs bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.push && (inputs || !a.untold)
}

func (a *asking) CIStart(_ context.Context, branch string, commit queue.CommitID, told forge.CITold) (forge.CIRun, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed <- struct{}{}
	a.asks, a.told, a.inputs = append(a.asks, branch), told.Variables, told.Inputs
	if len(a.answer) > 0 {
		err := a.answer[0]
		if a.answer = a.answer[1:]; err != nil {
			a.push = errors.Is(err, forge.ErrPushStarts)
			return forge.CIRun{}, err
		}
	}
	run := forge.CIRun{ID: int64(100 + len(a.runs)), Suite: int64(100 + len(a.runs)), Commit: commit, Branch: branch, Attempt: 1, Asked: true}
	a.runs = append(a.runs, run)
	if a.lost {
		a.lost = false
		return forge.CIRun{}, &forge.Transient{Err: errors.New("the line broke")}
	}
	return run, nil
}

func (a *asking) CIRunResults(_ context.Context, id int64, _ []string) (of forge.CIRun, out forge.CIResults, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed <- struct{}{}
	out.Now = a.now()
	for _, r := range a.results {
		if r.Suite == id {
			out.List = append(out.List, r)
		}
	}
	if len(out.List) == 0 {
		return of, out, forge.ErrNotFound
	}
	if a.own++; a.own == 1 {
		a.before = a.read + a.asked
	}
	for _, r := range a.runs {
		if r.ID == id {
			of = forge.CIRun{ID: id, Done: r.Done, Word: r.Word}
		}
	}
	return of, out, nil
}

func (a *asking) controller(t *testing.T) *Controller {
	t.Helper()
	return a.start(t, func(o *Options) { o.Starter = a })
}

// passes says that a run has passed, and returns what becomes of the build.
func (a *asking) passes(t *testing.T, c *Controller, id int64) []string {
	t.Helper()
	a.mu.Lock()
	for i := range a.runs {
		if a.runs[i].ID == id {
			a.runs[i].Done, a.runs[i].Word = true, "success"
		}
	}
	a.results = append(a.results, forge.CIResult{ID: id, Name: "test", Commit: "commit-a", Suite: id, Branch: ref("a"), Bound: true, State: forge.CIPassed, At: time.Now()})
	news := forge.CINews{Results: slices.Clone(a.results), Runs: slices.Clone(a.runs)}
	a.mu.Unlock()
	c.News(news)
	return c.ofEvent(t)
}

// A ref is pushed quietly, one run is asked for with variables, and that run alone counts:
// not one that the push has left, nor one that somebody else has started there.
func TestRunsAreAskedFor(t *testing.T) {
	a := &asking{hub: newHub(), answer: []error{&forge.Transient{Err: errors.New("Reference not found")}, nil}}
	a.runs = []forge.CIRun{{ID: 7, Suite: 7, Commit: "commit-a", Branch: ref("a"), Done: true, Word: "skipped", Push: true}}
	c := a.controller(t)
	b := order("a")
	b.Main, b.Change, b.Chain = "main-1", "c3", []queue.ChangeID{"c1", "c2"}
	mustRun(t, c, b, "run/a")
	a.until(t, "a run was asked for again", func() bool { return len(a.runs) == 2 })
	a.mu.Lock()
	for _, move := range a.pushes[0] {
		if !move.Quiet {
			t.Errorf("%s is pushed to be tested", move.Branch)
		}
	}
	want := "[{SUBMITQUEUE_BUILD a} {SUBMITQUEUE_BRANCH main} {SUBMITQUEUE_CHANGE c3} {SUBMITQUEUE_CHAIN c1 c2} {SUBMITQUEUE_MAIN main-1} {SUBMITQUEUE_STEPS unit} {SUBMITQUEUE_TARGETS_REF submitqueue-targets/main/a}]"
	if got := fmt.Sprint(a.told); got != want {
		t.Errorf("it is told %s, want %s", got, want)
	}
	a.runs = append(a.runs, forge.CIRun{ID: 9, Suite: 9, Commit: "commit-a", Branch: ref("a")}) // somebody's own
	a.results = append(a.results, forge.CIResult{ID: 1, Name: "test", Commit: "commit-a", Suite: 9, Branch: ref("a"), Bound: true, State: forge.CIFailed, At: time.Now()})
	a.mu.Unlock()
	for begun := false; !begun; {
		c.mu.Lock()
		begun = c.builds["a"].run == 101
		c.mu.Unlock()
	}
	if got := fmt.Sprint(a.passes(t, c, 101)); got != "[started passed done passed run/a]" {
		t.Errorf("it ended as %s", got)
	}
}

// What a build's run is told goes by the inputs that its file declares, too; then a forge
// that takes no variables is asked all the same.
func TestRunsAreToldByInputs(t *testing.T) {
	for _, untold := range []bool{false, true} {
		a := &asking{hub: newHub(), untold: untold}
		a.files = map[string]string{"ci.yml": "submitqueue_build submitqueue_main other"}
		c := a.start(t, func(o *Options) {
			o.Starter, o.Inputs = a, func(file []byte) []string { return strings.Fields(string(file)) }
		})
		b := order("a")
		b.Main = "main-1"
		mustRun(t, c, b, "run/a")
		a.until(t, "a run was asked for", func() bool { return len(a.runs) == 1 })
		a.mu.Lock()
		if got := fmt.Sprint(a.inputs); got != "[{submitqueue_build a} {submitqueue_main main-1}]" || len(a.told) != 7 || !a.pushes[0][1].Quiet {
			t.Errorf("its inputs are %s, it is told %v, and pushed so: %+v", got, a.told, a.pushes)
		}
		a.mu.Unlock()
	}
}

// A look at a run that was asked for is one question, unless a check is missing that
// another CI may bring.
func TestALookAtARunThatWasAskedFor(t *testing.T) {
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("another CI %t", other), func(t *testing.T) {
			a := &asking{hub: newHub()}
			c := a.start(t, func(o *Options) { o.Starter, o.Poll = a, 5*time.Millisecond })
			b := order("a")
			if other {
				b.Jobs[0].Step.Checks = append(b.Jobs[0].Step.Checks, config.Check{Name: "audit"})
			}
			mustRun(t, c, b, "run/a")
			a.until(t, "the run is asked for", func() bool { return len(a.runs) == 1 })
			a.mu.Lock()
			a.runs[0].Done, a.runs[0].Word = true, "success" // and no webhook comes
			a.results = append(a.results, forge.CIResult{ID: 1, Name: "test", Commit: "commit-a", Suite: a.runs[0].ID, Branch: ref("a"), Bound: true, State: forge.CIPassed, At: time.Now()})
			if other {
				a.results = append(a.results, forge.CIResult{ID: 2, Status: true, Name: "audit", Commit: "commit-a", State: forge.CIPassed, At: time.Now().Add(time.Minute)})
			}
			a.mu.Unlock()
			if got := fmt.Sprint(c.ofEvent(t)); got != "[started passed done passed run/a]" {
				t.Errorf("it ended as %s", got)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			if whole := a.read + a.asked - a.before; whole > 0 != other || a.own == 0 {
				t.Errorf("%d looks at the run, and %d at all of the commit after them", a.own, whole)
			}
		})
	}
}

// A build whose jobs have passed waits for no others of its run: one look, after the news
// of the last one, is enough.
func TestOtherJobsOfARunThatWasAskedFor(t *testing.T) {
	a := &asking{hub: newHub()}
	c := a.controller(t)
	mustRun(t, c, order("a"), "run/a")
	a.until(t, "the run is asked for", func() bool { return len(a.runs) == 1 })
	for run := int64(0); run == 0; {
		c.mu.Lock()
		run = c.builds["a"].run
		c.mu.Unlock()
	}
	a.mu.Lock()
	suite := a.runs[0].ID
	a.results = append(a.results, forge.CIResult{ID: 1, Name: "test", Commit: "commit-a", Suite: suite, Branch: ref("a"), Bound: true, State: forge.CIPassed, At: time.Now()},
		forge.CIResult{ID: 2, Name: "publish", Commit: "commit-a", Suite: suite, Branch: ref("a"), Bound: true, State: forge.CIRunning, At: time.Now()})
	a.mu.Unlock()
	c.News(forge.CINews{Look: []string{ref("a")}})
	if got := fmt.Sprint(c.ofEvent(t)); got != "[started passed done passed run/a]" {
		t.Errorf("it ended as %s", got)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.own != 1 {
		t.Errorf("the run was looked at %d times", a.own)
	}
}

// Where the answer was lost, or after a restart, the run that is there is found, and no
// second one is made.
func TestARunIsAskedForOnce(t *testing.T) {
	a := &asking{hub: newHub(), lost: true}
	first := a.controller(t)
	mustRun(t, first, order("a"), "run/a")
	begun := func(c *Controller) {
		for run := int64(0); run != 100; {
			c.mu.Lock()
			run = c.builds["a"].run
			c.mu.Unlock()
		}
	}
	begun(first)
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := a.controller(t)
	mustRun(t, c, order("a"), "run/b")
	begun(c)
	if len(a.asks) != 1 {
		t.Errorf("runs were asked for %d times", len(a.asks))
	}
	if got := fmt.Sprint(a.passes(t, c, 100)); got != "[started passed done passed run/b]" {
		t.Errorf("it ended as %s", got)
	}
}

// Where variables are refused, the ref is pushed anew to start its run, and so is each one
// after it.
func TestPushesStartRunsWhereVariablesAreRefused(t *testing.T) {
	a := &asking{hub: newHub(), answer: []error{forge.ErrPushStarts}}
	c := a.controller(t)
	mustRun(t, c, order("a"), "run/a")
	loud := func(branch string) func() bool {
		return func() bool {
			return slices.ContainsFunc(a.pushes, func(moves []mirror.RefMove) bool {
				return slices.ContainsFunc(moves, func(m mirror.RefMove) bool { return m.Branch == branch && m.Commit != "" && !m.Quiet })
			})
		}
	}
	a.until(t, "the ref is pushed anew", loud(ref("a")))
	mustRun(t, c, order("b"), "run/b")
	a.until(t, "the next ref starts its run", loud(ref("b")))
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asks) != 1 {
		t.Errorf("runs were asked for %d times", len(a.asks))
	}
	if gone := a.pushes[1]; len(gone) != 1 || gone[0].Branch != ref("a") || gone[0].Commit != "" {
		t.Errorf("the ref was not deleted first: %v", a.pushes)
	}
}

// What the forge refuses to make a run of ends the build with its words; a build that is
// stopped meanwhile leaves neither its ref nor its run.
func TestRunsThatAreNotBegun(t *testing.T) {
	a := &asking{hub: newHub(), answer: []error{errors.New("jobs:test config should implement a script:")}}
	c := a.controller(t)
	mustRun(t, c, order("a"), "run/a")
	done, ok := (<-c.Events()).(queue.BuildDone)
	if !ok || done.Outcome != queue.JobInfra || !done.NoCheck || done.Detail != "the forge makes no run for submitqueue/main/a: jobs:test config should implement a script:" {
		t.Errorf("it ended as %+v", done)
	}
	a.until(t, "its refs are deleted", func() bool { return len(a.refs) == 0 })

	a.mu.Lock()
	mustRun(t, c, order("b"), "run/b")
	a.answer = []error{&forge.Transient{Err: errors.New("Too many pipelines"), After: time.Hour}}
	a.mu.Unlock()
	a.until(t, "a run of the other was asked for", func() bool { return len(a.asks) == 2 })
	if err := c.Stop(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	a.until(t, "its refs are deleted, too", func() bool { return len(a.refs) == 0 })
}

// Where GitLab's pushes start the pipelines, what is missing is explained in its own words.
func TestWhatIsMissingAtGitLab(t *testing.T) {
	e, j := &entry{branch: "submitqueue/main/a"}, &job{}
	got := e.absent(j, []config.Check{{Name: "test"}}, moment{prefix: "submitqueue", asked: true})
	if !strings.Contains(got, "`$CI_PIPELINE_SOURCE == \"push\"`") || strings.Contains(got, "workflow") {
		t.Errorf("it says %q", got)
	}
}
