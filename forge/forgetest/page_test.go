package forgetest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// browse gets a page as a browser would.
func browse(t *testing.T, s *forgetest.Server, path string) (status int, text string) {
	t.Helper()
	resp, err := http.Get(s.URL() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(string(body), "<!doctype") {
		if kind := resp.Header.Get("Content-Type"); kind != "text/html; charset=utf-8" {
			t.Errorf("%s is %s", path, kind)
		}
		if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
	return resp.StatusCode, string(body)
}

func mustSay(t *testing.T, s *forgetest.Server, path string, texts ...string) string {
	t.Helper()
	status, page := browse(t, s, path)
	if status != 200 {
		t.Fatalf("%s: %d %s", path, status, page)
	}
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("%s does not say %q:\n%s", path, text, page)
		}
	}
	return page
}

func TestPages(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	s.AddUser("ann")
	r.SetPermission("ann", "write")
	head := mustCommit(t, r, "ann", forgetest.Commit{Branch: "feature", Message: "Say hello\n\nTo everybody.", Files: map[string]string{"a.txt": "hello\n"}})
	n, err := r.Open(forgetest.Pull{Author: "ann", Branch: "feature", Base: "main", Title: "Say hello", Body: "Because it is **kind**."})
	if err != nil {
		t.Fatal(err)
	}
	r.Comment("ann", n, "/land")
	bot := r.Comment(s.Bot(), n, strings.Join([]string{
		"### ❌ Rejected: failed in `unit`", "", "Built as [`77aa`](" + s.URL() + "/o/r/commit/" + head + "), the merge.", "",
		"**`unit`** failed:", "", "```text", "a.go:1: <b>no</b>", "```", "", "- one", "- [ ] Check `x` <!-- box:land -->", "- `<!-- kept -->`", "", "---", "[bad](javascript:alert(1))", "", "<!-- submitqueue:o/r@main -->",
	}, "\n"))
	run := r.CI.SetCheck("ci", head, "unit", "failure")

	mustSay(t, s, "/", `<a href="/o/r">o/r</a>`, "1 open of 1")
	mustSay(t, s, "/o/r", "Say hello", `href="/o/r/pull/1"`, r.CloneURL(), "first")
	page := mustSay(t, s, "/o/r/pull/1",
		`<span class="chip open">open</span>`, "ann", "feature", "main", head[:10], `href="/o/r/commit/`+head, "Because it is <strong>kind</strong>.",
		fmt.Sprintf(`id="issuecomment-%d"`, bot), "<p>/land</p>", "<h3>❌ Rejected: failed in <code><bdi>unit</bdi></code></h3>",
		`rel="noreferrer"><code><bdi>77aa</bdi></code></a>`, "<strong><code><bdi>unit</bdi></code></strong>", "<pre>a.go:1: &lt;b&gt;no&lt;/b&gt;</pre>", "• one", "• [ ] Check <code><bdi>x</bdi></code><", "&lt;!-- kept --&gt;", "<hr>",
		`<span class="chip failure">failure</span> unit`)
	for _, text := range []string{`href="javascript`, "submitqueue:o/r@main", "box:land", "###", "```"} {
		if strings.Contains(page, text) {
			t.Errorf("the page has %q:\n%s", text, page)
		}
	}
	mustSay(t, s, "/o/r/commit/"+head, "Say hello", "To everybody.", "&#43;hello", "a.txt", `<span class="chip failure">`)
	mustSay(t, s, fmt.Sprintf("/o/r/runs/%d", run), head)
	mustSay(t, s, "/-/style.css", "--paper")
	if len(r.Unread()) != 1 {
		t.Error("looking at a page marked the bot's comment as read")
	}

	mustCommit(t, r, "o", forgetest.Commit{Branch: "main", Merge: "feature", Message: "Merge feature", Files: map[string]string{"a.txt": "hello\n"}})
	mustSay(t, s, "/o/r/pull/1", `<span class="chip merged">merged</span>`)
	mustSay(t, s, "/o/r/commit/"+r.Head("main"), "&#43;hello", "in its first parent")
	mustSay(t, s, "/o/r", "Merge feature")
}

// People's words reach the page as text.
func TestPagesEscape(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	s.AddUser("eve")
	r.SetPermission("eve", "write")
	head := mustCommit(t, r, "eve", forgetest.Commit{Branch: "evil<b>", Message: evil + "\n\n" + evil, Files: map[string]string{"a<b>": evil}})
	n, err := r.Open(forgetest.Pull{Author: "eve", Branch: "evil<b>", Base: "main", Title: evil, Body: evil})
	if err != nil {
		t.Fatal(err)
	}
	r.Label("eve", n, evil)
	for _, body := range []string{evil, "`" + evil + "`", "**" + evil + "**", "# " + evil, "- " + evil, "```\n" + evil, "[" + evil + "](https://x/?\"><script>)", "[x](https://x/%22onclick=)", "[`a`](data:text/html,x)"} {
		r.Comment("eve", n, body)
	}
	r.CI.SetCheck("ci", head, evil, "failure")
	for _, path := range []string{"/", "/o/r", "/o/r/pull/1", "/o/r/commit/" + head} {
		page := mustSay(t, s, path)
		for _, text := range []string{"<script", "<img", "<b>", `href="data:`} {
			if strings.Contains(page, text) {
				t.Errorf("%s has %q:\n%s", path, text, page)
			}
		}
	}
}

func TestPagesOfWhatIsNotThere(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	hidden, err := s.AddRepository("o", "hidden", "main")
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, hidden, "o", forgetest.Commit{Branch: "main", Files: map[string]string{"a": "a"}})
	hidden.OpenIssue("o", "secret")
	hidden.SetPrivate()
	if page := mustSay(t, s, "/"); strings.Contains(page, "hidden") {
		t.Errorf("a private repository is listed:\n%s", page)
	}
	for _, path := range []string{
		"/o", "/o/none", "/o/hidden", "/o/hidden/pull/1", "/o/hidden/commit/" + hidden.Head("main"), "/o/r/pull/1", "/o/r/pull/x", "/o/r/pull/-1",
		"/o/r/commit/" + strings.Repeat("0", 40), "/o/r/commit/--all", "/o/r/commit/main", "/o/r/runs/1", "/o/r/tree/main", "/o/r.git", "/o/r.git/HEAD", "/-/", "/favicon.ico",
	} {
		if status, page := browse(t, s, path); status != 404 || strings.Contains(page, "secret") {
			t.Errorf("%s: %d %s", path, status, page)
		}
	}
	if _, page := browse(t, s, "/o/r/commit/"+strings.Repeat("0", 40)); !strings.Contains(page, "A trial merge that a bot has built, and not pushed") {
		t.Errorf("does not say why a commit may be missing:\n%s", page)
	}
	resp, err := http.Post(s.URL()+"/o/r", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", resp.StatusCode)
	}
	if _, err := s.AddRepository("o", "empty", "main"); err != nil {
		t.Fatal(err)
	}
	mustSay(t, s, "/o/empty", "None.")
	mustSay(t, s, fmt.Sprintf("/o/r/issues/%d", r.OpenIssue("o", "help")), "help")
}
