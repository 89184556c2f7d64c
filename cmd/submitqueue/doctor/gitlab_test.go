package doctor_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/docs"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/gitlab"
)

const onRunners, onCI = "version: 1\nsteps:\n  - {name: unit, run: 'true'}\n", "version: 1\nsteps:\n  - {name: ci, checks: [test, 'spec 1/2']}\n"

const onMerge = "version: 1\nqueue: {method: merge}\nsteps:\n  - {name: unit, run: 'true'}\n"

// project is a project on a simulated GitLab with a webhook that leads to a server.
type project struct {
	*testing.T
	gl     *fake.Server
	p      *fake.Project
	status int // of the server's answers
	public string
	hook   int
}

func newProject(t *testing.T, o fake.Options, config string) *project {
	t.Helper()
	t.Parallel()
	gl, err := fake.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gl.Close() })
	x := &project{T: t, gl: gl, status: 202}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(x.status) }))
	t.Cleanup(server.Close)
	x.public = server.URL
	gl.AddUser("ann")
	if x.p, err = gl.AddProject("group/sub/shop", "main", "ann"); err != nil {
		t.Fatal(err)
	}
	x.p.Set(func(s *fake.Settings) { s.Jobs = []string{"test", "spec"} })
	x.hook = x.p.AddHook(fake.Hook{URL: x.public + "/webhook/gitlab", Token: "0123456789abcdef", Signing: "whsec_" + strings.Repeat("A", 43) + "="})
	x.configure(config)
	return x
}

func (x *project) configure(config string) {
	x.p.Push("ann", "main", map[string]string{".submitqueue.yml": config})
	x.gl.Settle()
	x.gl.Deliver(x.Context())
}

func (x *project) judge() []doctor.Finding {
	x.Helper()
	f, err := gitlab.New(gitlab.Options{BaseURL: x.gl.URL(), Token: x.gl.BotToken(), Project: "group/sub/shop"})
	if err != nil {
		x.Fatal(err)
	}
	s := f.Survey(x.Context(), "", "submitqueue")
	return doctor.JudgeGitLab(doctor.GitLabFacts{Survey: s, Now: time.Now(), Public: x.public})
}

// A project that is set up well has nothing wrong with it, in either tier.
func TestGitLabFine(t *testing.T) {
	for _, o := range []fake.Options{{}, {Premium: true}, {Unsigned: true}} {
		for _, config := range []string{onRunners, onCI} {
			t.Run("", func(t *testing.T) {
				for _, f := range newProject(t, o, config).judge() {
					if f.Level != doctor.Fine {
						t.Errorf("%+v", f)
					}
				}
			})
		}
	}
}

// Each thing that can be wrong is found, with its level, what to do, and a place in the
// documentation.
func TestGitLabFindings(t *testing.T) {
	premium := fake.Options{Premium: true}
	set := func(change func(*fake.Settings)) func(*project) {
		return func(x *project) { x.p.Set(change) }
	}
	ci := func(text string) func(*project) {
		return func(x *project) { x.p.Push("ann", "main", map[string]string{".gitlab-ci.yml": text}); x.gl.Settle() }
	}
	for name, c := range map[string]struct {
		o      fake.Options
		config string
		spoil  func(*project)
		level  doctor.Level
		about  string
		says   string
		fix    string
	}{
		"scopes": {spoil: func(x *project) {
			x.gl.SetToken(x.gl.BotToken(), func(t *fake.Token) { t.Scopes = []string{"read_api"} })
		}, level: doctor.Blocks, about: "token", says: "has the scopes read_api", fix: "scope api"},
		"sudo": {spoil: func(x *project) {
			x.gl.SetToken(x.gl.BotToken(), func(t *fake.Token) { t.Scopes = []string{"api", "sudo"} })
		}, level: doctor.Warns, about: "token", says: "owns the instance", fix: "api alone"},
		"expires soon": {spoil: func(x *project) {
			x.gl.SetToken(x.gl.BotToken(), func(t *fake.Token) { t.Expires = time.Now().Add(72 * time.Hour) })
		}, level: doctor.Warns, about: "token", says: "nothing lands from then on", fix: "setup gitlab group/sub/shop --rotate-token"},
		"expired": {spoil: func(x *project) {
			x.gl.SetToken(x.gl.BotToken(), func(t *fake.Token) { t.Expires = time.Now().Add(-time.Hour) })
		}, level: doctor.Blocks, about: "token", says: "does not take the token", fix: "rotate"},
		"away":               {spoil: func(x *project) { x.gl.Fail(fake.Fault{Status: 502, Times: 9}) }, level: doctor.Blocks, about: "token", says: "does not answer", fix: "--gitlab-url"},
		"a stranger":         {spoil: func(x *project) { x.p.SetLevel(x.gl.Bot(), 0) }, level: doctor.Blocks, about: "project", says: "does not see", fix: "maintainer"},
		"archived":           {spoil: func(x *project) { x.p.Archive(true) }, level: doctor.Blocks, about: "project", says: "archived", fix: "unarchive"},
		"moved":              {spoil: func(x *project) { x.p.Move("group/new") }, level: doctor.Warns, about: "project", says: "is called group/new now", fix: "--repo group/new"},
		"a reporter":         {spoil: func(x *project) { x.p.SetLevel(x.gl.Bot(), 20) }, level: doctor.Blocks, about: "member", says: "is reporter", fix: "maintainer"},
		"a developer":        {spoil: func(x *project) { x.p.SetLevel(x.gl.Bot(), 30) }, level: doctor.Warns, about: "member", says: "is a developer", fix: "maintainer"},
		"merge is not push":  {spoil: func(x *project) { x.p.Protect("main", fake.Guard{Push: 0, Merge: 40}) }, level: doctor.Blocks, about: "branch", says: "may not push to main (no one may); to be allowed to merge is not enough", fix: "Allowed to push and merge"},
		"owners only":        {spoil: func(x *project) { x.p.Protect("ma*", fake.Guard{Push: 50, Merge: 40}) }, level: doctor.Blocks, about: "branch", says: "(owners may)", fix: "Allowed to push and merge"},
		"refs closed":        {config: onCI, spoil: func(x *project) { x.p.Protect("*/*", fake.Guard{Push: 0, Merge: 0}) }, level: doctor.Blocks, about: "refs", says: `pattern "*/*" protects`, fix: "let the account push"},
		"refs open":          {config: onCI, spoil: func(x *project) { x.p.Protect("submit*", fake.Guard{Push: 40, Merge: 0}) }, level: doctor.Warns, about: "refs", says: "get protected variables", fix: "by hand"},
		"protected variable": {config: onCI, spoil: set(func(s *fake.Settings) { s.Protected = []string{"B", "A"} }), level: doctor.Warns, about: "refs", says: "(A, B)", fix: "--protect-refs"},
		"no webhook":         {spoil: func(x *project) { x.public = "https://other.example.org" }, level: doctor.Blocks, about: "webhook", says: "and the server is at https://other.example.org", fix: "setup gitlab group/sub/shop --url https://other.example.org"},
		"two webhooks":       {spoil: func(x *project) { x.p.AddHook(fake.Hook{URL: x.public + "/webhook/gitlab", Token: "x"}) }, level: doctor.Warns, about: "webhook", says: "2 webhooks tell the server the same", fix: "delete"},
		"deaf":               {spoil: func(x *project) { x.edit("note_events", "false") }, level: doctor.Blocks, about: "webhook", says: "does not tell of Comments (commands)", fix: "mend it"},
		"filter":             {spoil: func(x *project) { x.edit("push_events_branch_filter", "rel*") }, level: doctor.Warns, about: "webhook", says: `"rel*" only`, fix: "mend it"},
		"no secret":          {spoil: func(x *project) { x.edit("token", ""); x.edit("signing_token", "") }, level: doctor.Blocks, about: "webhook", says: "carries no secret", fix: "give it one"},
		"in the open":        {spoil: func(x *project) { x.edit("signing_token", "") }, level: doctor.Warns, about: "webhook", says: "in the open, and this GitLab can sign", fix: "take away the file"},
		"refused":            {spoil: func(x *project) { x.fail(401, 1) }, level: doctor.Blocks, about: "deliveries", says: "less than a minute ago: 401", fix: "another secret"},
		"off":                {spoil: func(x *project) { x.fail(500, 5) }, level: doctor.Blocks, about: "deliveries", says: "and tries again in ", fix: "send a test"},
		"off for good":       {spoil: func(x *project) { x.fail(503, 40) }, level: doctor.Blocks, about: "deliveries", says: "for good, after 40 failures", fix: "look at its log and at Redis"},
		"was away":           {spoil: func(x *project) { x.fail(500, 1); x.fail(202, 1) }, level: doctor.Warns, about: "deliveries", says: "the newest one has", fix: "nothing"},
		"trains":             {spoil: set(func(s *fake.Settings) { s.Trains = true }), level: doctor.Blocks, about: "trains", says: "neither would get on", fix: "switch"},
		"ff":                 {config: onMerge, spoil: set(func(s *fake.Settings) { s.MergeMethod = "ff" }), level: doctor.Warns, about: "method", says: "by fast-forward", fix: "queue.method: squash or rebase"},
		"ff, merged":         {config: strings.Replace(onMerge, "merge}", "semi-linear}", 1), spoil: set(func(s *fake.Settings) { s.MergeMethod = "ff" }), level: doctor.Warns, about: "method", says: "the queue makes one for each", fix: "queue.method: squash or rebase"},
		"semi-linear":        {config: onMerge, spoil: set(func(s *fake.Settings) { s.MergeMethod = "rebase_merge" }), level: doctor.Warns, about: "method", says: "a semi-linear history", fix: "queue.method: semi-linear"},
		"squash always":      {config: onMerge, spoil: set(func(s *fake.Settings) { s.Squash = "always" }), level: doctor.Warns, about: "method", says: "requires that merge requests are squashed", fix: "queue.method: squash"},
		"squash never":       {config: "version: 1\nqueue: {method: squash}\nsteps:\n  - {name: unit, run: 'true'}\n", spoil: set(func(s *fake.Settings) { s.Squash = "never" }), level: doctor.Warns, about: "method", says: "does not allow", fix: "queue.method: merge"},
		"template":           {spoil: set(func(s *fake.Settings) { s.MergeText = "%{title}\n\n%{issues}" }), level: doctor.Warns, about: "method", says: "the project's template for merge commits has %{issues}, which the queue leaves out", fix: "queue.messages"},
		"branch names":       {o: premium, config: onCI, spoil: set(func(s *fake.Settings) { s.PushRules = map[string]any{"branch_name_regex": "^(main|feature/.*)$"} }), level: doctor.Blocks, about: "pushrules", says: "^(main|feature/.*)$", fix: "--ref-prefix"},
		"messages":           {o: premium, spoil: set(func(s *fake.Settings) { s.PushRules = map[string]any{"commit_message_regex": "JIRA-"} }), level: doctor.Warns, about: "pushrules", says: "JIRA-", fix: "take it off"},
		"signed":             {o: premium, spoil: set(func(s *fake.Settings) { s.PushRules = map[string]any{"reject_unsigned_commits": true} }), level: doctor.Warns, about: "pushrules", says: "must be signed", fix: "--sign-key"},
		"CI off":             {config: onCI, spoil: set(func(s *fake.Settings) { s.NoCI = true }), level: doctor.Blocks, about: "pipelines", says: "switched off", fix: "switch it on"},
		"must succeed":       {spoil: set(func(s *fake.Settings) { s.NoCI, s.MustSucceed = true, true }), level: doctor.Blocks, about: "pipelines", says: "every merge request waits", fix: "switch one of them off"},
		"no such job":        {config: onCI, spoil: set(func(s *fake.Settings) { s.Jobs = []string{"spec"} }), level: doctor.Warns, about: "jobs", says: "has no job test,", fix: "compare"},
		"broken YAML":        {config: onCI, spoil: set(func(s *fake.Settings) { s.Broken = true }), level: doctor.Blocks, about: "jobs", says: "GitLab refuses .gitlab-ci.yml: jobs config", fix: "put it right"},
		"no pipeline":        {config: onCI, spoil: ci("workflow: {rules: [{if: $CI_COMMIT_TAG}]}\ntest: {script: x}\n"), level: doctor.Blocks, about: "workflow", says: "there is no pipeline for submitqueue/...", fix: `$CI_COMMIT_BRANCH =~ /^submitqueue\//`},
		"a job apart":        {config: onCI, spoil: ci("test: {script: x, only: [merge_requests]}\n"), level: doctor.Blocks, about: "workflow", says: "the job test is not in the pipelines", fix: "give the job a rule"},
		"by hand":            {config: onCI, spoil: ci("test: {script: x, when: manual}\n"), level: doctor.Warns, about: "workflow", says: "somebody has to start the job test", fix: "starts it"},
		"lists": {config: onCI, spoil: func(x *project) {
			x.p.Set(func(s *fake.Settings) { s.VariablesFrom = 0 }) // pushes start pipelines
			ci("test: {script: x}\n")(x)
		}, level: doctor.Warns, about: "workflow", says: "submitqueue-targets/...", fix: "when: never"},
		"no runner":        {config: onCI, spoil: set(func(s *fake.Settings) { s.Runners = 0 }), level: doctor.Blocks, about: "runners", says: "has no runner", fix: "give it one"},
		"no configuration": {config: "version: 1\nstps: []\n", level: doctor.Blocks, about: "config", says: "refuses it", fix: "validate"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.config == "" {
				c.config = onRunners
			}
			x := newProject(t, c.o, c.config)
			if c.spoil != nil {
				c.spoil(x)
			}
			list := x.judge()
			for _, f := range list {
				if place := "troubleshoot#doctor-gitlab-" + f.About; f.Level != doctor.Fine {
					if f.About == "config" {
						place = "troubleshoot#doctor-config"
					}
					if f.Fix == "" || !docs.Has(place) || !strings.HasSuffix(f.Doc, strings.TrimPrefix(place, "troubleshoot")) {
						t.Errorf("what is to be done, and where it stands: %+v", f)
					}
				}
				if f.Level == c.level && f.About == c.about && strings.Contains(f.Says, c.says) && strings.Contains(f.Fix, c.fix) {
					return
				}
			}
			t.Errorf("not found; there is:\n%+v", list)
		})
	}
}

func (x *project) edit(field, value string) {
	x.Helper()
	if err := x.p.EditHook(field, value); err != nil {
		x.Fatal(err)
	}
}

// fail has GitLab send webhooks that are answered with a status.
func (x *project) fail(status, times int) {
	x.status = status
	for range times {
		x.p.Push("ann", "main", nil)
		x.gl.Settle()
		x.gl.Deliver(x.Context())
		if times > 5 {
			x.gl.Pass(25 * time.Hour) // it is tried again
		}
	}
}

// Variables that nobody may give, and the tier, are said, and stand in nobody's way; their
// values are read by nobody.
func TestGitLabSays(t *testing.T) {
	x := newProject(t, fake.Options{}, onCI)
	x.p.Set(func(s *fake.Settings) { s.VariablesFrom, s.MustSucceed, s.MergeMethod = 0, true, "ff" })
	said := ""
	for _, f := range x.judge() {
		if f.Level != doctor.Fine {
			t.Errorf("%+v", f)
		}
		said += f.Says + "\n"
	}
	for _, part := range []string{"may not give pipelines variables (Settings > CI/CD > Variables: no one allowed)", "they must succeed", "this tier has no approval rules", "changes land as the project's settings say (fast-forward, squash default off)", "1 of 1 are online", "signed"} {
		if !strings.Contains(said, part) {
			t.Errorf("it does not say %q:\n%s", part, said)
		}
	}
}

// A CI file that declares inputs of the queue is told what it builds although nobody may
// set variables.
func TestGitLabInputs(t *testing.T) {
	x := newProject(t, fake.Options{}, onCI)
	x.p.Set(func(s *fake.Settings) { s.VariablesFrom = 0 })
	x.p.Push("ann", "main", map[string]string{".gitlab-ci.yml": "spec: {inputs: {submitqueue_build: {default: ''}}}\n---\ntest: {script: x, rules: [{if: '$CI_PIPELINE_SOURCE == \"api\"'}]}\n"})
	for _, f := range x.judge() {
		if f.Level != doctor.Fine || f.About == "variables" && !strings.Contains(f.Says, "with submitqueue_build") {
			t.Errorf("%+v", f)
		}
	}
}

// A setting that cannot be read is reported as unread, and as nothing else.
func TestGitLabUnread(t *testing.T) {
	bad := errors.New("gone")
	f := doctor.GitLabFacts{Now: time.Now(), Survey: gitlab.Survey{Site: "https://gitlab.example.org", Project: "g/p", Given: "g/p", Branch: "main", Prefix: "submitqueue",
		Token: gitlab.TokenFacts{Unknown: true}, Account: gitlab.AccountFacts{Name: "bot"}, Repo: gitlab.ProjectFacts{ID: 1, Path: "g/p", DefaultBranch: "main"},
		LevelErr: bad, TipErr: bad, GuardsErr: bad, HooksErr: bad, DeliveriesErr: bad, ApprovalsErr: bad, PushErr: bad, RunnersErr: bad, VariablesErr: bad, LintErr: bad, Config: []byte(onCI)}}
	got := map[string]bool{}
	for _, found := range doctor.JudgeGitLab(f) {
		if found.Level == doctor.Blocks {
			t.Errorf("%+v", found)
		}
		if strings.Contains(found.Says, "could not be read: gone") {
			got[found.About] = true
		}
	}
	for _, about := range []string{"member", "branch", "refs", "webhook", "deliveries", "approvals", "pushrules", "jobs", "runners"} {
		if !got[about] {
			t.Errorf("%s: nobody says that it could not be read", about)
		}
	}
}
