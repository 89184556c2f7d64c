package forgetest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
)

func mustServer(t *testing.T, o forgetest.Options) *forgetest.Server {
	t.Helper()
	if o.Judge == nil {
		o.Judge = contract.For(t)
	}
	s, err := forgetest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// mustRepository makes o/r with one commit on main.
func mustRepository(t *testing.T, s *forgetest.Server) *forgetest.Repository {
	t.Helper()
	r, err := s.AddRepository("o", "r", "main")
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, r, "o", forgetest.Commit{Branch: "main", Message: "first", Files: map[string]string{"README.md": "hello\n"}})
	return r
}

func mustCommit(t *testing.T, r *forgetest.Repository, user string, c forgetest.Commit) string {
	t.Helper()
	id, err := r.Commit(user, c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func mustPull(t *testing.T, r *forgetest.Repository, author, branch string) int {
	t.Helper()
	n, err := r.OpenPull(author, branch, "main", "Change "+branch)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// git runs git as user in dir and returns its output, and whether it succeeded.
func git(t *testing.T, dir, header string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if header != "" {
		cmd.Env = append(cmd.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0="+header)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func mustGit(t *testing.T, dir, header string, args ...string) string {
	t.Helper()
	out, ok := git(t, dir, header, args...)
	if !ok {
		t.Fatalf("git %v: %s", args, out)
	}
	return strings.TrimSpace(out)
}

func TestCloneAndPush(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	s.AddUser("ann")
	r.SetPermission("ann", "write")
	dir := filepath.Join(t.TempDir(), "clone")
	mustGit(t, ".", "", "clone", "-q", r.CloneURL(), dir)
	if err := os.WriteFile(filepath.Join(dir, "new.txt"), []byte("new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	mustGit(t, dir, "", "checkout", "-qb", "feature")
	mustGit(t, dir, "", "add", ".")
	mustGit(t, dir, "", "commit", "-qm", "feature")
	if out, ok := git(t, dir, "", "push", "-q", "origin", "feature"); ok {
		t.Fatalf("an anonymous push was taken: %s", out)
	}
	auth := "Authorization: Bearer " + s.UserToken("ann")
	mustGit(t, dir, auth, "push", "-q", "origin", "feature")
	head := mustGit(t, dir, "", "rev-parse", "HEAD")
	if got := r.Head("feature"); got != head {
		t.Fatalf("feature is at %s, want %s", got, head)
	}
	n := mustPull(t, r, "ann", "feature")
	if got := mustGit(t, dir, "", "ls-remote", "origin", "refs/pull/1/head"); !strings.HasPrefix(got, head) {
		t.Fatalf("refs/pull/1/head: %s", got)
	}
	mustGit(t, dir, auth, "push", "-q", "origin", "feature:main")
	if p := r.Pull(n); !p.Merged || p.State != "closed" {
		t.Fatalf("pushing the head to main did not merge: %+v", p)
	}
	if out, ok := git(t, dir, auth, "push", "-f", "origin", "HEAD~1:refs/pull/1/head"); ok || !strings.Contains(out, "hidden ref") {
		t.Fatalf("refs/pull is not for pushing: %s", out)
	}
	mustGit(t, dir, auth, "push", "-q", "origin", ":feature")
	if got := r.Head("feature"); got != "" {
		t.Fatalf("feature is still at %s", got)
	}
}

func TestLargePushAndOldProtocol(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	dir := filepath.Join(t.TempDir(), "clone")
	mustGit(t, ".", "", "-c", "protocol.version=0", "clone", "-q", r.CloneURL(), dir)
	for i := range 150 {
		if err := os.WriteFile(filepath.Join(dir, "f"+strings.Repeat("x", i)), fmt.Append(nil, i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	big := make([]byte, 3<<20) // above http.postBuffer: sent in chunks, after a probe
	for i := range big {
		big[i] = byte(i * i >> 3 * i)
	}
	if err := os.WriteFile(filepath.Join(dir, "big"), big, 0o644); err != nil {
		t.Fatal(err)
	}
	mustGit(t, dir, "", "add", ".")
	mustGit(t, dir, "", "commit", "-qm", "many")
	mustGit(t, dir, "Authorization: Bearer "+s.UserToken("o"), "-c", "http.postBuffer=65536", "push", "-q", "origin", "HEAD:main")
	if r.Head("main") != mustGit(t, dir, "", "rev-parse", "HEAD") {
		t.Error("main did not move")
	}
	mustGit(t, r.Dir(), "", "fsck", "--strict")
}

func TestManyPullRequests(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	many := 1000
	if testing.Short() {
		many = 200
	}
	var commits []forgetest.Commit
	for i := range many {
		commits = append(commits, forgetest.Commit{Branch: fmt.Sprintf("c/%d", i), Files: map[string]string{fmt.Sprintf("pkg%d/x", i): "x"}})
	}
	if _, err := r.Commits("o", commits); err != nil {
		t.Fatal(err)
	}
	for _, c := range commits {
		mustPull(t, r, "o", c.Branch)
	}
	heads := mustGit(t, ".", "", "ls-remote", r.CloneURL(), "refs/pull/*/head")
	if n := strings.Count(heads, "\n") + 1; n != many {
		t.Errorf("%d heads", n)
	}
}

func TestVerbsOnWhatIsNotThere(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	for name, f := range map[string]func(){
		"pull request": func() { r.ClosePull("o", 7) },
		"user":         func() { r.Comment("nobody", r.OpenIssue("o", "x"), "x") },
		"comment":      func() { r.EditComment("o", 7, "x") },
		"role":         func() { r.SetPermission("o", "boss") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	if _, err := r.OpenPull("o", "none", "main", "x"); err == nil {
		t.Error("a pull request from nowhere")
	}
	if _, err := r.OpenPull("o", "main", "none", "x"); err == nil {
		t.Error("a pull request to nowhere")
	}
	if _, err := r.OpenPull("o", "none:main", "main", "x"); err == nil {
		t.Error("a pull request from no fork")
	}
	r.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue"}})
	if _, err := r.Commit("o", forgetest.Commit{Branch: "main"}); err == nil || !strings.Contains(err.Error(), "GH006") {
		t.Errorf("verbs obey protection: %v", err)
	}
	r.UnprotectBranch("main")
	mustCommit(t, r, "o", forgetest.Commit{Branch: "main"})
}
