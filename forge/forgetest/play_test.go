package forgetest_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// send posts a comment as a form of a page would, and returns the status and where it leads.
func send(t *testing.T, at, text string, edit func(*http.Request)) (status int, to string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(url.Values{"text": {text}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if edit != nil {
		edit(req)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("Location")
}

// A person comments on the pages, and pushes with git: a branch opens a pull request, once.
func TestPlay(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	s.AddUser("ann")
	r.SetPermission("ann", "write")
	r.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"o"}})
	mustCommit(t, r, "ann", forgetest.Commit{Branch: "feature", Message: "x", Files: map[string]string{"a": "1\n"}})
	if _, err := r.OpenPull("ann", "feature", "main", "x"); err != nil {
		t.Fatal(err)
	}
	at := s.URL() + "/o/r/pull/1/comments"
	if status, _ := send(t, at, "/land", nil); status != http.StatusMethodNotAllowed {
		t.Errorf("nobody plays, and a comment is %d", status)
	}
	if page := mustSay(t, s, "/o/r/pull/1"); strings.Contains(page, "<form") || strings.Contains(page, "<script") {
		t.Errorf("nobody plays, and the page is not for reading only:\n%s", page)
	}

	clone, err := r.Play("guest")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(clone)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	for _, path := range []string{"/o/r", "/o/r/pull/1"} {
		if page := mustSay(t, s, path, "guest", `<script defer src="/-/play.js">`); password == "" || strings.Contains(page, password) {
			t.Errorf("%s shows the password to each user of the machine:\n%s", path, page)
		}
	}
	mustSay(t, s, "/o/r/pull/1", `<form method="post" action="/o/r/pull/1/comments">`, `<textarea id="text"`)

	for name, edit := range map[string]func(*http.Request){
		"another site":    func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"another port":    func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another name":    func(r *http.Request) { r.Host = "evil.example" },
		"its own by name": func(r *http.Request) { r.Host = "evil.example"; r.Header.Set("Origin", "http://evil.example") },
	} {
		if status, _ := send(t, at, "/land", edit); status != http.StatusForbidden {
			t.Errorf("a form of %s is answered %d", name, status)
		}
	}
	if status, _ := send(t, at, strings.Repeat("x", 1<<20), nil); status != http.StatusBadRequest {
		t.Errorf("a megabyte is answered %d", status)
	}
	if status, _ := send(t, s.URL()+"/o/r/pull/7/comments", "/land", nil); status != http.StatusNotFound {
		t.Errorf("a pull request that is not there: %d", status)
	}
	if status, to := send(t, at, " \n", nil); status != http.StatusSeeOther || to != "/o/r/pull/1#comments" {
		t.Errorf("an empty comment: %d to %s", status, to)
	}
	status, to := send(t, at, "/land <b>now</b>\r\n", func(r *http.Request) { r.Header.Set("Origin", s.URL()) })
	said := r.Comments(1)
	if status != http.StatusSeeOther || len(said) != 1 || said[0].Author != "guest" || said[0].Body != "/land <b>now</b>" || !strings.HasPrefix(to, "/o/r/pull/1#issuecomment-") {
		t.Fatalf("%d to %s: %+v", status, to, said)
	}
	mustSay(t, s, "/o/r/pull/1", "/land &lt;b&gt;now&lt;/b&gt;")

	dir := filepath.Join(t.TempDir(), "r")
	mustGit(t, ".", "", "clone", "-q", clone, dir)
	if out, ok := git(t, dir, "", "push", "origin", "HEAD:refs/heads/empty"); !ok || !strings.Contains(out, "empty has no commit that main lacks") {
		t.Errorf("a branch without a commit of its own: %s", out)
	}
	commit := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "mine"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		mustGit(t, dir, "", "add", "mine")
		mustGit(t, dir, "", "commit", "-qm", "Mine is "+text)
	}
	mustGit(t, dir, "", "switch", "-qc", "mine")
	commit("one")
	if out, ok := git(t, dir, "", "push", "origin", "mine"); !ok || !strings.Contains(out, "Pull request #2 is open: "+s.URL()+"/o/r/pull/2") {
		t.Fatalf("the first push: %s", out)
	}
	commit("two")
	if out, ok := git(t, dir, "", "push", "origin", "mine"); !ok || !strings.Contains(out, "Pull request #2 has your commit") {
		t.Fatalf("the second push: %s", out)
	}
	if p := r.Pull(2); p.Title != "Mine is one" || p.Author != "guest" || p.Base != "main" || p.Head != mustGit(t, dir, "", "rev-parse", "HEAD") {
		t.Errorf("%+v", p)
	}
	if out, ok := git(t, dir, "", "push", "origin", "HEAD:main"); ok || !strings.Contains(out, "protected") {
		t.Errorf("a push to main: %s", out)
	}
	mustCommit(t, r, "ann", forgetest.Commit{Branch: "other", Message: "y", Files: map[string]string{"b": "1\n"}})
	if n := strings.Count(mustSay(t, s, "/o/r"), `<span class="chip open">`); n != 2 {
		t.Errorf("%d pull requests are open: a push of others opened one", n)
	}
}
