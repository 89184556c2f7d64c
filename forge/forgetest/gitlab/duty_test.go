package gitlab_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
)

// merged pushes the merge of a merge request's head to its target, as git does.
func (w *world) merged(n int) string {
	w.Helper()
	m := w.project.MergeCommit(w.project.Tip("main"), w.project.Look(n).SHA)
	if out, err := w.push(w.server.BotToken(), "URL", m+":refs/heads/main"); err != nil {
		w.Fatal(out)
	}
	return m
}

func TestDuty1OneJobForEachRefInEitherOrder(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	n := w.opened("topic")
	w.project.Push("ann", "topic", nil)
	before := w.project.Look(n).SHA
	if before == w.project.Tip("topic") {
		t.Error("the stored head is the branch's, before its job has run")
	}
	w.server.RunJob("post-receive group/sub/r")
	w.server.RunJob("refresh topic")
	if got := w.project.Look(n).SHA; got != w.project.Tip("topic") {
		t.Errorf("the job has run, and the stored head is %s", got)
	}
	w.server.Settle()
	m := w.merged(n)
	w.state(n, "opened")
	w.server.Settle()
	if mr := w.state(n, "merged"); mr.MergeCommit != m {
		t.Errorf("merged as %s, want %s", mr.MergeCommit, m)
	}
}

func TestDuty1SixConditions(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true, Premium: true})
	p := w.project
	p.Force("ann", "release", p.Tip("main"))
	w.server.Settle()

	draft := w.opened("draft")
	p.SetTitle("ann", draft, "Draft: no")
	w.merged(draft)
	w.server.Settle()
	w.state(draft, "merged") // drafts count

	closed := w.opened("closed")
	p.Close("ann", closed)
	w.merged(closed)
	w.server.Settle()
	w.state(closed, "closed") // stay closed

	p.Push("ann", "to-release", nil)
	other := p.Open(gitlab.Opening{Author: "ann", Source: "to-release", Target: "release"})
	w.server.Settle()
	p.Force("ann", "release", p.MergeCommit(p.Tip("release"), p.Tip("to-release")))
	w.server.Settle()
	w.state(other, "merged") // on any branch

	squash := w.opened("squash")
	p.Force("ann", "main", p.SquashCommit(p.Tip("main"), p.Tip("squash"), "Squashed"))
	w.server.Settle()
	w.state(squash, "opened") // trees are not compared

	p.Push("ann", "created", nil)
	p.Push("ann", "base", nil)
	created := p.Open(gitlab.Opening{Author: "ann", Source: "created", Target: "base"})
	w.server.Settle()
	p.DeleteBranch("ann", "base")
	w.server.Settle()
	p.Force("ann", "base", p.Tip("created"))
	w.server.Settle()
	w.state(created, "opened") // a target that was just created has no commits

	fork := p.Fork("cyn")
	fork.Push("cyn", "theirs", nil)
	w.server.Settle()
	n := p.Open(gitlab.Opening{Author: "cyn", Source: "theirs", Fork: fork})
	w.server.Settle()
	fork.DeleteProject()
	w.merged(n)
	w.server.Settle()
	w.state(n, "opened") // without its project, never
}

func TestDuty1HeadAndTargetTogether(t *testing.T) {
	for _, order := range [][]string{{"refresh main", "refresh topic"}, {"refresh topic", "refresh main"}} {
		t.Run(order[0], func(t *testing.T) {
			w := newWorld(t, gitlab.Options{Held: true})
			n := w.opened("topic")
			p := w.project
			landed := p.SquashCommit(p.Tip("main"), p.Tip("topic"), "Landed")
			if out, err := w.push(w.ann, "--atomic", "--force", "URL", landed+":refs/heads/main", landed+":refs/heads/topic"); err != nil {
				t.Fatal(out)
			}
			w.server.RunJob("post-receive group/sub/r")
			for _, job := range order {
				w.server.RunJob(job)
			}
			w.server.Settle()
			if mr := w.state(n, "opened"); !mr.Empty {
				t.Errorf("its diff is not empty: %+v", mr)
			}
			p.Push("ann", "main", nil)
			w.server.Settle()
			w.state(n, "opened") // for ever
		})
	}
}

func TestDuty2BranchesAndStacks(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	p := w.project
	n := w.opened("gone")
	p.DeleteBranch("ann", "gone")
	w.state(n, "opened")
	w.server.Settle()
	w.state(n, "closed")

	low := w.opened("low")
	p.Force("ann", "high", p.Tip("low"))
	p.Push("ann", "high", nil)
	high := p.Open(gitlab.Opening{Author: "ann", Source: "high", Target: "low"})
	w.server.Settle()
	w.merged(low)
	w.server.Settle()
	w.state(low, "merged")
	if p.Tip("low") == "" || p.Look(high).Target != "low" {
		t.Errorf("after a merge by push, branch and stack stay: %+v", p.Look(high))
	}

	other := w.opened("other")
	p.Force("ann", "above", p.Tip("other"))
	p.Push("ann", "above", nil)
	above := p.Open(gitlab.Opening{Author: "ann", Source: "above", Target: "other"})
	p.Set(func(s *gitlab.Settings) { s.DeleteSource = true })
	if err := p.Merge("ann", other); err != nil {
		t.Fatal(err)
	}
	if p.Tip("other") != "" || p.Look(above).Target != "main" {
		t.Errorf("after GitLab's own merge, the branch goes and the stack goes on: %+v", p.Look(above))
	}
}

func TestDuty3MergeInGitLabsOrder(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	p := w.project
	n := w.opened("topic")
	path := fmt.Sprintf("merge_requests/%d/merge", n)
	w.server.AddUser("eve")
	p.SetLevel("eve", 20)
	if got, _, _ := w.call(w.server.AddUser("eve"), "PUT", path, nil); got != 401 {
		t.Errorf("who may not merge gets %d", got)
	}
	p.SetTitle("ann", n, "Draft: x")
	w.bot(405, "PUT", path, object{"sha": "elsewhere"}) // before the sha is looked at
	p.SetTitle("ann", n, "x")
	p.Set(func(s *gitlab.Settings) { s.MergeMethod = "ff" })
	p.Push("ann", "main", nil)
	w.server.Settle()
	w.bot(422, "PUT", path, object{"sha": "elsewhere"})
	p.Set(func(s *gitlab.Settings) { s.MergeMethod = "merge" })
	w.bot(409, "PUT", path, object{"sha": "elsewhere"})
	p.MergeStaysOpen(n)
	if out := w.bot(200, "PUT", path, nil); out["state"] != "opened" {
		t.Errorf("answered 200 with %v", out["state"])
	}
	p.SetSquash(n, true)
	head := p.Tip("topic")
	if out := w.bot(200, "PUT", path, object{"squash": false}); out["state"] != "merged" || out["squash_commit_sha"] == nil || out["squash_commit_sha"] == head {
		t.Errorf("squash: false is ignored, and the commit is another: %v", out)
	}
}

func TestDuty4FirstFourChangesAndHooks(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	p := w.project
	p.Set(func(s *gitlab.Settings) { s.Jobs = []string{"test"} })
	p.AddHook(gitlab.Hook{URL: "http://127.0.0.1:1"})
	main := p.Tip("main")
	var refs []string
	for i := range 6 {
		refs = append(refs, fmt.Sprintf("%s:refs/heads/b%d", main, i))
	}
	if out, err := w.push(w.ann, append([]string{"URL"}, refs...)...); err != nil {
		t.Fatal(out)
	}
	w.server.Settle()
	if got := len(p.Pipelines()); got != 4 {
		t.Errorf("%d pipelines of six branches in one push, want 4", got)
	}
	if slices.Contains(w.server.Letters(), gitlab.PushHook) {
		t.Errorf("more than three branches were created, and a hook tells: %v", w.server.Letters())
	}
	p.Push("ann", "one", nil)
	w.server.Settle()
	if !slices.Contains(w.server.Letters(), gitlab.PushHook) {
		t.Errorf("one branch was created, and no hook tells: %v", w.server.Letters())
	}

	for option, want := range map[string]string{"ci.skip": "skipped", "ci.no_pipeline": ""} {
		branch := strings.ReplaceAll(option, ".", "-")
		before := len(p.Pipelines())
		if out, err := w.push(w.ann, "-o", option, "URL", main+":refs/heads/"+branch); err != nil {
			t.Fatal(out)
		}
		w.server.Settle()
		got := ""
		for _, pl := range p.Pipelines()[before:] {
			got += pl.Status
		}
		if got != want {
			t.Errorf("pushed with %s: pipeline %q, want %q", option, got, want)
		}
	}

	p.Protect("main", gitlab.Guard{})
	next := p.MergeCommit(main, p.Tip("one"))
	out, err := w.push(w.ann, "URL", next+":refs/heads/main", next+":refs/heads/free")
	if err == nil || p.Tip("free") != "" {
		t.Errorf("one forbidden ref refuses all: %s", out)
	}
	if strings.Count(out, "pre-receive hook declined") != 2 {
		t.Errorf("both refs are refused the same way: %s", out)
	}
}

func TestDuty5Pipelines(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	p := w.project
	p.Set(func(s *gitlab.Settings) { s.Jobs = []string{"test", "lint"} })
	if out, err := w.push(w.server.BotToken(), "-o", "ci.no_pipeline", "URL", p.Tip("main")+":refs/heads/try"); err != nil {
		t.Fatal(out)
	}
	create := func(status int, body object) object { t.Helper(); return w.bot(status, "POST", "pipeline", body) }
	said := fmt.Sprint(create(400, object{"ref": "try"}))
	w.contains(said, "Reference not found")
	w.server.Settle()
	vars := []object{{"key": "A", "value": "1"}}
	if out := create(201, object{"ref": "try", "variables": vars}); out["sha"] != p.Tip("try") || out["source"] != "api" {
		t.Errorf("created: %v", out)
	}
	p.Set(func(s *gitlab.Settings) { s.VariablesFrom = 0 })
	w.contains(fmt.Sprint(create(400, object{"ref": "try", "variables": vars})), "Insufficient permissions to set pipeline variables")
	given := object{"ref": "try", "inputs": object{"name": "x"}}
	w.contains(fmt.Sprint(create(400, given)), "Given inputs not defined")
	p.Push("ann", "try", map[string]string{".gitlab-ci.yml": "spec: {inputs: {name: {}, n: {type: number, default: 1}}}\n---\ntest: {script: x}\n"})
	w.server.Settle()
	create(201, given) // whoever may set variables
	w.contains(fmt.Sprint(create(400, object{"ref": "try"})), "`name` input: required value has not been provided")
	w.contains(fmt.Sprint(create(400, object{"ref": "try", "inputs": object{"name": "x", "more": "y"}})), "unknown input arguments: more")
	w.contains(fmt.Sprint(create(400, object{"ref": "try", "inputs": object{"name": "x", "n": "1"}})), "`n` input: provided value is not a number")
	p.Set(func(s *gitlab.Settings) { s.Rules = true })
	w.contains(fmt.Sprint(create(400, object{"ref": "try"})), "filtered out by workflow rules")
	p.Set(func(s *gitlab.Settings) { s.Rules, s.PerMinute = false, 1 })
	w.contains(fmt.Sprint(create(400, object{"ref": "try"})), "Too many pipelines created in the last minute")
	w.server.Pass(time.Minute)
	w.server.Settle()

	p.Set(func(s *gitlab.Settings) { s.Broken = true })
	before := len(p.Pipelines())
	create(400, object{"ref": "try"})
	if got := len(p.Pipelines()); got != before {
		t.Error("broken YAML and POST leave a pipeline")
	}
	p.Push("ann", "broken", nil)
	w.server.Settle()
	if last := p.Pipelines()[before]; last.Status != "failed" || len(last.Jobs) != 0 {
		t.Errorf("broken YAML and a push leave %+v", last)
	}
	p.Set(func(s *gitlab.Settings) { s.Broken = false })

	p.Push("ann", "topic", nil)
	w.server.Settle()
	first := p.Pipelines()[len(p.Pipelines())-1]
	p.Report(first.ID, "test", "running")
	p.Push("ann", "topic", nil)
	w.server.RunJob("post-receive group/sub/r")
	status := func(id int) string {
		for _, pl := range p.Pipelines() {
			if pl.ID == id {
				return pl.Status
			}
		}
		return ""
	}
	if got := status(first.ID); got != "canceling" {
		t.Errorf("the older pipeline of the ref is %s", got)
	}
	w.server.Settle()
	if got := status(first.ID); got != "canceled" {
		t.Errorf("the older pipeline of the ref is %s by now", got)
	}
	second := p.Pipelines()[len(p.Pipelines())-1]
	p.Report(second.ID, "lint", "success")
	p.Report(second.ID, "test", "failed", "boom")
	if got := status(second.ID); got != "failed" {
		t.Errorf("it is %s", got)
	}
	p.RetryPipeline("ann", second.ID)
	if got := status(second.ID); got != "running" && got != "pending" {
		t.Errorf("retried, it is %s", got)
	}
}

func TestDuty6StatusesAreJobs(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	p := w.project
	p.Set(func(s *gitlab.Settings) { s.Jobs, s.MustSucceed = []string{"test"}, true })
	n := w.opened("topic")
	head := p.Tip("topic")
	post := func(status int, state, name string) string {
		t.Helper()
		return fmt.Sprint(w.bot(status, "POST", "statuses/"+head, object{"state": state, "name": name}))
	}
	ci := p.Pipelines()[0]
	post(201, "running", "submitqueue") // joins the newest
	if got := p.Pipelines(); len(got) != 1 || len(got[0].Jobs) != 2 {
		t.Errorf("it joins the newest pipeline: %+v", got)
	}
	p.ReportAll(ci.ID, "success")
	if got := p.Pipelines()[0].Status; got != "running" {
		t.Errorf("the status counts, and the pipeline is %s", got)
	}
	w.contains(post(400, "running", "submitqueue"), "Cannot transition status via :run from :running")
	w.contains(post(400, "pending", "submitqueue"), "Cannot transition status")
	w.contains(post(400, "running", "test"), "name: taken")
	w.bot(400, "POST", "statuses/"+head, object{"state": "success", "name": "x", "description": strings.Repeat("x", 256)})
	w.bot(400, "POST", "statuses/"+head, object{"state": "neutral", "name": "x"})
	w.bot(404, "POST", "statuses/"+strings.Repeat("1", 40), object{"state": "success"})
	if got, _, _ := w.call(w.ann, "POST", "statuses/"+head, object{"state": "success", "name": "submitqueue"}); got != 201 {
		t.Errorf("another account's status: %d", got)
	}
	if got := p.Pipelines()[0]; got.Status != "running" {
		t.Errorf("the row of the first account stays: %+v", got)
	}
	post(201, "failed", "submitqueue")
	if got := w.project.Look(n).Status; got != "ci_must_pass" && got != "unchecked" {
		t.Errorf("a failed status turns the merge request to %s", got)
	}

	p.Set(func(s *gitlab.Settings) { s.Jobs = nil })
	m := w.opened("bare")
	head = p.Tip("bare")
	w.bot(201, "POST", "statuses/"+head, object{"state": "success", "name": "submitqueue", "ref": "bare"})
	last := p.Pipelines()[len(p.Pipelines())-1]
	if last.Source != "external" || last.Status != "success" {
		t.Errorf("without a pipeline, one is made: %+v", last)
	}
	w.bot(200, "GET", fmt.Sprintf("merge_requests/%d", m), nil)
	w.server.Settle()
	if got := p.Look(m).Status; got != "mergeable" {
		t.Errorf("one status of a bot satisfies pipelines-must-succeed: %s", got)
	}

	fork := p.Fork("cyn")
	fork.Push("cyn", "theirs", nil)
	f := p.Open(gitlab.Opening{Author: "cyn", Source: "theirs", Fork: fork})
	w.bot(404, "POST", "statuses/"+p.Look(f).SHA, object{"state": "success"}) // no branch of the project has it
}

func TestDuty7QuickActions(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	p := w.project
	p.AddHook(gitlab.Hook{URL: "http://127.0.0.1:1"})
	n := w.opened("topic")
	notes := fmt.Sprintf("merge_requests/%d/notes", n)
	w.server.LoseHooks()

	id := p.Comment("ann", n, "/land\n/label ~x")
	if got := p.AllNotes(n); len(got) != 1 || got[0].Body != "/land" || !slices.Equal(p.Look(n).Labels, []string{"x"}) {
		t.Errorf("a known line is cut out and executed: %+v", got)
	}
	if !slices.Contains(w.server.Letters(), gitlab.NoteHook) {
		t.Error("no hook tells of the note")
	}
	w.server.LoseHooks()
	if p.Comment("ann", n, "/approve") != 0 || slices.Contains(w.server.Letters(), gitlab.NoteHook) {
		t.Error("a note of commands only is saved")
	}
	if out := w.bot(202, "POST", notes, object{"body": "/approve"}); out["id"] != nil {
		t.Errorf("it has an id: %v", out)
	}
	w.server.LoseHooks()
	if p.EditComment(n, id, "/land again"); !slices.Contains(w.server.Letters(), gitlab.NoteHook) {
		t.Error("no hook tells of an edit")
	}
	if !p.EditComment(n, id, "/close") || len(p.AllNotes(n)) != 0 {
		t.Error("an edit to commands only does not delete the note")
	}
	w.state(n, "closed")
	p.Reopen("ann", n)
	w.server.LoseHooks()
	if p.SystemNote(n, "changed the title"); len(w.server.Letters()) != 0 {
		t.Errorf("a hook tells of a system note: %v", w.server.Letters())
	}
	w.bot(201, "POST", notes, object{"body": "A log:\n```\n/close\n```\n> /close\n"})
	w.state(n, "opened")
	w.bot(201, "POST", notes, object{"body": "A log:\n/close\n"})
	w.state(n, "closed") // as the bot
	if got := w.server.BotActions(); len(got) != 2 {
		t.Errorf("executed as the bot: %v", got)
	}
}

func TestDuty8Webhooks(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	p := w.project
	var fail atomic.Bool
	var seen []http.Header
	to := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		if fail.Load() {
			rw.WriteHeader(503)
		}
	}))
	defer to.Close()
	id := p.AddHook(gitlab.Hook{URL: to.URL, Token: "token", Signing: "whsec_" + strings.Repeat("A", 43) + "="})
	n := w.opened("topic")
	w.server.RepeatHooks()
	w.server.Deliver(t.Context())
	keys := map[string]int{}
	uuids := map[string]int{}
	for _, h := range seen {
		keys[h.Get("Idempotency-Key")]++
		uuids[h.Get("X-Gitlab-Event-UUID")]++
		if h.Get("X-Gitlab-Token") != "token" || h.Get("Webhook-Id") != h.Get("Idempotency-Key") || !strings.HasPrefix(h.Get("Webhook-Signature"), "v1,") {
			t.Errorf("header %v", h)
		}
	}
	if len(keys)*2 != len(uuids) || len(keys) == 0 {
		t.Errorf("a repeated webhook has its key, and another id: %v, %v", keys, uuids)
	}

	fail.Store(true)
	count := func() int { p.Comment("ann", n, "x"); return w.server.Deliver(t.Context()) }
	for i := range 4 {
		if got := p.HookStatus(id); got != "executable" {
			t.Errorf("after %d failures it is %s", i, got)
		}
		count()
	}
	if got := p.HookStatus(id); got != "temporarily_disabled" {
		t.Errorf("after four failures it is %s", got)
	}
	before := len(seen)
	count()
	if len(seen) != before {
		t.Error("a hook that is off is told")
	}
	w.server.Pass(time.Minute)
	fail.Store(false)
	if count() != 1 || p.HookStatus(id) != "executable" {
		t.Error("a success does not reset it")
	}
	fail.Store(true)
	for range 40 {
		w.server.Pass(25 * time.Hour)
		count()
	}
	w.server.Pass(1000 * time.Hour)
	if got := p.HookStatus(id); got != "disabled" {
		t.Errorf("after forty failures it is %s", got)
	}
}

func TestDuty9ApprovalsAndOneReason(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true, Premium: true})
	p := w.project
	p.Set(func(s *gitlab.Settings) { s.Approvals, s.MergeMethod = 1, "ff" })
	n := w.opened("topic")
	status := func() any {
		return w.bot(200, "GET", fmt.Sprintf("merge_requests/%d", n), nil)["detailed_merge_status"]
	}
	for _, want := range []string{"unchecked", "checking"} {
		if got := status(); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
	p.Push("ann", "main", nil)
	w.server.Settle()
	status()
	w.server.Settle()
	if got := status(); got != "not_approved" {
		t.Errorf("it is %s: need_rebase is hidden behind not_approved", got)
	}
	w.server.AddUser("cyn")
	p.SetLevel("cyn", 30)
	p.Approve("cyn", n)
	if got := status(); got != "need_rebase" {
		t.Errorf("it is %s", got)
	}
	p.Push("ann", "topic", nil)
	w.server.Settle()
	status()
	w.server.Settle()
	if got := status(); got != "approvals_syncing" || len(p.Look(n).Approved) != 1 {
		t.Errorf("it is %s, and approvals look intact: %v", got, p.Look(n).Approved)
	}
	w.server.Pass(10 * time.Second)
	w.server.Settle()
	if got := p.Look(n).Approved; len(got) != 0 {
		t.Errorf("ten seconds later: %v", got)
	}
}

func TestDuty10MovedTiersAndThrottling(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	p := w.project
	n := w.opened("topic")
	p.Move("group/moved")
	token := w.server.BotToken()
	if got, _, _ := w.at(token, "GET", "projects/group%2Fsub%2Fr", nil); got != 301 {
		t.Errorf("reading by the former path: %d", got)
	}
	got, _, text := w.at(token, "POST", fmt.Sprintf("projects/group%%2Fsub%%2Fr/merge_requests/%d/notes", n), object{"body": "x"})
	if got != 405 {
		t.Errorf("writing by the former path: %d", got)
	}
	w.contains(text, "Non GET methods are not allowed for moved projects")
	w.bot(201, "POST", fmt.Sprintf("merge_requests/%d/notes", n), object{"body": "x"})
	w.bot(403, "GET", fmt.Sprintf("merge_requests/%d/approval_state", n), nil)
}

func TestDuty10Throttling(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	w.server.Throttle(1, 7)
	got, _, text := w.call(w.server.BotToken(), "GET", "merge_requests", nil)
	if got != 429 || text != "Retry later\n" {
		t.Errorf("%d %q", got, text)
	}
	w.project.Set(func(s *gitlab.Settings) { s.VariablesFrom = 0 })
	_, out, _ := w.at(w.server.BotToken(), "GET", fmt.Sprint("projects/", w.project.ID()), nil)
	if out["ci_pipeline_variables_minimum_override_role"] != "no_one_allowed" {
		t.Errorf("%v", out)
	}
}

func TestDuty11RefusalsOfPushes(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	p := w.project
	main := p.Tip("main")
	next := p.Push("ann", "next", nil)
	for _, r := range gitlab.Refusals() {
		p.RefusePush("main", r)
		out, err := w.push(w.server.BotToken(), "URL", next+":refs/heads/main")
		if err == nil || p.Tip("main") != main {
			t.Errorf("%s: it moved: %s", r.Name, out)
		}
		if r.Reason == "" {
			first, _, _ := strings.Cut(r.Text, "\n")
			w.contains(out, "remote: GitLab: "+first)
			w.contains(out, "(pre-receive hook declined)")
		} else {
			w.contains(out, "("+r.Reason+")")
		}
	}
	p.Protect("main", gitlab.Guard{Push: 0, Merge: 40})
	out, err := w.push(w.server.BotToken(), "URL", next+":refs/heads/main")
	if err == nil {
		t.Error("who may only merge may push")
	}
	w.contains(out, gitlab.TextProtected)
	p.Archive(true)
	out, _ = w.push(w.server.BotToken(), "URL", next+":refs/heads/free")
	w.contains(out, gitlab.TextArchived)
	p.Archive(false)
	for ref, reason := range map[string]string{"refs/keep-around/x": "deny updating a hidden ref", "refs/merge-requests/1/head": "deny updating a hidden ref", "refs/heads/" + next: "cannot be named"} {
		out, err := w.push(w.server.BotToken(), "URL", next+":"+ref)
		if err == nil {
			t.Errorf("%s was pushed", ref)
		}
		w.contains(out, reason)
	}
	if out, err := w.push(w.server.BotToken(), "URL", next+":refs/submitqueue/x"); err != nil {
		t.Errorf("a ref of our own: %s", out)
	}
}

// recorder is a TB that remembers whether it failed.
type recorder struct{ failed []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}
func (r *recorder) Cleanup(f func()) { f() }

func TestUnreadOutputFails(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	n := w.opened("topic")
	w.bot(201, "POST", fmt.Sprintf("merge_requests/%d/notes", n), object{"body": "hello"})
	r := &recorder{}
	w.server.Strict(r)
	if len(r.failed) != 1 {
		t.Errorf("a note that nobody read: %v", r.failed)
	}
	w.project.Notes(w.server.Bot(), n)
	r = &recorder{}
	if w.server.Strict(r); len(r.failed) != 0 {
		t.Errorf("it was read: %v", r.failed)
	}
}
