package gitlab_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/forge"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/queue"
)

const marker = "<!-- submitqueue -->"

// count counts the requests of a method to paths that end like this.
func (w *world) count(method, end string) (n int) {
	for _, r := range w.server.Requests() {
		if r.Method == method && strings.HasSuffix(r.Path, end) {
			n++
		}
	}
	return n
}

func transient(err error) *forge.Transient {
	t := (*forge.Transient)(nil)
	errors.As(err, &t)
	return t
}

// A write whose answer is lost may have been carried out: it is not sent again by itself,
// and the next attempt finds what the first one has left.
func TestLostAnswersAreNotRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	n := w.opened("topic")
	for _, f := range []fake.Fault{
		{Method: "POST", Path: "/notes", Status: 502},
		{Method: "POST", Path: "/notes", Status: 502, Done: true},
		{Method: "POST", Path: "/notes", Status: 429, Done: true, Body: "Retry later"},
	} {
		before := w.count("POST", "/notes")
		mark := fmt.Sprintf("<!-- %d %v -->", f.Status, f.Done)
		w.server.Fail(f)
		adapter := w.newForge()
		if err := adapter.Comment(t.Context(), n, mark, mark+"\nhello"); transient(err) == nil {
			t.Errorf("%+v: %v", f, err)
		}
		if got := w.count("POST", "/notes"); got != before+1 {
			t.Errorf("%+v: it is sent %d times", f, got-before)
		}
		if err := w.newForge().Comment(t.Context(), n, mark, mark+"\nhello"); err != nil {
			t.Error(err)
		}
		count := 0
		for _, note := range w.project.Notes(w.server.Bot(), n) {
			if strings.Contains(note.Body, mark) {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%+v: %d notes", f, count)
		}
	}
}

// While GitLab asks to wait, nothing is sent.
func TestThrottled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	n := w.opened("topic")
	w.server.Throttle(1, 700)
	_, err := w.forge.PullRequest(t.Context(), n)
	if e := transient(err); e == nil || e.After != 700*time.Second {
		t.Errorf("throttled: %v", err)
	}
	before := len(w.server.Requests())
	_, err = w.forge.PullRequest(t.Context(), n)
	if e := transient(err); e == nil || e.After < 600*time.Second || len(w.server.Requests()) != before {
		t.Errorf("asked meanwhile: %v, %d requests", err, len(w.server.Requests())-before)
	}
	if l := w.forge.Limits(); l.Refused != 1 || l.Limit != 2000 || l.Until.IsZero() || l.Why == "" {
		t.Errorf("limits: %+v", l)
	}
}

// Notes have a limit of their own. While GitLab takes no more of them, no note is sent, and
// all else is.
func TestNotesAreThrottledAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{NotesPerMinute: 3})
	n := w.opened("topic")
	mark := func(i int) string { return fmt.Sprintf("<!-- %d -->", i) }
	for i := range 3 {
		if err := w.forge.Comment(t.Context(), n, mark(i), "x"+mark(i)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := w.forge.Comment(t.Context(), n, mark(9), "x"+mark(9)); transient(err) == nil || transient(err).After < 50*time.Second {
			t.Errorf("one more: %v", err)
		}
	}
	if got := w.count("POST", "/notes"); got != 4 {
		t.Errorf("%d notes were sent", got)
	}
	if err := w.forge.Comment(t.Context(), n, mark(0), "edited "+mark(0)); err != nil {
		t.Errorf("an edit: %v", err)
	}
	if _, err := w.forge.PullRequest(t.Context(), n); err != nil {
		t.Errorf("a read: %v", err)
	}
}

// TestRefusalsThatPass has each refusal of the REST interface be taken for what it is.
func TestRefusalsThatPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	n := w.opened("topic")
	for _, c := range []struct {
		status  int
		body    string
		passing bool
		is      error
	}{
		{400, `{"message":{"base":["Too many pipelines created in the last minute. Try again later."]}}`, true, nil},
		{400, `{"message":{"base":["Reference not found"]}}`, true, nil},
		{400, `{"message":"This endpoint has been requested too many times. Try again later."}`, true, nil},
		{400, `{"message":{"base":["Pipeline filtered out by workflow rules."]}}`, false, nil},
		{400, `{"message":"400 Bad request"}`, false, nil},
		{401, `{"error":"invalid_token","error_description":"Token is expired."}`, false, forge.ErrForbidden},
		{403, `{"message":"403 Forbidden"}`, false, forge.ErrForbidden},
		{404, `{"message":"404 Not Found"}`, false, forge.ErrNotFound},
		{405, `{"message":"Non GET methods are not allowed for moved projects"}`, true, nil},
		{405, `{"message":"405 Method Not Allowed"}`, false, nil},
		{409, `{"message":"Another update to the head pipeline is in progress"}`, true, nil},
		{422, `{"message":"422 Branch cannot be merged"}`, false, nil},
		{500, `{"message":"500 Internal Server Error"}`, true, nil},
		{502, `<html>GitLab is not responding</html>`, true, nil},
		{503, ``, true, nil},
	} {
		w.server.Fail(fake.Fault{Method: "PUT", Status: c.status, Body: c.body})
		err := w.forge.Retarget(t.Context(), n, "other")
		if err == nil || (transient(err) != nil) != c.passing || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
		if err != nil && strings.Contains(err.Error(), w.server.BotToken()) {
			t.Errorf("the token is in an error: %v", err)
		}
	}
}

// Nothing that we write is executed with our rights.
func TestNothingIsExecutedAsTheBot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	n := w.opened("topic")
	line := rapid.SampledFrom([]string{"/close", "/merge", " /close", "\t/approve", "/title x", "```", "~~~~", "> /close", "<div>", "", "text", "/usr/bin/ld: not found", "\r/close", "```\r", "/close\r", marker, "`/close`", "x /close"})
	rapid.Check(t, func(rt *rapid.T) {
		body := strings.Join(rapid.SliceOfN(line, 1, 12).Draw(rt, "lines"), rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(rt, "break"))
		if err := w.forge.Comment(t.Context(), n, marker, body); err != nil {
			rt.Fatal(err)
		}
		w.project.Notes(w.server.Bot(), n)
		if got := w.server.BotActions(); len(got) != 0 || w.project.Look(n).State != "opened" {
			rt.Fatalf("executed as the bot: %q of %q", got, body)
		}
	})
	w.project.Push("ann", "revert", nil)
	if _, err := w.forge.Propose(t.Context(), forge.Proposal{Branch: "revert", Base: "main", Title: "Revert", Body: "why\n/merge\n/approve"}); err != nil {
		t.Error(err)
	}
	if got := w.server.BotActions(); len(got) != 0 {
		t.Errorf("executed as the bot: %q", got)
	}
	w.server.Strict(t)
}

func TestApprovalsOfThisHead(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]fake.Options{"free": {}, "premium": {Premium: true}, "without times": {Dateless: true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, o)
			n := w.opened("topic")
			is := func(want ...string) {
				t.Helper()
				if pr, err := w.forge.PullRequest(t.Context(), n); err != nil || !slices.Equal(pr.ApprovedBy, want) {
					t.Errorf("approved by %q, %v; want %q", pr.ApprovedBy, err, want)
				}
			}
			is()
			w.project.Approve("cyn", n)
			is("cyn")
			w.project.Push("ann", "topic", nil)
			w.server.Settle()
			is() // though it looks intact for ten seconds, or for good
			if !o.Premium {
				w.project.Unapprove("cyn", n)
				w.project.Approve("cyn", n)
				is("cyn")
			}
		})
	}
}

func (w *world) unmet(n int) []queue.Requirement {
	w.Helper()
	s, err := w.forge.Unmet(w.Context(), forge.Requirements{Number: n, Head: queue.CommitID(w.project.Look(n).SHA), Base: "main", Branch: "main", Checks: true, Except: []string{"submitqueue"}})
	if err != nil {
		w.Error(err)
	}
	return s.Unmet
}

func TestUnmet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{Premium: true})
	w.project.Set(func(s *fake.Settings) {
		s.Approvals, s.MustResolve, s.MustSucceed, s.Jobs = 1, true, true, []string{"test", "lint"}
	})
	n := w.opened("topic")
	is := func(want string) {
		t.Helper()
		got := ""
		for _, r := range w.unmet(n) {
			got += fmt.Sprintf("%s%v ", r.Kind, r.Names)
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("not met: %s; want %s", got, want)
		}
	}
	thread := w.project.Discuss("cyn", n, "Why?")
	is("reviews[0 1] conversations[1] checks[lint test]") // all, though GitLab tells one
	w.project.Approve("cyn", n)
	w.project.Resolve("ann", n, thread)
	ci := w.project.Pipelines()[0].ID
	w.project.Report(ci, "test", "failed")
	is("checks[lint] checks-failed[test]")
	w.project.MayFail(ci, "test")
	w.project.Report(ci, "lint", "success")
	is("")
	for status, want := range map[string]string{"locked_paths": "unjudged[GitLab: locked_paths newer]", "awaiting_moon_phase": "unjudged[GitLab: awaiting_moon_phase newer]",
		"requested_changes": "changes-requested[]", "need_rebase": "", "conflict": "", "draft_status": "", "mergeable": ""} {
		w.project.SetStatus(n, status)
		is(want)
	}
	w.project.SetStatus(n, "")
	w.project.Push("ann", "topic", nil)
	w.server.Settle()
	_, err := w.forge.Unmet(t.Context(), forge.Requirements{Number: n, Head: queue.CommitID(w.project.Look(n).SHA)})
	if e := transient(err); e == nil || e.After < 10*time.Second {
		t.Errorf("while approvals look intact: %v", err)
	}
}

func TestPipelinesAsRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	w.project.Set(func(s *fake.Settings) { s.Jobs = []string{"test", "lint"} })
	head := queue.CommitID(w.project.Push("ann", "submitqueue/1", nil))
	w.server.Settle()
	ci := w.forge.Capabilities().CI
	if err := w.forge.Check(t.Context(), forge.Check{Name: "submitqueue", Head: head, State: forge.CheckRunning, Title: "x"}); err != nil {
		t.Fatal(err)
	}
	states := func() (out string) {
		t.Helper()
		got, err := ci.CIResults(t.Context(), head)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got.List, func(a, b forge.CIResult) int { return strings.Compare(a.Name, b.Name) })
		for _, r := range got.List {
			out += r.Name + " " + string(r.State) + ";"
		}
		return out
	}
	runs, err := ci.CIRuns(t.Context(), "submitqueue/1")
	if err != nil || len(runs) != 1 || runs[0].Commit != head || !runs[0].Push || runs[0].Pull || runs[0].Done {
		t.Fatalf("runs: %+v, %v", runs, err)
	}
	id := int(runs[0].ID)
	if got := states(); got != "lint queued;test queued;" {
		t.Errorf("at first: %s", got)
	}
	w.project.Report(id, "test", "running")
	w.project.Report(id, "lint", "failed", "line 1", "boom")
	if got := states(); got != "lint failed;test running;" {
		t.Errorf("then: %s", got)
	}
	got, _ := ci.CIResults(t.Context(), head)
	for _, r := range got.List {
		if r.Name == "lint" {
			if log, err := ci.CILog(t.Context(), r); err != nil || log != "line 1\nboom" {
				t.Errorf("log %q, %v", log, err)
			}
		}
	}
	w.project.Report(id, "test", "success")
	if err := ci.RerunFailed(t.Context(), runs[0].ID); err != nil {
		t.Error(err)
	}
	if got := states(); got != "lint queued;test passed;" { // the retried job is another one
		t.Errorf("retried: %s", got)
	}
	if err := ci.CancelRun(t.Context(), runs[0].ID); err != nil {
		t.Error(err)
	}
	if got := states(); got != "lint none;test passed;" {
		t.Errorf("cancelled: %s", got)
	}
}

// A job that failed without a word on the commit is no result; and it has not passed either.
func TestReasonsOfFailedJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	w.project.Set(func(s *fake.Settings) { s.Jobs, s.MustSucceed = []string{"test"}, true })
	for reason, want := range map[string]forge.CIState{
		"script_failure": forge.CIFailed, "job_execution_timeout": forge.CITimeout, "server_timeout_running": forge.CITimeout,
		"runner_system_failure": forge.CINone, "ci_quota_exceeded": forge.CINone, "stuck_pending_no_matching_runners": forge.CINone, "no_updates_running": forge.CINone,
		"runner_interrupted": forge.CINone, "missing_dependency_failure": forge.CINone, "secrets_provider_not_found": forge.CINone, "user_blocked": forge.CINone,
	} {
		n := w.opened(reason)
		head := queue.CommitID(w.project.Look(n).SHA)
		ci := w.forge.Capabilities().CI
		runs, err := ci.CIRunsOf(t.Context(), head)
		if err != nil || len(runs) != 1 {
			t.Fatalf("%+v, %v", runs, err)
		}
		w.project.Fail(int(runs[0].ID), "test", reason)
		got, err := ci.CIResults(t.Context(), head)
		if err != nil || len(got.List) != 1 || got.List[0].State != want {
			t.Errorf("%s: %+v, %v; want %s", reason, got.List, err, want)
		}
		s, err := w.forge.Unmet(t.Context(), forge.Requirements{Number: n, Head: head, Base: "main", Branch: "main", Checks: true})
		if err != nil || len(s.Unmet) != 1 || s.Unmet[0].Kind != queue.RequireChecksPassed {
			t.Errorf("%s: unmet are %+v, %v", reason, s.Unmet, err)
		}
	}
}

// A job that was skipped begins under the id that it has, once the job before it is retried.
func TestSkippedJobsMayBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	w.project.Set(func(s *fake.Settings) { s.Jobs = []string{"test", "deploy"} })
	head := queue.CommitID(w.project.Push("ann", "submitqueue/1", nil))
	w.server.Settle()
	ci := w.forge.Capabilities().CI
	deploy := func() forge.CIResult {
		t.Helper()
		got, err := ci.CIResults(t.Context(), head)
		at := slices.IndexFunc(got.List, func(r forge.CIResult) bool { return r.Name == "deploy" })
		if err != nil || at < 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got.List[at]
	}
	id := int(deploy().Suite)
	w.project.Report(id, "test", "failed")
	w.project.Report(id, "deploy", "skipped")
	skipped := deploy()
	if skipped.State != forge.CINone || !skipped.Waits {
		t.Errorf("%+v", skipped)
	}
	if err := ci.RerunFailed(t.Context(), int64(id)); err != nil {
		t.Fatal(err)
	}
	if r := deploy(); r.ID != skipped.ID || r.State != forge.CIQueued || r.Waits {
		t.Errorf("after the retry: %+v", r)
	}
	w.project.Report(id, "deploy", "canceled")
	if r := deploy(); r.State != forge.CINone || r.Waits {
		t.Errorf("cancelled: %+v", r)
	}
}

// A fork's deletion, and what is not a project's own, are read without an error.
func TestForks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	fork := w.project.Fork("cyn")
	head := fork.Push("cyn", "theirs", nil)
	w.server.Settle()
	n := w.project.Open(fake.Opening{Author: "cyn", Source: "theirs", Fork: fork})
	pr, err := w.forge.PullRequest(t.Context(), n)
	if err != nil || !pr.Fork || string(pr.Head) != head {
		t.Errorf("of a fork: %+v, %v", pr, err)
	}
	if from, err := w.forge.OpenFrom(t.Context(), "theirs"); err != nil || len(from) != 0 {
		t.Errorf("a fork's branch is not ours: %+v, %v", from, err)
	}
	fork.DeleteProject()
	if pr, err = w.forge.PullRequest(t.Context(), n); err != nil || !pr.Fork {
		t.Errorf("its fork was deleted: %+v, %v", pr, err)
	}
}

func TestProtection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	w.project.Protect("main", fake.Guard{Push: 0, Merge: 40})
	if p, err := w.forge.Protection(t.Context(), "main"); err != nil || p.MayPush || !p.Protected || p.Rule == "" {
		t.Errorf("who may merge only: %+v, %v", p, err)
	}
	asked := len(w.server.Requests())
	if p, err := w.forge.Protection(t.Context(), "main"); err != nil || p.MayPush || len(w.server.Requests()) != asked {
		t.Errorf("right after it was read: %+v, %v, with %d requests", p, err, len(w.server.Requests())-asked)
	}
	w.project.Protect("ma*", fake.Guard{Push: 40, Merge: 40})
	if p, err := w.newForge().Protection(t.Context(), "main"); err != nil || !p.MayPush {
		t.Errorf("the most permissive pattern counts: %+v, %v", p, err)
	}
}

func TestClosingClosesIssues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	w.project.AddIssue(5)
	w.project.AddIssue(6)
	w.project.Push("ann", "topic", nil)
	n := w.project.Open(fake.Opening{Author: "ann", Source: "topic", Body: "Closes #5"})
	if err := w.forge.Close(t.Context(), n, forge.Closing{Label: "landed", Issues: true}); err != nil {
		t.Fatal(err)
	}
	if mr := w.project.Look(n); mr.State != "closed" || w.project.IssueOpen(5) || !w.project.IssueOpen(6) {
		t.Errorf("%+v, issue 5 open: %v, issue 6: %v", mr, w.project.IssueOpen(5), w.project.IssueOpen(6))
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	for level, want := range map[int]forge.Permission{0: forge.PermissionNone, 10: forge.PermissionRead, 20: forge.PermissionTriage, 30: forge.PermissionWrite, 40: forge.PermissionMaintain, 50: forge.PermissionAdmin} {
		w.project.SetLevel("eve", level)
		if got, err := w.forge.Permission(t.Context(), "EVE"); err != nil || got != want {
			t.Errorf("level %d: %v, %v", level, got, err)
		}
	}
	w.server.SetGroup("group/core", "eve")
	for user, want := range map[string]bool{"eve": true, "ann": false, "nobody": false} {
		if in, err := w.forge.InTeam(t.Context(), "group/core", user); err != nil || in != want {
			t.Errorf("%s is in the group: %v, %v", user, in, err)
		}
	}
}

// A name that was given up belongs to whoever takes it: he has none of the rights of the account
// that had it before, and that account keeps its rights under its new name.
func TestLevelsOfANameThatIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	is := func(user string, want forge.Permission, team bool) {
		t.Helper()
		got, err := w.forge.Permission(t.Context(), user)
		in, failed := w.forge.InTeam(t.Context(), "group/core", user)
		if err != nil || failed != nil || got != want || in != team {
			t.Errorf("%s: %v, in the group: %v (%v, %v)", user, got, in, err, failed)
		}
	}
	w.project.SetLevel("eve", 40)
	w.server.SetGroup("group/core", "eve")
	is("eve", forge.PermissionMaintain, true)
	w.server.RenameUser("eve", "evelyn")
	is("eve", forge.PermissionNone, false)
	w.server.AddUser("eve") // somebody else
	is("eve", forge.PermissionNone, false)
	is("evelyn", forge.PermissionMaintain, true)
	w.server.RenameUser("evelyn", "lyn")
	w.project.SetLevel("evelyn", 30) // a third one
	is("evelyn", forge.PermissionWrite, false)
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for _, o := range []gitlab.Options{{}, {Token: "x"}, {Token: "x", Project: "r"}, {Project: "o/r"}, {Token: "x", Project: "o/r", BaseURL: "gitlab"}, {Token: "x", Project: "o/r", BaseURL: "https://u:p@h"}} {
		if _, err := gitlab.New(o); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A token goes to no other host.
func TestRedirectsStayAtTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	other := newWorld(t, fake.Options{})
	w.server.Fail(fake.Fault{Status: 301, Header: map[string][]string{"Location": {other.server.URL() + "/api/v4/user"}}})
	if _, err := w.forge.PullRequest(t.Context(), 1); err == nil {
		t.Error("it is followed")
	}
	if got := other.server.Requests(); len(got) != 0 {
		t.Errorf("the other host was asked: %v", got)
	}
}
