package github_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
	"github.com/submitqueue/submitqueue/forge/github"
)

// world is a simulated GitHub with repository o/r, users ann (write) and bob
// (none), and the adapter on it.
type world struct {
	*testing.T
	server *forgetest.Server
	repo   *forgetest.Repository
	forge  *github.Forge
	log    *bytes.Buffer
	ctx    context.Context
}

func newWorld(t *testing.T, o forgetest.Options) *world {
	t.Helper()
	o.Judge = contract.For(t)
	s, err := forgetest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := s.AddRepository("o", "r", "main")
	if err != nil {
		t.Fatal(err)
	}
	r.SetPermission("ann", "write")
	s.AddUser("bob")
	w := &world{T: t, server: s, repo: r, log: &bytes.Buffer{}}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	w.commit("main", "")
	w.forge = w.newForge()
	return w
}

// newForge is an adapter that remembers nothing, as after a restart.
func (w *world) newForge() *github.Forge {
	w.Helper()
	f, err := github.New(github.Options{
		BaseURL: w.server.APIURL(), AppID: w.server.AppID(), PrivateKey: w.server.AppKey(),
		Owner: "o", Name: "r",
		Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		w.Fatal(err)
	}
	return f
}

func (w *world) commit(branch, from string) string {
	w.Helper()
	id, err := w.repo.Commit("o", forgetest.Commit{Branch: branch, From: from, Files: map[string]string{branch + ".txt": branch + "\n" + time.Now().String()}})
	if err != nil {
		w.Fatal(err)
	}
	return id
}

func (w *world) pull(branch string) int {
	w.Helper()
	w.commit(branch, "")
	n, err := w.repo.OpenPull("ann", branch, "main", "Change "+branch)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// git runs git in dir with the adapter's credentials.
func (w *world) git(dir string, remote forge.Remote, args ...string) (string, error) {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(remote.Header)))
	for i, h := range remote.Header {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=http.extraHeader", i), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, h))
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]github.Options{
		"no repository": {AppID: 1},
		"bad key":       {Owner: "o", Name: "r", PrivateKey: []byte("secret stuff")},
		"bad address":   {Owner: "o", Name: "r", BaseURL: "nowhere"},
	} {
		if _, err := github.New(o); err == nil || strings.Contains(err.Error(), "secret stuff") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRemoteClonesAndPushes(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.repo.SetPrivate()
	remote, err := w.forge.Remote(w.ctx)
	w.must(err)
	dir := filepath.Join(t.TempDir(), "clone")
	if out, err := w.git(".", forge.Remote{}, "clone", "-q", remote.URL, dir); err == nil {
		t.Fatalf("a private repository was cloned without credentials: %s", out)
	}
	if out, err := w.git(".", remote, "clone", "-q", remote.URL, dir); err != nil {
		t.Fatal(out)
	}
	if out, err := w.git(dir, remote, "commit", "-q", "--allow-empty", "-m", "more"); err != nil {
		t.Fatal(out)
	}
	if out, err := w.git(dir, remote, "push", "-q", "origin", "HEAD:main"); err != nil {
		t.Fatal(out)
	}
	head, _ := w.git(dir, remote, "rev-parse", "HEAD")
	if got := w.repo.Head("main"); got != head {
		t.Errorf("main is at %s, want %s", got, head)
	}
	config, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
	w.must(err)
	if strings.Contains(string(config), "Basic") || strings.Contains(remote.URL, "ghs_") {
		t.Error("credentials got into the configuration or address")
	}
}

func TestRemoteAddress(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	remote, err := w.forge.Remote(w.ctx)
	w.must(err)
	if remote.URL != w.repo.CloneURL() {
		t.Errorf("%s, want %s", remote.URL, w.repo.CloneURL())
	}
	again, err := w.forge.Remote(w.ctx)
	w.must(err)
	if again.Header[0] != remote.Header[0] || len(w.server.Requests("POST", "/app/**")) != 1 {
		t.Error("the token was not reused")
	}
}

func TestPullRequest(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	first := w.repo.Head("topic")
	w.repo.SetPermission("cem", "write")
	w.repo.SetPermission("dan", "write")
	w.repo.Label("ann", n, "ready")
	w.repo.Review("cem", n, "APPROVED", "", "")
	w.repo.Review("dan", n, "APPROVED", "", "")
	w.repo.Review("dan", n, "COMMENTED", "", "still good")
	w.repo.Review("o", n, "APPROVED", "", "")
	w.repo.Review("o", n, "CHANGES_REQUESTED", "", "no")
	p, err := w.forge.PullRequest(w.ctx, n)
	w.must(err)
	if p.Head != "" && string(p.Head) != first || p.HeadRef != "refs/pull/1/head" || p.Author != "ann" || p.Source != "topic" ||
		p.Base != "main" || !p.Open || p.Merged || p.Fork || p.Draft || p.URL == "" || p.Title != "Change topic" {
		t.Errorf("%+v", p)
	}
	if f := p.Facets; f.Opened == 0 || *f.Commits != 1 || *f.Files != 1 || *f.Added != 0 || *f.Removed != 0 || *f.Revert || *f.Plan || f.Checks != nil {
		t.Errorf("facets: %+v", f)
	}
	if fmt.Sprint(p.Labels, p.ApprovedBy) != "[ready] [cem dan]" {
		t.Errorf("labels %v, approved by %v", p.Labels, p.ApprovedBy)
	}

	w.commit("topic", "")
	w.repo.Review("cem", n, "APPROVED", "", "")
	p, err = w.forge.PullRequest(w.ctx, n)
	w.must(err)
	if string(p.Head) == first || fmt.Sprint(p.ApprovedBy) != "[cem]" {
		t.Errorf("an approval of an earlier head counts: %+v", p)
	}
	w.repo.ClosePull("ann", n)
	p, err = w.forge.PullRequest(w.ctx, n)
	w.must(err)
	if p.Open || p.Merged {
		t.Errorf("closed: %+v", p)
	}
	if _, err := w.forge.PullRequest(w.ctx, 99); !isErr(err, forge.ErrNotFound) {
		t.Errorf("no such pull request: %v", err)
	}
}

func TestPullRequestFromFork(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	fork, err := w.repo.Fork("bob")
	w.must(err)
	head, err := fork.Commit("bob", forgetest.Commit{Branch: "theirs", Files: map[string]string{"x": "1"}})
	w.must(err)
	n, err := w.repo.OpenPull("bob", "bob:theirs", "main", "From a fork")
	w.must(err)
	p, err := w.forge.PullRequest(w.ctx, n)
	w.must(err)
	if !p.Fork || string(p.Head) != head {
		t.Errorf("%+v", p)
	}
	head, err = fork.Commit("bob", forgetest.Commit{Branch: "theirs", Files: map[string]string{"x": "2"}})
	w.must(err)
	p, err = w.forge.PullRequest(w.ctx, n)
	w.must(err)
	if string(p.Head) != head {
		t.Errorf("the head did not follow the fork: %+v", p)
	}
	remote, err := w.forge.Remote(w.ctx)
	w.must(err)
	if out, err := w.git(".", remote, "ls-remote", remote.URL, p.HeadRef); err != nil || !strings.HasPrefix(out, head) {
		t.Errorf("%s: %s", p.HeadRef, out)
	}
}

func TestPermission(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.repo.SetPrivate()
	for _, role := range []string{"none", "read", "triage", "write", "maintain", "admin"} {
		w.repo.SetPermission("u-"+role, role)
		p, err := w.forge.Permission(w.ctx, "u-"+role)
		if err != nil || p.String() != role {
			t.Errorf("%s: %v, %v", role, p, err)
		}
	}
	if p, err := w.forge.Permission(w.ctx, "nobody"); err != nil || p != forge.PermissionNone {
		t.Errorf("unknown user: %v, %v", p, err)
	}
	if p, err := w.forge.Permission(w.ctx, "bob"); err != nil || p != forge.PermissionNone {
		t.Errorf("stranger: %v, %v", p, err)
	}
}

func TestUnchangedReadsAreFree(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	for range 3 {
		p, err := w.forge.PullRequest(w.ctx, n)
		w.must(err)
		if p.Title != "Change topic" {
			t.Fatalf("%+v", p)
		}
	}
	got := w.server.Requests("GET", "/repos/o/r/pulls/1")
	if len(got) != 3 || got[0].Status != 200 || got[2].Status != http.StatusNotModified {
		t.Errorf("%+v", got)
	}
	w.repo.Retitle("ann", n, "Other")
	p, err := w.forge.PullRequest(w.ctx, n)
	w.must(err)
	if p.Title != "Other" {
		t.Errorf("a stale answer: %+v", p)
	}
}
