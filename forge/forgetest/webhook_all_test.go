package forgetest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// The judge looks at each webhook that the server can send.
func TestEveryWebhookFits(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	h := newHook(t)
	r := mustRepository(t, s)
	for _, login := range []string{"ann", "bob"} {
		s.AddUser(login)
		r.SetPermission(login, "write")
	}
	s.SetWebhook(h.URL, "key")
	s.Ping()

	mustCommit(t, r, "ann", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "1"}})
	mustCommit(t, r, "ann", forgetest.Commit{Branch: "other", Files: map[string]string{"b": "1"}})
	n := mustPull(t, r, "ann", "topic")
	mustCommit(t, r, "ann", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "2"}})
	r.Retitle("ann", n, "Better")
	r.Retarget("ann", n, "other")
	r.Retarget("ann", n, "main")
	mustCommit(t, r, "ann", forgetest.Commit{Branch: "upper", From: r.Head("topic"), Files: map[string]string{"u": "1"}})
	upper, err := r.OpenPull("ann", "upper", "topic", "Upper")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Stack("ann", n, upper); err != nil {
		t.Fatal(err)
	}
	r.SetDraft("ann", n, true)
	r.SetDraft("ann", n, false)
	r.Label("ann", n, "x")
	r.Unlabel("ann", n, "x")
	r.EnableAutoMerge("ann", n)
	id := r.Comment("ann", n, "hi")
	r.EditComment("ann", id, "ho")
	r.DeleteComment("ann", id)
	for _, state := range []string{"COMMENTED", "CHANGES_REQUESTED", "APPROVED"} {
		id = r.Review("bob", n, state, "", "well")
	}
	r.EditReview("bob", n, id, "very well")
	r.DismissReview("ann", n, id)
	r.EditReviewComment("bob", r.ReviewComment("bob", n, "why?"), "oh")
	thread := r.StartThread("bob", n, "a")
	r.ResolveThread("bob", n, thread, true)
	r.ResolveThread("bob", n, thread, false)
	r.ClosePull("ann", n)
	r.Reopen("ann", n)

	fork, err := r.Fork("bob")
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, fork, "bob", forgetest.Commit{Branch: "gift", Files: map[string]string{"c": "1"}})
	gift := mustPull(t, r, "bob", "bob:gift")
	fork.DeleteRepository()
	r.Retitle("ann", gift, "Of somebody who is gone")

	head := r.Head("topic")
	r.CI.SetCheck("ci", head, "lint", "")
	r.CI.SetCheck("ci", head, "lint", "failure")
	r.CI.PostStatus(head, "build", "pending")
	r.CI.PostStatus(head, "manual", "success")
	c := installed(t, s, "null")
	c.want(201, "POST", "/repos/o/r/check-runs", `{"name":"q","head_sha":"`+head+`","actions":[{"label":"l","description":"d","identifier":"i"}]}`)
	r.CI.Press("ann", head, "q", "l")
	r.CI.Rerequest("ann", head, "q")
	r.CI.RerequestSuite("ann", n)
	r.CI.SetCI(t, func(p forgetest.CIPush) []forgetest.CIJob {
		return []forgetest.CIJob{{Name: "unit", Conclusion: "failure"}, {Name: "slow"}, {Name: "wait", Queued: true},
			{Name: "theirs", App: "other", Conclusion: "success"}, {Name: "old", Status: true, Conclusion: "error"}}
	})
	mustCommit(t, r, "ann", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "3"}})
	r.CI.FinishCI("topic", "slow", "success")
	r.CI.FinishCI("topic", "wait", "success")
	r.CI.SetCI(t, nil)

	if err := r.DeleteBranch("ann", "other"); err != nil {
		t.Fatal(err)
	}
	if err := r.RenameBranch("o", "main", "trunk"); err != nil {
		t.Fatal(err)
	}
	if err := r.Rename("o", "s"); err != nil {
		t.Fatal(err)
	}
	if err := r.Rename("o", "p/s"); err != nil {
		t.Fatal(err)
	}
	s.App.Install("p", "s", "t")
	if _, err := s.AddRepository("p", "t", "main"); err != nil {
		t.Fatal(err)
	}
	s.App.RemoveFromInstallation("p", "t")
	s.App.AddToInstallation("p", "t")
	s.App.Suspend("p", true)
	s.App.Suspend("p", false)
	s.App.Uninstall("p")

	h.take(t, s)
	var got []string
	for _, d := range s.Deliveries() {
		got = append(got, strings.TrimSpace(d.Event+" "+d.Action))
	}
	slices.Sort(got)
	const want = "check_run completed, check_run created, check_run requested_action, check_run rerequested, " +
		"check_suite completed, check_suite rerequested, installation created, installation deleted, installation suspend, " +
		"installation unsuspend, installation_repositories added, installation_repositories removed, " +
		"issue_comment created, issue_comment deleted, issue_comment edited, ping, pull_request auto_merge_enabled, " +
		"pull_request closed, pull_request converted_to_draft, pull_request edited, pull_request labeled, pull_request opened, " +
		"pull_request ready_for_review, pull_request reopened, pull_request stacked, pull_request synchronize, pull_request unlabeled, " +
		"pull_request_review dismissed, pull_request_review edited, pull_request_review submitted, " +
		"pull_request_review_comment created, pull_request_review_comment edited, " +
		"pull_request_review_thread resolved, pull_request_review_thread unresolved, push, " +
		"repository edited, repository renamed, repository transferred, status, workflow_run completed, workflow_run requested"
	if got := strings.Join(slices.Compact(got), ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
