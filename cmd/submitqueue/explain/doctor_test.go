package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
	"github.com/submitqueue/submitqueue/forge/github"
)

// hub is a simulated GitHub with the repository acme/shop, and a server's data
// folder with the App's credentials.
type hub struct {
	t      *testing.T
	server *forgetest.Server
	repo   *forgetest.Repository
	data   string
}

func newHub(t *testing.T, files map[string]string) *hub {
	t.Helper()
	h := &hub{t: t, data: t.TempDir()}
	var err error
	if h.server, err = forgetest.New(forgetest.Options{Judge: contract.For(t)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.server.Close() })
	if h.repo, err = h.server.AddRepository("acme", "shop", "main"); err != nil {
		t.Fatal(err)
	}
	h.commit(files)
	a := githubapp.File{API: h.server.APIURL(), ID: h.server.AppID(), Key: string(h.server.AppKey()), WebhookSecret: "0123456789abcdef"}
	if err := a.Save(githubapp.PathOf(h.data)); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hub) commit(files map[string]string) {
	h.t.Helper()
	if _, err := h.repo.Commit("acme", forgetest.Commit{Branch: "main", Files: files}); err != nil {
		h.t.Fatal(err)
	}
}

// grant gives the App all that it needs.
func (h *hub) grant() {
	permissions, events := map[string]string{}, []string{}
	for _, n := range github.Needs() {
		permissions[n.Name] = n.Access
	}
	for _, n := range github.EventNeeds() {
		events = append(events, n.Name)
	}
	h.server.SetPermissions(permissions)
	h.server.App.SetEvents(events...)
}

// doctor runs the command and returns its report, and whether it says that
// nothing blocks.
func (h *hub) doctor(flags ...func(*Doctor)) (doctorReport, bool) {
	h.t.Helper()
	var out bytes.Buffer
	c := Doctor{Repo: []string{"acme/shop"}, Forge: []string{"github"}, Data: h.data, Redis: "auto", JSON: true, out: &out}
	for _, set := range flags {
		set(&c)
	}
	err := c.Run(h.t.Context())
	var r doctorReport
	if json.Unmarshal(out.Bytes(), &r) != nil {
		h.t.Fatalf("%v, %s", err, out.String())
	}
	if code := print.ExitCode(0); err != nil && (!errors.As(err, &code) || code != 1) || r.Blocked != (err != nil) {
		h.t.Fatalf("%v, blocked %v", err, r.Blocked)
	}
	return r, err == nil
}

func (r doctorReport) has(level doctor.Level, about, part string) bool {
	for _, f := range r.Findings {
		if f.Level == level && f.About == about && strings.Contains(f.Says, part) {
			return true
		}
	}
	return false
}

const shopConfig = "version: 1\nsteps:\n  - {name: test, run: make test}\n"

func TestDoctorFindsNothing(t *testing.T) {
	h := newHub(t, map[string]string{".submitqueue.yml": shopConfig, ".github/workflows/ci.yml": "on:\n  push:\n    branches: ['submitqueue/**']\njobs:\n  build: {}\n"})
	h.grant()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	defer hook.Close()
	h.server.SetWebhook(hook.URL+"/webhook", "0123456789abcdef")
	h.repo.ProtectBranch("main", forgetest.Protection{Ruleset: true, RequiredChecks: []string{"build"}, RequirePull: true, Bypass: []string{"submitqueue"}})
	h.server.Ping()
	if err := h.server.WaitDelivered(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, ok := h.doctor()
	if !ok {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Findings {
		if f.Level != doctor.Fine && f.About != "redis" && !strings.Contains(f.Says, "127.0.0.1") {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorFindsFaults(t *testing.T) {
	h := newHub(t, map[string]string{"README.md": "hello", ".github/workflows/ci.yml": "on: pull_request\njobs:\n  build: {}\n"})
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer hook.Close()
	h.server.SetWebhook(hook.URL+"/webhook", "0123456789abcdef")
	h.repo.ProtectBranch("main", forgetest.Protection{Ruleset: true, RequiredChecks: []string{"build"}, RequirePull: true,
		ExtraRules: []string{"required_signatures", "required_linear_history", "merge_queue", "code_scanning"}})
	h.server.Ping()
	if err := h.server.WaitDelivered(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, ok := h.doctor()
	if ok {
		t.Error("nothing blocks")
	}
	for _, want := range []struct {
		level       doctor.Level
		about, part string
	}{
		{doctor.Warns, "permission", "workflows: write is missing"},
		{doctor.Warns, "event", "workflow_run"},
		{doctor.Blocks, "deliveries", "401"},
		{doctor.Blocks, "config", "has no .submitqueue.yml"},
		{doctor.Blocks, "branch", "may not push to main"},
		{doctor.Blocks, "branch", "signed commits"},
		{doctor.Blocks, "branch", "linear history"},
		{doctor.Blocks, "branch", "own merge queue"},
		{doctor.Blocks, "checks", `"build"`},
		{doctor.Warns, "branch", "code scanning"},
	} {
		if !r.has(want.level, want.about, want.part) {
			t.Errorf("not found: %+v", want)
		}
	}
	if t.Failed() {
		t.Logf("%+v", r.Findings)
	}
}

// GitHub's own merge queue is found where REST does not show it.
// A trial push is made where somebody asks for it; it starts no CI, and nothing is left.
func TestDoctorTriesPushes(t *testing.T) {
	h := newHub(t, map[string]string{".submitqueue.yml": shopConfig})
	h.grant()
	started := 0
	h.repo.CI.SetCI(t, func(forgetest.CIPush) []forgetest.CIJob { started++; return nil })
	for limit, c := range map[int]struct {
		level doctor.Level
		says  string
	}{
		0:  {doctor.Fine, "takes 21 refs"},
		5:  {doctor.Warns, "takes 5 refs"},
		30: {doctor.Fine, "takes 21 refs"},
	} {
		h.repo.LimitPushes(limit)
		if r, _ := h.doctor(); r.has(doctor.Fine, "pushes", "") || r.has(doctor.Warns, "pushes", "") {
			t.Error("a push that nobody has asked for")
		}
		if r, _ := h.doctor(func(c *Doctor) { c.Trial = true }); !r.has(c.level, "pushes", c.says) {
			t.Errorf("limit %d: %+v", limit, r.Findings)
		}
		left, err := exec.Command("git", "-C", h.repo.Dir(), "for-each-ref", "refs/heads/"+github.BuildBranch).Output()
		if err != nil || len(left) > 0 {
			t.Errorf("limit %d: branches are left: %s %v", limit, left, err)
		}
	}
	if started > 0 {
		t.Errorf("it has started CI %d times", started)
	}
}

// What a trial push meets instead of a limit is said.
func TestDoctorMayNotPush(t *testing.T) {
	h := newHub(t, map[string]string{".submitqueue.yml": shopConfig})
	h.server.SetPermissions(map[string]string{"contents": "read", "metadata": "read", "administration": "read", "pull_requests": "read", "actions": "read"})
	if r, _ := h.doctor(func(c *Doctor) { c.Trial = true }); !r.has(doctor.Warns, "pushes", "the trial push of branches failed: push 21 branches submitqueue/main/trial-") {
		t.Errorf("%+v", r.Findings)
	}
}

// Whether Actions runs what the App pushes is told by the setting, and by what has run.
func TestDoctorLooksAtActions(t *testing.T) {
	h := newHub(t, map[string]string{".submitqueue.yml": shopConfig, ".github/workflows/ci.yml": "on:\n  push:\n    branches: ['submitqueue/**']\njobs:\n  build: {}\n"})
	h.grant()
	if r, _ := h.doctor(); r.has(doctor.Blocks, "actions", "") || r.has(doctor.Warns, "actions", "") {
		t.Errorf("at first: %+v", r.Findings)
	}
	if _, err := h.repo.Commit("acme", forgetest.Commit{Branch: "submitqueue/main/1", Files: map[string]string{"a": "a"}}); err != nil {
		t.Fatal(err)
	}
	h.repo.CI.RefuseRun("submitqueue/main/1")
	h.repo.CI.SwitchActions(false)
	if r, _ := h.doctor(); !r.has(doctor.Blocks, "actions", "refused to start .github/workflows/ci.yml") || !r.has(doctor.Blocks, "actions", "switched off") {
		t.Errorf("refused: %+v", r.Findings)
	}
}

func TestDoctorFindsTheOtherQueue(t *testing.T) {
	h := newHub(t, map[string]string{".submitqueue.yml": shopConfig})
	h.grant()
	const says = "own merge queue"
	for name, c := range map[string]struct {
		p    forgetest.Protection
		want int
	}{
		"none":    {forgetest.Protection{}, 0},
		"classic": {forgetest.Protection{ExtraRules: []string{"merge_queue"}}, 1},
		"ruleset": {forgetest.Protection{Ruleset: true, ExtraRules: []string{"merge_queue"}}, 1},
	} {
		h.repo.ProtectBranch("main", c.p)
		r, _ := h.doctor()
		got := 0
		for _, f := range r.Findings {
			if f.Level == doctor.Blocks && strings.Contains(f.Says, says) {
				got++
			}
		}
		if got != c.want || r.has(doctor.Warns, "branch", "could not be read") {
			t.Errorf("%s: %d findings, want %d: %+v", name, got, c.want, r.Findings)
		}
	}
}

func TestDoctorBeforeAnything(t *testing.T) {
	h := newHub(t, map[string]string{"README.md": "hello"})
	h.server.App.Install("someone") // from now on, only there
	r, ok := h.doctor()
	if ok || !r.has(doctor.Blocks, "app", "not installed on acme/shop") {
		t.Errorf("%+v", r)
	}
	h.server.App.Install("acme", "other")
	if r, _ := h.doctor(); !r.has(doctor.Blocks, "app", "not installed on acme/shop") {
		t.Errorf("%+v", r)
	}
	h.server.App.AddToInstallation("acme", "shop")
	if r, _ := h.doctor(); !r.has(doctor.Fine, "app", "is installed") {
		t.Errorf("%+v", r)
	}
	h.server.App.Suspend("acme", true)
	if r, _ := h.doctor(); !r.has(doctor.Blocks, "app", "suspended") {
		t.Errorf("%+v", r)
	}
	if err := os.Remove(githubapp.PathOf(h.data)); err != nil {
		t.Fatal(err)
	}
	err := (&Doctor{Repo: []string{"acme/shop"}, Forge: []string{"github"}, Data: h.data}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "set-up page") {
		t.Errorf("%v", err)
	}
}

func TestAppFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "github-app.json")
	a := githubapp.File{ID: 7, Key: "k", WebhookSecret: "s", Slug: "x"}
	if err := a.Save(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, err := (githubapp.Flags{App: path}).Load(""); err != nil || got != a {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := (githubapp.Flags{App: path, GithubURL: "https://h/api/v3/"}).Load(""); err != nil || got.API != "https://h/api/v3/" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := (githubapp.Flags{}).Load(t.TempDir()); !errors.Is(err, githubapp.ErrNone) {
		t.Errorf("%v", err)
	}
	if _, err := (githubapp.Flags{AppID: 7}).Load(""); err == nil || errors.Is(err, githubapp.ErrNone) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (githubapp.Flags{App: path}).Load(""); err == nil || !strings.Contains(err.Error(), "take it away") {
		t.Errorf("%v", err)
	}
}

func TestOwnerAndName(t *testing.T) {
	for text, want := range map[string]string{
		"acme/shop": "acme shop", "https://github.com/acme/shop.git": "acme shop", "https://github.com/acme/shop/": "acme shop",
		"acme": "", "acme/": "", "/shop": "", "a/b/c": "", "": "",
	} {
		owner, name, err := githubapp.OwnerAndName(text)
		if got := strings.TrimSpace(owner + " " + name); got != want && err == nil || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
