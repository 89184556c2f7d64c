package github_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue"
)

// hook sends a signed webhook to a receiver.
func hook(t *testing.T, event string, body any) (forge.Delivery, error) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "the secret"
	return github.NewReceiver(secret).Receive(forgetest.WebhookHeader(event, "guid", secret, data), data)
}

type object = map[string]any

func TestCIResults(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.repo.CI.SetCI(t, func(p forgetest.CIPush) []forgetest.CIJob {
		if !strings.HasPrefix(p.Branch, "submitqueue/") {
			return nil
		}
		return []forgetest.CIJob{{Name: "test"}, {Name: "lint", Conclusion: "skipped"}, {Name: "other", App: "circle", Conclusion: "timed_out"},
			{Name: "audit", Status: true, Conclusion: "error"}}
	})
	head := w.commit("submitqueue/main/a", "main")
	if err := w.forge.Check(w.ctx, forge.Check{Name: "submitqueue", Head: queue.CommitID(head), ExternalID: "x", State: forge.CheckPassed}); err != nil {
		t.Fatal(err)
	}
	got, err := w.forge.Capabilities().CI.CIResults(w.ctx, queue.CommitID(head))
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(got.Now); d < -time.Minute || d > time.Minute {
		t.Errorf("the forge's clock says %s", got.Now)
	}
	found := map[string]forge.CIResult{}
	for _, r := range got.List {
		found[r.Name] = r
	}
	for name, want := range map[string]forge.CIResult{
		"test":  {State: forge.CIRunning, Word: "in_progress", Bound: true, Branch: "submitqueue/main/a"},
		"lint":  {State: forge.CINone, Word: "skipped", Bound: true, Branch: "submitqueue/main/a"},
		"other": {State: forge.CITimeout, Word: "timed_out"},
		"audit": {State: forge.CINone, Word: "error", Status: true},
	} {
		r := found[name]
		if r.State != want.State || r.Word != want.Word || r.Bound != want.Bound || r.Branch != want.Branch || r.Status != want.Status || r.At.IsZero() || r.Commit != queue.CommitID(head) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if len(found) != 4 {
		t.Errorf("%d results; what we report ourselves is none", len(found))
	}

	for statuses, want := range map[bool]int{false: 3, true: 4} {
		before := len(w.server.Requests("", "/**"))
		some, err := w.forge.Capabilities().CI.CIChecks(w.ctx, queue.CommitID(head), statuses)
		if asked := len(w.server.Requests("", "/**")) - before; err != nil || len(some.List) != want || some.Now.IsZero() || asked != want-2 {
			t.Errorf("with statuses %v: %d results by %d requests, %v", statuses, len(some.List), asked, err)
		}
	}

	// Nothing has changed: each answer is free.
	before := len(w.server.Requests("GET", "/repos/o/r/commits/**"))
	if _, err := w.forge.Capabilities().CI.CIResults(w.ctx, queue.CommitID(head)); err != nil {
		t.Fatal(err)
	}
	for _, r := range w.server.Requests("GET", "/repos/o/r/commits/**")[before:] {
		if r.Status != 304 {
			t.Errorf("%+v is not free", r)
		}
	}

	for i := range 120 {
		w.repo.CI.PostStatus(head, fmt.Sprint("status ", i), "success")
	}
	if got, err := w.forge.Capabilities().CI.CIResults(w.ctx, queue.CommitID(head)); err != nil || len(got.List) != 124 {
		t.Errorf("%d results, %v", len(got.List), err)
	}

	none, err := w.forge.Capabilities().CI.CIResults(w.ctx, queue.CommitID(strings.Repeat("1", 40)))
	if !errors.Is(err, forge.ErrNotFound) || none.Now.IsZero() {
		t.Errorf("a commit that is not known: %v, %+v", err, none)
	}
}

func TestCIRuns(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.repo.CI.SetCI(t, func(p forgetest.CIPush) []forgetest.CIJob {
		return []forgetest.CIJob{{Name: "test", Again: "success"}}
	})
	w.commit("a", "main")
	w.commit("b", "main")
	runs, err := w.forge.Capabilities().CI.CIRuns(w.ctx, "a")
	if err != nil || len(runs) != 1 || runs[0].Done || runs[0].Branch != "a" || runs[0].Attempt != 1 {
		t.Fatalf("%+v, %v", runs, err)
	}
	id := runs[0].ID
	if err := w.forge.Capabilities().CI.RerunFailed(w.ctx, id); !errors.Is(err, forge.ErrForbidden) {
		t.Errorf("running again what runs: %v", err)
	}
	for range 2 { // the second finds that it has ended
		if err := w.forge.Capabilities().CI.CancelRun(w.ctx, id); err != nil {
			t.Errorf("cancelling: %v", err)
		}
	}
	if err := w.forge.Capabilities().CI.CancelRun(w.ctx, 1); err != nil {
		t.Errorf("cancelling what is gone: %v", err)
	}
	if runs, _ := w.forge.Capabilities().CI.CIRuns(w.ctx, "a"); !runs[0].Done || runs[0].Word != "cancelled" {
		t.Errorf("%+v", runs)
	}
	if err := w.forge.Capabilities().CI.RerunFailed(w.ctx, id); err != nil {
		t.Errorf("running again: %v", err)
	}
	if runs, _ := w.forge.Capabilities().CI.CIRuns(w.ctx, "a"); !runs[0].Done || runs[0].Word != "success" || runs[0].Attempt != 2 {
		t.Errorf("%+v", runs)
	}
	for _, r := range w.repo.CI.CIRuns() {
		if r.Status != "completed" {
			w.repo.CI.FinishCI(r.Branch, "test", "success")
		}
	}
}

// A commit's runs say by which file, event and person they were started, on any branch
// and over several pages.
func TestCIRunsOfACommit(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.repo.CI.SetCI(t, func(p forgetest.CIPush) []forgetest.CIJob {
		return []forgetest.CIJob{{Name: "test", Conclusion: "success"}}
	})
	head := w.commit("a", "main")
	w.commit("b", "main")
	w.repo.CI.StartRun(forgetest.CIRun{Branch: "a", Event: "pull_request", Fork: true, Title: "CI of x", Path: ".github/workflows/pulls.yml@main", Actor: "dependabot[bot]"},
		forgetest.CIJob{Name: "test", Conclusion: "success"})
	for range 100 {
		w.repo.CI.StartRun(forgetest.CIRun{Branch: "a"}, forgetest.CIJob{Name: "test", Conclusion: "success"})
	}
	runs, err := w.forge.Capabilities().CI.CIRunsOf(w.ctx, queue.CommitID(head))
	if err != nil || len(runs) != 102 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	pull, push := runs[100], runs[101]
	if pull.Push || !pull.Pull || pull.Path != ".github/workflows/pulls.yml@main" || pull.Actor != "dependabot[bot]" || pull.Own || pull.Title != "CI of x" {
		t.Errorf("of the pull request: %+v", pull)
	}
	if !push.Push || push.Pull || push.Path != ".github/workflows/ci.yml" || push.Actor == "" || !push.Own || string(push.Commit) != head {
		t.Errorf("of the push: %+v", push)
	}
}

func TestCIWithoutPermission(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: map[string]string{"contents": "write", "checks": "write", "metadata": "read"}})
	head := w.commit("a", "main")
	if _, err := w.forge.Capabilities().CI.CIResults(w.ctx, queue.CommitID(head)); err != nil {
		t.Errorf("without statuses: %v", err)
	}
	if _, err := w.forge.Capabilities().CI.CIRuns(w.ctx, "a"); !errors.Is(err, forge.ErrForbidden) || !strings.Contains(err.Error(), "actions=read") {
		t.Errorf("without actions: %v", err)
	}
}

func TestCIWebhooks(t *testing.T) {
	repo := object{"full_name": "o/r"}
	sha := strings.Repeat("a", 40)
	check := func(action string, run object) object {
		return object{"action": action, "repository": repo, "check_run": run}
	}
	run := object{"id": 7, "name": "test", "head_sha": sha, "status": "completed", "conclusion": "failure", "started_at": "2026-11-22T10:00:00Z",
		"completed_at": "2026-11-22T10:01:00Z", "html_url": "https://h/7", "app": object{"id": 15368, "slug": "github-actions"},
		"check_suite": object{"id": 5, "head_branch": "submitqueue/main/a"}, "output": object{"title": "T", "summary": nil}}
	d, err := hook(t, "check_run", check("completed", run))
	if err != nil || len(d.Events) != 1 || d.Repository != "o/r" || len(d.CI.Results) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	want := forge.CIResult{ID: 7, Name: "test", Commit: queue.CommitID(sha), App: "github-actions", Suite: 5, Branch: "submitqueue/main/a", Bound: true, State: forge.CIFailed,
		Word: "failure", At: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Ended: time.Date(2026, 11, 22, 10, 1, 0, 0, time.UTC), URL: "https://h/7", Title: "T"}
	if d.CI.Results[0] != want {
		t.Errorf("%+v\nwant %+v", d.CI.Results[0], want)
	}
	d, err = hook(t, "status", object{"id": 3, "sha": sha, "context": "ci/x", "state": "pending", "repository": repo, "created_at": "2026-11-22T10:00:00+00:00"})
	if err != nil || len(d.CI.Results) != 1 || d.CI.Results[0].State != forge.CIRunning || !d.CI.Results[0].Status {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = hook(t, "workflow_run", object{"action": "completed", "repository": repo, "workflow_run": object{"id": 9, "check_suite_id": 5,
		"event": "pull_request_target", "head_branch": "submitqueue/main/a", "head_sha": sha, "status": "completed", "conclusion": "startup_failure", "run_attempt": 2,
		"run_started_at": "2026-11-22T10:02:00Z", "name": "CI"}})
	if err != nil || len(d.CI.Runs) != 1 || !d.CI.Runs[0].Began.Equal(want.Ended.Add(time.Minute)) || !d.CI.Runs[0].Pull || !d.CI.Runs[0].Done || d.CI.Runs[0].Word != "startup_failure" || d.CI.Runs[0].Attempt != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = hook(t, "check_suite", object{"action": "completed", "repository": repo, "check_suite": object{"head_branch": "b", "head_sha": sha}})
	if err != nil || len(d.CI.Look) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	for event, body := range map[string]object{
		"check_run":    check("rerequested", object{"id": 7, "head_sha": sha, "started_at": "yesterday"}),
		"check_suite":  {"action": "requested", "repository": repo, "check_suite": object{"head_branch": "b"}},
		"workflow_run": {"action": "completed", "repository": repo, "workflow_run": object{"id": 9, "head_branch": nil}},
	} {
		if _, err := hook(t, event, body); !errors.Is(err, forge.ErrIgnored) {
			t.Errorf("%s: %v", event, err)
		}
	}
	if _, err := hook(t, "status", object{"repository": repo}); !errors.Is(err, forge.ErrMalformed) {
		t.Errorf("a status of nothing: %v", err)
	}
}
