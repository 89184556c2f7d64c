package server

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// One server has a repository and a project of the same name, one at GitHub and one at
// GitLab. Each lands by its own webhooks, and no webhook of one is heard at the other; the
// queues have names of their own; after a restart all goes on. A server that had the
// project alone keeps that queue when GitHub joins.
func TestSeveralForges(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	needRedis(t)
	hub, repo := newShopServer(t)
	gl, p := gitlabProject(t, fake.Options{}, "acme/shop", passConfig)
	secrets := t.TempDir()
	file := func(name, text string) string { return secretFile(t, secrets, name, text) }
	account := gitlabaccount.Flags{URL: gl.URL(), Token: file("token", gl.BotToken()), Secret: file("secret", gitlabSigning)}
	app := githubapp.Flags{AppID: hub.AppID(), AppKey: file("key", string(hub.AppKey())), WebhookSecret: file("hook", foundSecret), GithubURL: hub.APIURL()}
	alone := func(c *Serve) {
		c.Forge, c.Repo, c.GitLab = []string{"gitlab"}, []string{"acme/shop"}, account
		c.Isolate = isolateFlags{Isolate: "none", UIDs: "58000-58999"}
	}
	both := func(c *Serve) {
		alone(c)
		c.Forge, c.Repo, c.Flags = []string{"github", "gitlab"}, []string{"github:acme/shop", "gitlab:acme/shop"}, app
	}
	var up atomic.Bool
	listen := func(s *serving) { // each server has a port of its own
		hub.SetWebhook(s.base+"/webhook", foundSecret)
		p.AddHook(fake.Hook{URL: s.base + "/webhook", Signing: gitlabSigning})
		up.Store(true)
	}
	keepSettling(t, gl, &up)
	merge := func(s *serving, branch string) {
		p.Push("ann", branch, map[string]string{branch: "n\n"})
		n := p.Open(fake.Opening{Author: "ann", Source: branch, Title: "A " + branch, Body: "text"})
		p.Comment("ann", n, "/land")
		s.until(branch+" is merged at GitLab", func() bool { return p.Look(n).State == "merged" })
	}

	s := startServe(t, t.TempDir(), alone)
	listen(s)
	merge(s, "first")
	if got := s.queues(); got != "acme/shop@main" {
		t.Errorf("the queues are called %s", got)
	}
	up.Store(false)
	s = s.again(hub, both)
	listen(s)
	host := strings.TrimPrefix(gl.URL(), "http://")
	s.until("both are served", func() bool { return len(strings.Fields(s.queues())) == 2 })
	for _, name := range []string{"acme/shop@main", host + "/acme/shop@main"} {
		if !strings.Contains(" "+s.queues()+" ", " "+name+" ") {
			t.Errorf("%s is not among the queues %s", name, s.queues())
		}
	}
	for name, site := range map[string]string{"acme/shop@main": "", "acme/shop": "", host + "/acme/shop": host + "/", host + "/acme/shop@main": host + "/"} {
		if got := s.queue(name).Name; got != site+"acme/shop@main" {
			t.Errorf("%s leads to the queue %s", name, got)
		}
	}
	land(t, repo, "hub-one", "main")
	merge(s, "second")
	for path, header := range map[string]string{"/webhook/github": "X-Gitlab-Event", "/webhook/gitlab": "X-GitHub-Event", "/webhook": "X-Other-Event"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, "Push Hook")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s with %s: %d", path, header, answer.StatusCode)
		}
	}
	up.Store(false)
	s = s.again(hub, both)
	listen(s)
	merge(s, "third")
	land(t, repo, "hub-two", "main")
}

// Names of repositories that do not say of which forge are refused, and so is what a server
// of several forges cannot have.
func TestSeveralForgesRefuse(t *testing.T) {
	t.Parallel()
	for says, c := range map[string]Serve{
		"write --repo github:acme/shop": {Forge: []string{"github", "gitlab"}, Repo: []string{"acme/shop"}},
		"--forge local is served alone": {Forge: []string{"github", "local"}, Repo: []string{"local:x"}},
		"submitqueue setup gitlab":      {Forge: []string{"gitlab", "github"}, Data: t.TempDir(), RefPrefix: "submitqueue"},
	} {
		if _, err := c.open(t.Context(), &Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, not %q", err, says)
		}
	}
}
