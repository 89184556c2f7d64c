package app_test

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// plainWorkflow runs the same on each branch.
const plainWorkflow = "on: {push: {branches: ['**', '!main']}}\njobs: {test: {runs-on: x, steps: [{uses: actions/checkout@v4}, {run: make test}]}}\n"

func withWorkflow(files map[string]string, text string) map[string]string {
	files = maps.Clone(files)
	files[".github/workflows/ci.yml"] = text
	return files
}

// byAreas is a repository of two areas, the second of which needs the first, whose one
// step is a check that covers the tree and counts where it has passed on a head.
func byAreas() map[string]string {
	return map[string]string{"a/x": "x\n", "b/x": "x\n", "c/x": "x\n", ".submitqueue.yml": `version: 1
analysis:
  analyzer: paths
  areas: [{name: a, files: ["a/**"]}, {name: b, files: ["b/**"], needs: [a]}, {name: c, files: ["c/**"]}]
steps:
  - {name: unit, checks: [{name: test, app: github-actions}], scope: targets, covers: tree, earlier: count, timeout: 1m}
`}
}

// onEach is a CI with one workflow on each branch but main.
func onEach(p forgetest.CIPush) []forgetest.CIJob {
	if p.Branch == "main" || strings.HasPrefix(p.Branch, "submitqueue-targets/") {
		return nil
	}
	return judged(p.On("submitqueue/x"))
}

// buildsWith counts what was built of commits with a file.
func (h *hub) buildsWith(file string) (n int) {
	h.Helper()
	for _, r := range h.CI.CIRuns() {
		if strings.HasPrefix(r.Branch, "submitqueue/") && h.Has(r.Head, file) {
			n++
		}
	}
	return n
}

// doubts returns why what was run on a pull request's head counts for nothing, once it was
// looked at.
func (h *hub) doubts(n int) string {
	h.Helper()
	var out []string
	h.until("its head was looked at", func(c *speculation.Core) bool {
		ch := c.State().Changes[c.State().Pulls[n].Active]
		if ch == nil {
			ch = c.State().Changes[c.State().Pulls[n].Last]
		}
		if ch == nil || ch.OwnCI == nil {
			return false
		}
		out = nil
		for _, d := range ch.OwnCI.Doubts {
			out = append(out, d.Step+": "+d.Why)
		}
		return true
	})
	return strings.Join(out, "\n")
}

// A change whose head is proven lands with no build, also where main has moved since
// in what it does not read; and what makes runs differ is said and believed.
func TestHeadsThatAreProven(t *testing.T) {
	t.Parallel()
	other := func(text string) func(map[string]string) {
		return func(files map[string]string) { files[".github/workflows/ci.yml"] = text }
	}
	const job = "jobs: {test: {runs-on: x, steps: ["
	for _, c := range []struct {
		name   string
		files  func(map[string]string) // of the repository, changed
		script func(forgetest.CIPush) []forgetest.CIJob
		moved  string // a file of main that others change after the branch was made
		run    *forgetest.CIRun
		builds int
		says   string
	}{
		{name: "proven"},
		{name: "main has moved elsewhere", moved: "c/y"},
		{name: "main has moved in what it reads", moved: "a/y", builds: 1},
		{name: "main has another workflow since", moved: ".github/workflows/new.yml", builds: 1, says: "the workflows there are not those of the branch"},
		{name: "no run", script: judged, builds: 1, says: "unit: its checks were not run on a push of the head"},
		{name: "a run of the merge", script: judged, run: &forgetest.CIRun{Event: "pull_request"}, builds: 1, says: "for the pull request only, on a merge that the workflow does not name"},
		{name: "by Dependabot", script: judged, run: &forgetest.CIRun{Actor: "dependabot[bot]"}, builds: 1, says: "Dependabot"},
		{name: "a workflow from elsewhere", script: judged, run: &forgetest.CIRun{Path: ".github/workflows/other.yml"}, builds: 1, says: "other.yml is not in the head's tree"},
		{name: "a filter on paths", files: other("on: {push: {branches: ['**'], paths: ['b/**']}}\n" + job + "]}}\n"), builds: 1, says: "a filter on paths"},
		{name: "not for builds", files: other("on: {push: {branches: ['topic']}}\n" + job + "]}}\n"), builds: 1, says: "does not run for builds"},
		{name: "a cache", files: other("on: push\n" + job + "{uses: actions/cache@v4, with: {path: out, key: x}}]}}\n"), builds: 1, says: "actions/cache@v4"},
		{name: "secrets of an environment", files: other("on: push\njobs: {test: {runs-on: x, environment: stage, steps: []}}\n"), builds: 1, says: "an environment"},
		{name: "by the branch", files: other("on: push\n" + job + "{if: \"github.ref == 'refs/heads/main'\", run: make test}]}}\n"), builds: 1, says: "it goes by github.ref"},
		{name: "what has changed", files: other("on: push\n" + job + "{run: npx nx affected -t test}]}}\n"), builds: 1, says: "nx affected"},
		{name: "two of a name", files: func(f map[string]string) { f[".github/workflows/dummy.yml"] = plainWorkflow }, builds: 1, says: "dummy.yml reports the same check"},
		{name: "not of the tree", files: func(f map[string]string) {
			f[".submitqueue.yml"] = strings.Replace(f[".submitqueue.yml"], "covers: tree, ", "", 1)
		}, builds: 1, says: "unit: it does not say covers: tree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			files := withWorkflow(byAreas(), plainWorkflow)
			if c.files != nil {
				c.files(files)
			}
			script := onEach
			if c.script != nil {
				script = c.script
			}
			h := newCIHub(t, files, script)
			h.proven()
			n := h.pull("topic", map[string]string{"b/new": "a\n"})
			if c.run != nil {
				run := *c.run
				run.Branch = "topic"
				h.CI.StartRun(run, forgetest.CIJob{Name: "test", Conclusion: "success"})
			}
			if c.moved != "" {
				h.push("ada", "main", map[string]string{c.moved: "b\n"})
				h.proven()
			}
			h.Comment("ann", n, "/land")
			var said []string
			if c.builds == 0 {
				said = append(said, "by the CI of pull requests on their own heads, and in no build of the queue")
			}
			h.landed(n, said...)
			h.clean()
			if got := h.buildsWith("b/new"); got != c.builds {
				t.Errorf("built %d times, want %d", got, c.builds)
			}
			if why := h.doubts(n); c.says == "" && why != "" || !strings.Contains(why, c.says) {
				t.Errorf("it says %q, want %q", why, c.says)
			}
		})
	}
}

// A run of a pull request tests a merge that GitHub has made. It counts where the workflow
// says which, and nobody else can have said so.
func TestHeadsThatAreProvenByTheirMerge(t *testing.T) {
	t.Parallel()
	const says = `run-name: "CI of ${{ github.sha }}"` + "\non: {push: {branches: ['submitqueue/**']}, pull_request: {}}\njobs: {test: {runs-on: x, steps: [{run: make test}]}}\n"
	without, _ := strings.CutPrefix(says, strings.SplitAfter(says, "\n")[0])
	for _, c := range []struct {
		name   string
		flow   string // of the workflow; "": says
		moved  string // a file of main that others change after the run
		brings string // a file that the change has besides
		spoil  func(h *hub, run *forgetest.CIRun, number int)
		builds int
		says   string
	}{
		{name: "proven"},
		{name: "main has moved elsewhere", moved: "c/y"},
		{name: "main has moved in what it reads", moved: "a/y", builds: 1},
		{name: "the workflow does not say", flow: without, builds: 1, says: "its title does not say for sure"},
		{name: "other words may be in it", flow: strings.Replace(says, "CI of", "${{ github.event.pull_request.title }} CI of", 1), builds: 1, says: "its title does not say for sure"},
		{name: "another title", spoil: func(_ *hub, run *forgetest.CIRun, _ int) { run.Title = "merge of " + run.Title }, builds: 1, says: "its title does not say for sure"},
		{name: "no commit", spoil: func(_ *hub, run *forgetest.CIRun, _ int) { run.Title = "CI" }, builds: 1, says: "for the pull request only, on a merge that the workflow does not name"},
		{name: "of a fork's branch", spoil: func(_ *hub, run *forgetest.CIRun, _ int) { run.Fork = true }, builds: 1, says: "its checks were not run on a push of the head"},
		{name: "main itself", spoil: func(h *hub, run *forgetest.CIRun, _ int) { run.Title = "CI of " + string(h.Head("main")) }, builds: 1, says: "is no merge of the head"},
		{name: "a commit of nobody", spoil: func(_ *hub, run *forgetest.CIRun, _ int) { run.Title = "CI of " + strings.Repeat("1", 40) }, builds: 1, says: "is not there any more"},
		{name: "workflows of its own", brings: ".github/workflows/more.yml", builds: 1, says: "the same workflows"},
		{name: "a filter on paths", flow: strings.Replace(says, "pull_request: {}", "pull_request: {paths: [x]}", 1), builds: 1, says: "a filter on paths"},
		{name: "failed", spoil: func(_ *hub, run *forgetest.CIRun, _ int) { run.Conclusion = "failure" }, builds: 1, says: "ended there as failure"},
	} {
		t.Run(c.name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newCIHub(t, withWorkflow(byAreas(), cmp.Or(c.flow, says)), judged)
			h.proven()
			files := map[string]string{"b/new": "a\n"}
			if c.brings != "" {
				files[c.brings] = "on: workflow_dispatch\njobs: {}\n"
			}
			n := h.pull("topic", files)
			run := forgetest.CIRun{Branch: "topic", Event: "pull_request", Conclusion: "success", Title: "CI of " + h.MergeRef(n)}
			if c.spoil != nil {
				c.spoil(h, &run, n)
			}
			h.CI.StartRun(run, forgetest.CIJob{Name: "test", Conclusion: run.Conclusion})
			if c.moved != "" {
				h.push("ada", "main", map[string]string{c.moved: "b\n"})
				h.proven()
			}
			h.Comment("ann", n, "/land")
			if c.brings != "" {
				h.Comment("ada", n, "/land") // an administrator
			}
			h.landed(n)
			h.clean()
			if got := h.buildsWith("b/new"); got != c.builds {
				t.Errorf("built %d times, want %d", got, c.builds)
			}
			if why := h.doubts(n); c.says == "" && why != "" || !strings.Contains(why, c.says) {
				t.Errorf("it says %q, want %q", why, c.says)
			}
		})
	}
}

// A head whose CI fails is built all the same: only builds reject. A forge that cannot
// be asked holds nothing up for long.
func TestHeadsThatAreNot(t *testing.T) {
	h := newCIHub(t, withWorkflow(byAreas(), plainWorkflow), func(p forgetest.CIPush) []forgetest.CIJob {
		if p.Branch == "flaky" {
			return []forgetest.CIJob{{Name: "test", Conclusion: "failure"}}
		}
		return onEach(p)
	})
	h.proven()
	n := h.pull("flaky", map[string]string{"b/new": "a\n"})
	h.Comment("ann", n, "/land")
	h.landed(n)
	if why := h.doubts(n); h.buildsWith("b/new") != 1 || !strings.Contains(why, `the check "test" ended there as failure`) {
		t.Errorf("%d builds: %s", h.buildsWith("b/new"), why)
	}
	n = h.pull("topic", map[string]string{"bad": "bad\n"})
	h.Comment("ann", n, "/land")
	h.rejected(n, "failed in `unit`")
}

// What runs on the head still when it is asked to land counts when it has ended.
func TestHeadsThatAreProvenLate(t *testing.T) {
	h := newCIHub(t, withWorkflow(byAreas(), plainWorkflow), func(p forgetest.CIPush) []forgetest.CIJob {
		if p.Has("b/new") { // on the head, and in the build: neither ends by itself
			return []forgetest.CIJob{{Name: "test"}}
		}
		return onEach(p)
	})
	h.proven()
	n := h.pull("topic", map[string]string{"b/new": "a\n"})
	h.Comment("ann", n, "/land")
	h.underWay("b/new")
	h.CI.FinishCI("topic", "test", "success")
	h.landed(n)
	h.clean()
	h.until("its head has counted", func(c *speculation.Core) bool {
		ch := c.State().Changes[c.State().Pulls[n].Last]
		return ch != nil && ch.OwnCI != nil && ch.OwnCI.Keys == 1
	})
}

// TestTheFloor is the figure: an independent change whose head is proven lands within a
// minute of /land, and the queue builds nothing for it; 50 of 50, one after the other and
// many at once.
func TestTheFloor(t *testing.T) {
	storetest.OneOf(t, 3)
	const changes = 50
	files := withWorkflow(map[string]string{}, plainWorkflow)
	var areas []string
	for i := range changes {
		files[fmt.Sprintf("p%d/x", i)] = "x\n"
		areas = append(areas, fmt.Sprintf("{name: p%d, files: ['p%d/**']}", i, i))
	}
	files[".submitqueue.yml"] = strings.Replace(byAreas()[".submitqueue.yml"], `[{name: a, files: ["a/**"]}, {name: b, files: ["b/**"], needs: [a]}, {name: c, files: ["c/**"]}]`, "["+strings.Join(areas, ", ")+"]", 1)
	h := newCIHub(t, files, onEach)
	h.proven()
	var numbers []int
	for i := range changes {
		numbers = append(numbers, h.pull(fmt.Sprintf("topic%d", i), map[string]string{fmt.Sprintf("p%d/new", i): "new\n"}))
	}
	var slowest time.Duration
	calls := func() (n int) {
		for _, path := range []string{"/repos/**", "/api/graphql"} {
			n += len(h.github.Requests("", path))
		}
		return n
	}
	landed, before := 0, calls()
	land := func(numbers ...int) {
		for _, n := range numbers {
			h.Comment("ann", n, "/land")
		}
		for _, n := range numbers {
			ch := h.settled(n)
			if ch.Phase == queue.Landed && ch.Builds == 0 {
				landed++
			}
			slowest = max(slowest, ch.Decided.Sub(ch.Arrival))
		}
	}
	for _, n := range numbers[:10] {
		land(n)
	}
	land(numbers[10:]...)
	for i, n := range numbers {
		h.says(n, "Landed", "in no build of the queue")
		if got := h.buildsWith(fmt.Sprintf("p%d/new", i)); got != 0 {
			t.Errorf("#%d was built %d times", n, got)
		}
	}
	t.Logf("%d of %d landed with 0 builds of the queue; the slowest %s after /land; %.1f calls of the forge's API for each", landed, changes, slowest.Round(time.Millisecond), float64(calls()-before)/changes)
	if landed != changes || slowest > time.Minute {
		t.Errorf("%d of %d landed with 0 builds, the slowest after %s", landed, changes, slowest)
	}
}
