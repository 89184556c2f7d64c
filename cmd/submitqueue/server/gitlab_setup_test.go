package server

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// visitor is somebody with a browser.
type visitor struct {
	t *testing.T
	c *http.Client
}

func newVisitor(t *testing.T) visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return visitor{t, &http.Client{Jar: jar}}
}

func (v visitor) read(resp *http.Response, err error) (int, string) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func (v visitor) get(address string) (int, string) { return v.read(v.c.Get(address)) }

var formValue = regexp.MustCompile(`name="form" value="([^"]+)"`)

// labWorld is a simulated GitLab with a project, at work.
func labWorld(t *testing.T) (*fake.Server, *fake.Project) {
	t.Helper()
	gl, p := gitlabProject(t, fake.Options{}, "group/sub/shop", passConfig)
	keepSettling(t, gl, nil)
	return gl, p
}

// A server that knows nothing of GitLab becomes one that lands merge requests, without a
// restart, by the link of the console and one form; and it goes on after the next start.
func TestGitLabSetUpToLanding(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	gl, p := labWorld(t)
	data := t.TempDir()
	start := func() *serving {
		return startServe(t, data, func(c *Serve) {
			c.Forge, c.Isolate = []string{"gitlab"}, isolateFlags{Isolate: "none", UIDs: "58000-58999"}
		})
	}
	s := start()
	v := newVisitor(t)
	status, page := v.get(s.link())
	form := formValue.FindStringSubmatch(page)
	if status != 200 || form == nil || !strings.Contains(page, "Connect this server to GitLab") {
		t.Fatalf("%d: %s", status, page)
	}
	send := func(v visitor, change url.Values) (int, string) {
		t.Helper()
		values := url.Values{"form": {form[1]}, "site": {gl.URL()}, "project": {"group/sub/shop"}, "access": {gl.BotToken()}, "server": {s.base}}
		for k, x := range change {
			values[k] = x
		}
		return v.read(v.c.PostForm(s.base+"/setup/gitlab", values))
	}
	for says, change := range map[string]url.Values{
		"out of date":                    {"form": {"x"}},
		"write https://HOST":             {"site": {"gitlab"}},
		"Name a project":                 {"project": {""}},
		"Paste the token":                {"access": {""}},
		"GitLab does not take the token": {"access": {"glpat-wrong"}},
	} {
		if status, page := send(v, change); status == 200 || !strings.Contains(page, says) {
			t.Errorf("%v: %d, not %q: %s", change, status, says, page)
		}
	}
	if _, err := os.Stat(filepath.Join(data, "gitlab-token")); err == nil {
		t.Error("a token that GitLab refuses is kept")
	}
	if status, _ := send(newVisitor(t), nil); status != http.StatusForbidden {
		t.Errorf("a stranger's browser: %d", status)
	}
	p.Protect("main", fake.Guard{Push: 0, Merge: 40})
	status, page = send(v, nil)
	if status == 200 || !strings.Contains(page, "Put right what FAILs") || !strings.Contains(page, "may not push to main") || strings.Contains(page, gl.BotToken()) {
		t.Fatalf("%d: %s", status, page)
	}
	p.Protect("main", fake.Guard{Push: 40, Merge: 40})
	status, page = send(v, url.Values{"access": {""}}) // it is kept
	if status != 200 || !strings.Contains(page, "Connected to GitLab") || strings.Contains(page, gl.BotToken()) {
		t.Fatalf("%d: %s", status, page)
	}
	if len(p.Hooks()) != 1 {
		t.Errorf("webhooks: %+v", p.Hooks())
	}
	land := func(branch string) {
		t.Helper()
		s.until("the webhook is on", func() bool { // nobody was there between the servers
			on := true
			for id := range p.Hooks() {
				on = on && p.HookStatus(id) == "executable"
			}
			if !on {
				gl.Pass(time.Hour)
			}
			return on && len(gl.Letters()) == 0
		})
		p.Push("ann", branch, map[string]string{branch + ".txt": "n\n"})
		n := p.Open(fake.Opening{Author: "ann", Source: branch})
		p.Comment("ann", n, "/land")
		s.until(branch+" is merged", func() bool { return p.Look(n).State == "merged" })
	}
	land("one")
	if status, _ := v.get(s.base + "/setup"); status != http.StatusNotFound {
		t.Errorf("the page is still there: %d", status)
	}
	for _, name := range []string{"gitlab-token", "gitlab-secret", "gitlab.json"} {
		if info, err := os.Stat(filepath.Join(data, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	s.stop()
	s = start()
	if got := s.queues(); got != "group/sub/shop@main" {
		t.Errorf("after the next start it serves %q", got)
	}
	if err := p.EditHook("url", s.base+"/webhook/gitlab"); err != nil { // another port
		t.Fatal(err)
	}
	secret, _ := os.ReadFile(filepath.Join(data, "gitlab-secret"))
	if err := p.EditHook("signing_token", strings.TrimSpace(string(secret))); err != nil {
		t.Fatal(err)
	}
	land("two")
}

// A project with merge trains is not served, and why is said.
func TestGitLabTrainsAreRefused(t *testing.T) {
	t.Parallel()
	gl, p := labWorld(t)
	p.Set(func(s *fake.Settings) { s.Trains = true })
	c := &Serve{GitLab: gitlabaccount.Flags{URL: gl.URL()}, RefPrefix: "submitqueue"}
	_, _, err := gitlabQueue(t.Context(), c, gl.BotToken(), "group/sub/shop", slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "switch them off") {
		t.Errorf("%v", err)
	}
}
