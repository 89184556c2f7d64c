package forgetest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
)

// rest is a client without a library, to see what is really said.
type rest struct {
	*testing.T
	s     *forgetest.Server
	token string
}

func (c rest) do(method, path, body string) (int, http.Header, map[string]any) {
	c.Helper()
	req, err := http.NewRequest(method, c.s.APIURL()+strings.TrimPrefix(path, "/"), strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	out := map[string]any{}
	if strings.HasPrefix(string(data), "[") {
		data = []byte(`{"list":` + string(data) + `}`)
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &out); err != nil {
			c.Fatalf("%s %s: %v in %q", method, path, err, data)
		}
	}
	return resp.StatusCode, resp.Header, out
}

func (c rest) want(status int, method, path, body string) map[string]any {
	c.Helper()
	got, _, out := c.do(method, path, body)
	if got != status {
		c.Errorf("%s %s %.200s: %d, want %d: %v", method, path, body, got, status, out)
	}
	return out
}

func TestRequestsAreJudged(t *testing.T) {
	s := mustServer(t, forgetest.Options{Judge: contract.Wrong(t)})
	r := mustRepository(t, s)
	s.AddUser("ann")
	mustCommit(t, r, "o", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "1"}})
	mustPull(t, r, "ann", "topic")
	id := r.Comment("ann", 1, "hi")
	c := rest{t, s, s.UserToken("o")}
	const base = "/repos/o/r"
	for _, x := range []struct {
		status             int
		method, path, body string
	}{
		{201, "POST", base + "/issues/1/comments", `{"body":"x"}`},
		{422, "POST", base + "/issues/1/comments", `{"text":"x"}`},
		{422, "POST", base + "/issues/1/comments", `{}`},
		{422, "POST", base + "/issues/1/comments", `{"body":7}`},
		{422, "POST", base + "/issues/1/comments", `{"body":"` + strings.Repeat("x", 65_537) + `"}`},
		{400, "POST", base + "/issues/1/comments", `{"body"`},
		{404, "POST", base + "/issues/9/comments", `{"body":"x"}`},
		{404, "POST", base + "/issues/one/comments", `{"body":"x"}`},
		{200, "GET", base + fmt.Sprintf("/issues/comments/%d", id), ""},
		{422, "GET", base + "/issues/comments?since=yesterday", ""},
		{422, "POST", base + fmt.Sprintf("/issues/comments/%d/reactions", id), `{"content":"thumbs"}`},
		{201, "POST", base + fmt.Sprintf("/issues/comments/%d/reactions", id), `{"content":"eyes"}`},
		{200, "POST", base + fmt.Sprintf("/issues/comments/%d/reactions", id), `{"content":"eyes"}`},
		{403, "POST", base + "/check-runs", `{"name":"x","head_sha":"y"}`}, // not an App
		{200, "POST", base + "/issues/1/labels", `["a","b"]`},
		{200, "DELETE", base + "/issues/1/labels/a", ""},
		{404, "DELETE", base + "/issues/1/labels/a", ""},
		{422, "GET", base + "/pulls?state=merged", ""},
		{422, "PATCH", base + "/pulls/1", `{"state":"merged"}`},
		{422, "PATCH", base + "/pulls/1", `{"base":"nowhere"}`},
		{200, "PATCH", base + "/pulls/1", `{"title":"New","state":"closed"}`},
		{200, "PATCH", base + "/pulls/1", `{"state":"open"}`},
		{204, "DELETE", base + fmt.Sprintf("/issues/comments/%d", id), ""},
		{404, "GET", base + fmt.Sprintf("/issues/comments/%d", id), ""},
		{404, "GET", "/repos/o/none", ""},
		{404, "GET", "/nothing", ""},
		{404, "GET", base + "/git/ref/heads/../../config", ""},
		{401, "GET", "/app", ""},
	} {
		c.want(x.status, x.method, x.path, x.body)
	}
	if p := r.Pull(1); p.Title != "New" || p.State != "open" || fmt.Sprint(p.Labels) != "[b]" {
		t.Errorf("%+v", p)
	}
	anonymous := rest{t, s, ""}
	anonymous.want(200, "GET", base, "")
	anonymous.want(401, "POST", base+"/issues/1/comments", `{"body":"x"}`)
	rest{t, s, "ghs_wrong"}.want(401, "GET", base, "")
	r.SetPrivate()
	anonymous.want(404, "GET", base, "")
	rest{t, s, s.UserToken("ann")}.want(404, "GET", base, "")
}

func TestContentsFilesRefs(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	s.AddUser("ann")
	head := mustCommit(t, r, "o", forgetest.Commit{
		Branch: "feature/x", Files: map[string]string{"dir/ä b.txt": "one\ntwo\n", "dir/c": "c\n"}, Delete: []string{"README.md"},
	})
	mustPull(t, r, "ann", "feature/x")
	c := rest{t, s, s.UserToken("ann")}
	const base = "/repos/o/r"
	if got := c.want(200, "GET", base+"/contents/dir/c?ref=feature/x", ""); got["content"] != "Ywo=" {
		t.Errorf("%v", got)
	}
	c.want(404, "GET", base+"/contents/dir/c", "")
	if got := c.want(200, "GET", base+"/contents/dir?ref="+head, ""); len(got["list"].([]any)) != 2 {
		t.Errorf("%v", got)
	}
	var names []string
	for _, f := range c.want(200, "GET", base+"/pulls/1/files", "")["list"].([]any) {
		m := f.(map[string]any)
		names = append(names, fmt.Sprint(m["status"], " ", m["filename"], " +", m["additions"], "-", m["deletions"]))
	}
	if got := strings.Join(names, ", "); got != "removed README.md +0-1, added dir/c +1-0, added dir/ä b.txt +2-0" {
		t.Error(got)
	}
	for _, path := range []string{"/git/ref/heads/feature/x", "/git/ref/pull/1/head"} {
		if got := c.want(200, "GET", base+path, ""); got["object"].(map[string]any)["sha"] != head {
			t.Errorf("%v", got)
		}
	}
	if got := c.want(200, "GET", base+"/branches/feature%2Fx", ""); got["name"] != "feature/x" {
		t.Errorf("%v", got)
	}
	// The same after git has packed everything.
	mustGit(t, r.Dir(), "", "gc", "-q")
	if r.Head("feature/x") != head || r.Head("none") != "" {
		t.Error("packed refs are not read")
	}
	c.want(200, "GET", base+"/commits/"+head+"/check-runs", "")
	c.want(422, "GET", base+"/commits/"+strings.Repeat("0", 40)+"/check-runs", "")
	if got := c.want(200, "GET", "/rate_limit", "")["rate"].(map[string]any); got["used"].(float64) < 5 {
		t.Errorf("%v", got)
	}
}

func TestListsArePaged(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	var commits []forgetest.Commit
	for i := range 7 {
		commits = append(commits, forgetest.Commit{Branch: fmt.Sprint("b", i), Files: map[string]string{"f": fmt.Sprint(i)}})
	}
	if _, err := r.Commits("o", commits); err != nil {
		t.Fatal(err)
	}
	for _, x := range commits {
		mustPull(t, r, "o", x.Branch)
	}
	r.ClosePull("o", 2)
	c := rest{t, s, ""}
	_, h, out := c.do("GET", "/repos/o/r/pulls?base=main&sort=created&direction=asc&per_page=4&page=1", "")
	list := out["list"].([]any)
	if len(list) != 4 || list[1].(map[string]any)["number"] != 3.0 || !strings.Contains(h.Get("Link"), `rel="next"`) {
		t.Errorf("%d %s", len(list), h.Get("Link"))
	}
	_, h, out = c.do("GET", "/repos/o/r/pulls?state=all&per_page=4&page=2", "")
	list = out["list"].([]any)
	if len(list) != 3 || list[2].(map[string]any)["number"] != 1.0 || strings.Contains(h.Get("Link"), `rel="next"`) {
		t.Errorf("%d %s", len(list), h.Get("Link"))
	}
	if _, _, out = c.do("GET", "/repos/o/r/pulls?head=o:b4", ""); len(out["list"].([]any)) != 1 {
		t.Errorf("%v", out)
	}
}

func TestFaults(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	mustRepository(t, s)
	c := rest{t, s, ""}
	s.Fail(forgetest.Fault{Path: "/repos/**", Status: 503, Times: 2, Header: http.Header{"Retry-After": {"3"}}, Message: "busy"})
	if status, h, out := c.do("GET", "/repos/o/r", ""); status != 503 || h.Get("Retry-After") != "3" || out["message"] != "busy" {
		t.Errorf("%d %v", status, out)
	}
	c.want(200, "GET", "/rate_limit", "")
	c.want(503, "GET", "/repos/o/r", "")
	c.want(200, "GET", "/repos/o/r", "")
	if got := s.Requests("", "/repos/o/*"); len(got) != 3 || got[2].Status != 200 {
		t.Errorf("%+v", got)
	}
	s.Fail(forgetest.Fault{Path: "/o/r.git/**", Status: 500})
	if out, ok := git(t, ".", "", "ls-remote", s.Repository("o", "r").CloneURL()); ok {
		t.Errorf("git noticed nothing: %s", out)
	}
	mustGit(t, ".", "", "ls-remote", s.Repository("o", "r").CloneURL())
}
