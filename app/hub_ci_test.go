package app_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// byCI is a repository whose one step is a check of the forge's CI, with more
// lines for the step.
func byCI(more ...string) map[string]string {
	return map[string]string{".submitqueue.yml": "version: 1\nsteps:\n  - name: unit\n    checks: [test]\n    timeout: 1m\n" +
		strings.Join(append([]string{""}, more...), "    ")}
}

// quick are options of a CI in tests: news come by webhooks, refs go soon.
func quick() *forgeci.Options {
	return &forgeci.Options{Name: "GitHub", Linger: 20 * time.Millisecond, Grace: 200 * time.Millisecond}
}

// judged is a CI with one workflow on submitqueue/**, whose job test fails where
// there is a file called bad.
func judged(p forgetest.CIPush) []forgetest.CIJob {
	if !strings.HasPrefix(p.Branch, "submitqueue/") {
		return nil
	}
	job := forgetest.CIJob{Name: "test", Conclusion: "success"}
	if p.Has("bad") {
		job.Conclusion = "failure"
		job.Log = "2026-11-22T10:00:00.0000000Z there is a bad file\n2026-11-22T10:00:00.0000000Z ##[error]Process completed with exit code 1.\n2026-11-22T10:00:00.0000000Z Cleaning up\n"
	}
	return []forgetest.CIJob{job}
}

// refs lists the queue's own branches. They are files: the simulated GitHub packs none.
func (h *hub) refs() (names []string) {
	h.Helper()
	for _, prefix := range []string{"submitqueue", "submitqueue-targets"} {
		err := filepath.WalkDir(filepath.Join(h.Dir(), "refs/heads", prefix), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // deleted meanwhile
			}
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".lock") {
				names = append(names, strings.TrimPrefix(path, h.Dir()+"/"))
			}
			return err
		})
		mustNot(h.T, err)
	}
	return names
}

// clean waits until no branch of the queue is left.
func (h *hub) clean() {
	h.Helper()
	h.eventually("the queue's refs are deleted", func() bool { return len(h.refs()) == 0 })
}

// eventually waits for something at the forge.
func (h *hub) eventually(what string, ok func() bool) {
	h.Helper()
	limit := time.After(patience)
	for {
		changed := h.github.Changed()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-limit:
			h.Fatalf("waited in vain until %s; refs %v, runs %+v\n%s", what, h.refs(), h.CI.CIRuns(), h.describe())
		}
	}
}

// building waits until a build of a commit with a file is on its ref.
func (h *hub) building(file string) (branch string) {
	h.Helper()
	without := map[string]bool{} // the commit of a build's ref stays the same
	h.eventually("a build with "+file+" is on its ref", func() bool {
		for _, r := range h.refs() {
			b := strings.TrimPrefix(r, "refs/heads/")
			if without[b] {
				continue
			}
			without[b] = true
			if _, err := runIn(h.Dir(), "git", "cat-file", "-e", b+":"+file); err == nil {
				branch = b
			}
		}
		return branch != ""
	})
	return branch
}

// underWay is building, and something runs there.
func (h *hub) underWay(file string) (branch string) {
	h.Helper()
	branch = h.building(file)
	h.eventually("the CI runs on it", func() bool {
		return slices.ContainsFunc(h.CI.CIRuns(), func(r forgetest.CIRun) bool { return r.Branch == branch && r.Status == "in_progress" })
	})
	return branch
}

func newCIHub(t *testing.T, files map[string]string, script func(forgetest.CIPush) []forgetest.CIJob) *hub {
	t.Helper()
	h := newHub(t, hubOptions{files: files, ci: quick(), unattended: true})
	h.CI.SetCI(t, script)
	h.stop()
	h.start(hubOptions{ci: quick()})
	return h
}

func TestCIPasses(t *testing.T) {
	h := newCIHub(t, byCI(), judged)
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n, "this very commit was tested")
	h.clean()
}

func TestCIFails(t *testing.T) {
	h := newCIHub(t, byCI(), judged)
	n := h.land("topic", map[string]string{"bad": "bad\n"})
	h.rejected(n, "failed in `unit`", "checks: test", "check test: failure", "there is a bad file\nProcess completed", "See [`test`]", "/runs/")
	h.clean()
}

// A check that does not appear is named, with what to do; the change comes back.
func TestCINeverAppears(t *testing.T) {
	late := make(chan struct{})
	h := newCIHub(t, byCI("appear: 1s\n", "covers: tree\n"), func(p forgetest.CIPush) []forgetest.CIJob {
		select {
		case <-late:
		default:
			if p.Has("a") {
				return []forgetest.CIJob{{Name: "build", Conclusion: "success"}}
			}
		}
		return judged(p)
	})
	n := h.land("topic", map[string]string{"a": "a\n"})
	said := h.says(n, "🅿️ Parked: a check did not appear", "the check `test` did not appear on submitqueue/main/", "within 1 second",
		"the workflow needs `on: push: branches: ['submitqueue/**']`", "there were: build")
	if strings.Count(said, "did not appear on") != 1 {
		t.Errorf("said more than once:\n%s", said)
	}
	h.check(n, "queued")
	h.clean()
	close(late)
	h.Comment("ann", n, "/land retry")
	h.landed(n)
}

// What is queued late at the CI appears before the deadline, and passes.
func TestCIRunsLate(t *testing.T) {
	h := newCIHub(t, byCI(), func(p forgetest.CIPush) []forgetest.CIJob {
		if p.Has("a") {
			return nil
		}
		return judged(p)
	})
	n := h.land("topic", map[string]string{"a": "a\n"})
	branch := h.building("a")
	h.CI.StartCI(branch, forgetest.CIJob{Name: "Test", Queued: true}) // in other letters
	h.CI.FinishCI(branch, "Test", "success")
	h.landed(n)
	h.clean()
}

// Skipped and cancelled checks are no result: such a build is an infrastructure
// error, and after some of them the change is parked, not rejected.
func TestCIWithoutResultIsNoVerdict(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"skipped", "neutral", "cancelled", "stale", "action_required"} {
		t.Run(word, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newCIHub(t, byCI(), func(p forgetest.CIPush) []forgetest.CIJob {
				list := judged(p)
				if len(list) > 0 && p.Has("a") {
					list[0].Conclusion = word
				}
				return list
			})
			n := h.land("topic", map[string]string{"a": "a\n"})
			h.says(n, "🅿️ Parked: infrastructure errors", "ended as "+word+", which is no result")
			h.clean()
		})
	}
}

// A sibling of a failed job is cancelled, and that is heard of first.
func TestCIFailureAfterCancelledSibling(t *testing.T) {
	h := newCIHub(t, byCI(), judged)
	h.proven()
	h.push("ada", "main", map[string]string{".submitqueue.yml": strings.Replace(byCI()[".submitqueue.yml"], "[test]", "[test, other]", 1)})
	h.CI.SetCI(t, func(p forgetest.CIPush) []forgetest.CIJob {
		list := judged(p)
		if len(list) == 0 {
			return nil
		}
		list = append(list, forgetest.CIJob{Name: "other", Conclusion: "success"})
		if p.Has("a") {
			list[0].Conclusion, list[1].Conclusion = "cancelled", ""
		}
		return list
	})
	n := h.land("topic", map[string]string{"a": "a\n"})
	var branch string
	h.eventually("the cancelled sibling is there", func() bool {
		for _, r := range h.CI.CIRuns() {
			if r.Status == "in_progress" {
				branch = r.Branch
			}
		}
		return branch != ""
	})
	h.CI.FinishCI(branch, "other", "failure")
	h.rejected(n, "check other: failure")
	h.clean()
}

// A push to the pull request takes the change out: what runs for it is cancelled
// at the CI, and the ref goes only then.
func TestCISupersededIsCancelled(t *testing.T) {
	h := newCIHub(t, byCI(), func(p forgetest.CIPush) []forgetest.CIJob {
		list := judged(p)
		if len(list) > 0 && p.Has("a") {
			list[0].Conclusion = ""
		}
		return list
	})
	n := h.land("topic", map[string]string{"a": "a\n"})
	branch := h.underWay("a")
	h.push("ann", "topic", map[string]string{"b": "b\n"})
	h.says(n, "pushed")
	h.clean()
	for _, r := range h.CI.CIRuns() {
		if r.Branch == branch && r.Conclusion != "cancelled" {
			t.Errorf("%+v is not cancelled", r)
		}
	}
}

// The server dies while builds run. The next one goes on with the one that is
// still wanted, from what was reported meanwhile, and removes what nobody waits
// for.
func TestCICrashAndSweep(t *testing.T) {
	h := newCIHub(t, byCI(), func(p forgetest.CIPush) []forgetest.CIJob {
		list := judged(p)
		if len(list) > 0 && p.Has("a") {
			list[0].Conclusion = ""
		}
		return list
	})
	n := h.land("topic", map[string]string{"a": "a\n"})
	branch := h.underWay("a")
	h.until("the server has heard of its start", func(c *speculation.Core) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(c.State().Builds)), func(b *queue.Build) bool { return b.Started != 0 })
	})
	h.says(n, "**Builds under way**")
	h.stop()
	// Of a build that nobody knows any more, with something that runs on it.
	must(h.Commit("submitqueue[bot]", forgetest.Commit{Branch: "submitqueue/main/0123456789abcdef", From: "main", Files: map[string]string{"a": "old\n"}}))
	must(h.Commit("ann", forgetest.Commit{Branch: "submitqueue/main/mine", From: "main", Files: map[string]string{"mine": "mine\n"}}))
	h.CI.FinishCI(branch, "test", "success") // nobody hears it
	h.start(hubOptions{ci: quick()})
	h.landed(n)
	h.eventually("what was left behind is swept", func() bool { return slices.Equal(h.refs(), []string{"refs/heads/submitqueue/main/mine"}) })
	pushes := 0
	for _, r := range h.CI.CIRuns() {
		if r.Branch == branch {
			pushes++
		}
		if strings.HasSuffix(r.Branch, "0123456789abcdef") && r.Conclusion != "cancelled" {
			t.Errorf("%+v is not cancelled", r)
		}
	}
	if pushes != 1 {
		t.Errorf("the build ran %d times", pushes)
	}
}

// Two builds on one commit: what the first has heard is not taken for the
// second, neither a workflow's checks nor another CI's statuses.
func TestCITwoBuildsOnOneCommit(t *testing.T) {
	config := strings.Replace(byCI()[".submitqueue.yml"], "[test]", "[test, audit]", 1)
	var heads []string // of the change's builds
	h := newCIHub(t, map[string]string{".submitqueue.yml": config}, func(p forgetest.CIPush) []forgetest.CIJob {
		list := judged(p)
		if len(list) == 0 {
			return nil
		}
		list = append(list, forgetest.CIJob{Name: "audit", Status: true, Conclusion: "success"})
		if !p.Has("a") {
			return list
		}
		heads = append(heads, p.Head)
		if len(heads) == 1 { // the status passes, the check is no result: built again
			list[0].Conclusion = "cancelled"
			return list
		}
		return list[:1] // the status is the first build's alone
	})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.eventually("there is a second build", func() bool { return len(h.CI.CIRuns()) >= 3 })
	h.seen()
	if ch := h.change(n); ch.Phase.Final() {
		t.Fatalf("decided by the status of another build: %+v", ch)
	}
	if len(heads) != 2 || heads[0] != heads[1] {
		t.Fatalf("heads %v", heads)
	}
	h.CI.PostStatus(heads[1], "Audit", "success")
	h.landed(n)
}

// Yesterday's checks of the same commit say nothing today.
func TestCIYesterdaysCheck(t *testing.T) {
	old := false
	h := newCIHub(t, byCI(), func(p forgetest.CIPush) []forgetest.CIJob {
		list := judged(p)
		if len(list) > 0 && p.Has("a") && !old {
			old = true
			list[0].Conclusion = "failure"
		} else if len(list) > 0 && p.Has("a") {
			return nil
		}
		return list
	})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.rejected(n)
	h.clean()
	h.Comment("ann", n, "/land retry")
	branch := h.building("a")
	h.seen()
	if ch := h.change(n); ch.Phase.Final() && ch.Phase != queue.Rejected {
		t.Fatalf("%+v", ch)
	}
	h.CI.StartCI(branch, forgetest.CIJob{Name: "test", Conclusion: "success"})
	h.landed(n)
}

// With `rerun` failed jobs get a second run before they have failed; a pass then
// is marked.
func TestCIRerun(t *testing.T) {
	t.Parallel()
	script := func(again string) func(forgetest.CIPush) []forgetest.CIJob {
		return func(p forgetest.CIPush) []forgetest.CIJob {
			list := judged(p)
			if len(list) > 0 && p.Has("a") {
				list[0].Conclusion, list[0].Again = "failure", again
				list = append(list, forgetest.CIJob{Name: "other", Conclusion: "success"})
			}
			return list
		}
	}
	t.Run("passes", func(t *testing.T) {
		h := newCIHub(t, byCI("rerun: 1\n"), script("success"))
		n := h.land("topic", map[string]string{"a": "a\n"})
		h.landed(n, "passed only on attempt 2: it may be flaky")
		h.clean()
	})
	t.Run("fails again", func(t *testing.T) {
		h := newCIHub(t, byCI("rerun: 1\n"), script("failure"))
		n := h.land("topic", map[string]string{"a": "a\n"})
		h.rejected(n, "check test: failure")
		for _, r := range h.CI.CIRuns() {
			if r.Conclusion == "failure" && r.Attempt != 2 {
				t.Errorf("%+v", r)
			}
		}
		h.clean()
	})
	t.Run("may not", func(t *testing.T) {
		h := newCIHub(t, byCI("rerun: 1\n"), script("success"))
		h.github.Fail(forgetest.Fault{Method: "POST", Path: "/repos/acme/shop/actions/runs/*/rerun-failed-jobs", Status: 403, Times: 9, Message: "no"})
		n := h.land("topic", map[string]string{"a": "a\n"})
		h.rejected(n, "check test: failure")
	})
}

// A build may have steps on runners and steps at the CI.
func TestCIBesideRunners(t *testing.T) {
	files := byCI()
	files[".submitqueue.yml"] += "  - name: shell\n    run: sh ./test.sh\n"
	files["test.sh"] = "test ! -e bad || { echo the shell saw it; exit 1; }\n"
	h := newCIHub(t, files, func(p forgetest.CIPush) []forgetest.CIJob {
		list := judged(p)
		if len(list) > 0 && p.Has("ci-bad") {
			list[0].Conclusion = "failure"
		}
		return list
	})
	h.landed(h.land("good", map[string]string{"a": "a\n"}))
	h.rejected(h.land("shell", map[string]string{"bad": "bad\n"}), "the shell saw it")
	h.rejected(h.land("ci", map[string]string{"ci-bad": "bad\n"}), "check test: failure")
	h.clean()
}

// Commit statuses, and check runs of another App than Actions.
func TestCIOfOthers(t *testing.T) {
	h := newCIHub(t, byCI(), func(p forgetest.CIPush) []forgetest.CIJob {
		if !strings.HasPrefix(p.Branch, "submitqueue/") {
			return nil
		}
		job := forgetest.CIJob{Name: "test", Conclusion: "success", Status: true}
		if p.Has("app") {
			job.Status, job.App = false, "circle"
		}
		if p.Has("bad") {
			job.Conclusion = "failure"
		}
		if p.Has("broken") {
			job.Conclusion = "error"
		}
		return []forgetest.CIJob{job}
	})
	h.landed(h.land("status", map[string]string{"a": "a\n"}))
	h.rejected(h.land("bad-status", map[string]string{"bad": "bad\n"}), "check test: failure")
	h.says(h.land("broken", map[string]string{"broken": "1\n"}), "🅿️ Parked", "ended as error")
	h.landed(h.land("app", map[string]string{"app": "app\n"}))
	h.rejected(h.land("bad-app", map[string]string{"bad": "bad\n"}), "check test: failure")
	h.clean()
}

// No webhook comes: what the CI says is read.
func TestCIIsPolledWhenSilent(t *testing.T) {
	h := newHub(t, hubOptions{files: byCI(), ci: quick(), unattended: true})
	h.CI.SetCI(t, func(p forgetest.CIPush) []forgetest.CIJob {
		list := judged(p)
		if len(list) > 0 && p.Has("a") {
			list[0].Conclusion = ""
		}
		return list
	})
	h.stop()
	ci := quick()
	ci.Poll = 50 * time.Millisecond
	h.start(hubOptions{ci: ci})
	n := h.land("topic", map[string]string{"a": "a\n"})
	branch := h.underWay("a")
	h.seen()
	h.github.HoldWebhooks()
	h.CI.FinishCI(branch, "test", "success")
	h.eventually("it is on main", func() bool { return h.Pull(n).Merged })
	h.clean()
	h.github.ReleaseWebhooks()
	h.landed(n)
}

// No ref with a change's content is there before it may enter: the
// workflow of that commit would run with the repository's secrets.
func TestCINothingIsPushedBeforeTheChangeMayEnter(t *testing.T) {
	h := newCIHub(t, byCI(), judged)
	h.proven()
	h.clean()
	before := len(h.CI.CIRuns())
	must(h.Fork("eve"))
	fork := h.github.Repository("eve", "shop")
	must(fork.Commit("eve", forgetest.Commit{Branch: "gift", Files: map[string]string{".github/workflows/ci.yml": "steal\n"}}))
	gift := must(h.OpenPull("eve", "eve:gift", "main", "A gift"))
	h.Comment("eve", gift, "/land")
	h.says(gift, "Sorry, `eve`", "`write`")
	n := h.land("workflow", map[string]string{".github/workflows/ci.yml": "steal\n"})
	h.says(n, "approv")
	h.seen()
	if refs := h.refs(); len(refs) > 0 || len(h.CI.CIRuns()) != before {
		t.Fatalf("pushed before it may enter: %v, %+v", refs, h.CI.CIRuns())
	}
	h.Comment("ada", n, "/land")
	h.landed(n)
	h.clean()
}

// What a build is asked for is in a file on a ref beside its own, and the commit
// is the one that lands.
func TestCITargetsAreOnASideRef(t *testing.T) {
	var asked []string
	h := newCIHub(t, areasByCI(), nil)
	h.CI.SetCI(t, func(p forgetest.CIPush) []forgetest.CIJob {
		if side, ok := strings.CutPrefix(p.Branch, "submitqueue/"); ok && p.Has("api/a") {
			asked = append(asked, git(t, h.Dir(), "show", "submitqueue-targets/"+side+":targets.json"))
		}
		return judged(p)
	})
	h.proven()
	h.landed(h.land("topic", map[string]string{"api/a": "a\n"}))
	var file struct {
		Commit string
		Steps  map[string][]string
	}
	if len(asked) != 1 {
		t.Fatalf("asked for %q", asked)
	}
	mustNot(t, json.Unmarshal([]byte(asked[0]), &file))
	if !slices.Equal(file.Steps["unit"], []string{"api"}) || file.Commit != h.Head("main") {
		t.Errorf("%+v, main is %s", file, h.Head("main"))
	}
	h.clean()
}

func areasByCI() map[string]string {
	files := areas()
	files[".submitqueue.yml"] = `version: 1
analysis:
  analyzer: paths
  areas:
    - {name: api, files: ["api/**"]}
    - {name: web, files: ["web/**"]}
steps:
  - name: unit
    checks: [test]
    scope: targets
    timeout: 1m
`
	return files
}

// In the steady state CI costs one look before a pass: at the runs on the build's ref,
// and at what is reported on its commit. The webhooks say all else; where they dawdle it
// is a second look.
func TestCICostsOneLook(t *testing.T) {
	h := newCIHub(t, byCI(), judged)
	h.landed(h.land("one", map[string]string{"a": "a\n"}))
	h.clean()
	count := func() (n int) {
		for _, path := range []string{"/repos/acme/shop/commits/*/check-runs", "/repos/acme/shop/commits/*/check-suites", "/repos/acme/shop/commits/*/status", "/repos/acme/shop/actions/**"} {
			n += len(h.github.Requests("", path))
		}
		return n
	}
	before := count()
	h.landed(h.land("two", map[string]string{"b": "b\n"}))
	h.clean()
	// A look takes four requests: for runs, check runs, suites and statuses. Looking for
	// our own check run before it is made is not about CI.
	if n := count() - before; n > 2*4+1 {
		t.Errorf("%d requests about checks for a landed change", n)
	}
}

// Where a step says so, a pass of a push's workflow on the pull request's own
// head counts, if the head's tree is the one to be verified.
func TestCIEarlierPasses(t *testing.T) {
	t.Parallel()
	everywhere := func(p forgetest.CIPush) []forgetest.CIJob {
		if p.Branch == "main" || strings.HasPrefix(p.Branch, "submitqueue-targets/") {
			return nil
		}
		return judged(p.On("submitqueue/x"))
	}
	for _, c := range []struct {
		name, line string
		moved      bool
		want       int
	}{{"counts", "earlier: count\n", false, 0}, {"not asked for", "", false, 1}, {"main has moved", "earlier: count\n", true, 1}} {
		t.Run(c.name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newCIHub(t, withWorkflow(byCI(c.line), plainWorkflow), everywhere)
			h.proven()
			n := h.pull("topic", map[string]string{"a": "a\n"})
			if c.moved {
				h.push("ada", "main", map[string]string{"b": "b\n"})
				h.proven()
			}
			h.Comment("ann", n, "/land")
			h.landed(n)
			h.clean()
			if got := h.buildsWith("a"); got != c.want {
				t.Errorf("built %d times, want %d", got, c.want)
			}
		})
	}
}

// Passes of a target are forgotten that the head of a change has had from its own
// workflow: nothing is asked of that workflow's results any more, and it is built once.
func TestCIEarlierPassesThatAreForgotten(t *testing.T) {
	h := newCIHub(t, withWorkflow(byCI("earlier: count\n"), plainWorkflow), func(p forgetest.CIPush) []forgetest.CIJob {
		if p.Branch == "main" || strings.HasPrefix(p.Branch, "submitqueue-targets/") {
			return nil
		}
		return judged(p.On("submitqueue/x"))
	})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("ada", n, "/queue forget step=unit")
	h.until("it is forgotten", func(c *speculation.Core) bool { return len(c.State().Main.Forgotten) == 1 })
	h.proven()
	h.Comment("ann", n, "/land")
	if ch := h.settled(n); ch.Phase != queue.Landed || ch.Builds != 1 {
		t.Errorf("%s after %d builds: %+v", ch.Phase, ch.Builds, ch.Reason)
	}
	h.says(n, "Landed")
	if !slices.ContainsFunc(h.CI.CIRuns(), func(r forgetest.CIRun) bool {
		return strings.HasPrefix(r.Branch, "submitqueue/") && h.Has(r.Head, "a")
	}) {
		t.Error("it landed by what had passed before that was forgotten")
	}
}

// Two workflows start for a build; both have a job "test", that of the second behind a
// job "setup". What the first one says is not taken for the whole truth.
func TestCITwoWorkflowsWithOneName(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"success", "failure"} {
		t.Run(want, func(t *testing.T) {
			h := newCIHub(t, byCI(), judged)
			h.proven()
			h.CI.SetCI(t, func(p forgetest.CIPush) []forgetest.CIJob {
				if !strings.HasPrefix(p.Branch, "submitqueue/") {
					return nil
				}
				return []forgetest.CIJob{{Name: "test"}}
			})
			n := h.land("topic", map[string]string{"a": "a\n"})
			branch := h.underWay("a")
			h.CI.StartCI(branch, forgetest.CIJob{Name: "setup"})
			h.CI.FinishCI(branch, "test", "success")
			h.seen()
			if ch := h.change(n); ch.Phase.Final() {
				t.Errorf("%s while the second workflow of the same build is in progress", ch.Phase)
			}
			h.CI.StartCI(branch, forgetest.CIJob{Name: "test"})
			h.CI.FinishCI(branch, "setup", "success")
			h.CI.FinishCI(branch, "test", want)
			phase := map[string]queue.Phase{"success": queue.Landed, "failure": queue.Rejected}[want]
			if ch := h.settled(n); ch.Phase != phase {
				t.Errorf("the second one ends as %s, and the change is %s: %+v", want, ch.Phase, ch.Reason)
			}
			h.says(n, map[string]string{"success": "✅ Landed", "failure": "❌ Rejected"}[want])
		})
	}
}
