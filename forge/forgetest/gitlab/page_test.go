package gitlab_test

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
)

// Browsers are shown projects, merge requests and commits, whose texts stay text.
func TestPages(t *testing.T) {
	w := newWorld(t, gitlab.Options{})
	w.project.Push("ann", "topic", nil)
	n := w.project.Open(gitlab.Opening{Author: "ann", Source: "topic", Title: "<script>1</script>", Body: "<img src=x>"})
	w.project.Comment("ann", n, "<b>note</b>")
	w.project.Comment("ann", n, "### Rejected\n\n- [ ] Check **this** `box` <!-- box:retry -->\n\n[details](http://127.0.0.1/x)\n\n<!-- mark -->")
	for path, want := range map[string][]string{
		"/group/sub/r":                                  {"&lt;script&gt;1", `href="/group/sub/r/-/merge_requests/1"`, "Begin"},
		"/group/sub/r/-/merge_requests/":                {"&lt;script&gt;1"},
		"/group/sub/r/-/merge_requests/1":               {"&lt;img src=x&gt;", "&lt;b&gt;note", "<h3>Rejected</h3>", "<strong>this</strong>", "<code><bdi>box</bdi></code>", `<a href="http://127.0.0.1/x" rel="noreferrer">details</a>`},
		"/group/sub/r/commit/" + w.project.Tip("topic"): {"Change topic"},
		"/group/sub/r/-/merge_requests/2":               nil,
		"/group/sub/rest":                               nil,
		"/group/sub/r/-/commit/--all":                   nil,
		"/":                                             nil,
	} {
		resp, err := http.Get(w.server.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		text := string(data)
		if (resp.StatusCode == 200) != (want != nil) || strings.Contains(text, "<script>") || strings.Contains(text, "<img") || strings.Contains(text, "<b>note") || strings.Contains(text, "box:retry") || strings.Contains(text, "mark --") {
			t.Errorf("%s: %d: %s", path, resp.StatusCode, text)
		}
		for _, part := range want {
			w.contains(text, part)
		}
	}
}

// Where a person plays, a merge request's page takes notes as that person, from the pages
// of this server alone; elsewhere nothing is taken.
func TestPlayedPages(t *testing.T) {
	w := newWorld(t, gitlab.Options{})
	w.project.Push("ann", "topic", nil)
	n := w.project.Open(gitlab.Opening{Author: "ann", Source: "topic"})
	page := w.server.URL() + "/group/sub/r/-/merge_requests/" + strconv.Itoa(n)
	post := func(address, text, origin string) int {
		r, err := http.NewRequest(http.MethodPost, address, strings.NewReader(url.Values{"text": {text}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := post(page+"/notes", "/land", ""); got != http.StatusMethodNotAllowed {
		t.Errorf("where nobody plays: %d", got)
	}
	clone, err := w.project.Play("guest")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(clone)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		address, origin string
		want            int
	}{
		"the page":               {page + "/notes", w.server.URL(), http.StatusOK},
		"another site":           {page + "/notes", "http://evil.example.com", http.StatusForbidden},
		"no such merge request":  {page + "7/notes", "", http.StatusNotFound},
		"something else":         {page + "/approve", "", http.StatusNotFound},
		"no project of this one": {w.server.URL() + "/group/none/-/merge_requests/1/notes", "", http.StatusNotFound},
	} {
		if got := post(c.address, "from "+name, c.origin); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
	if got := post(page+"/notes", strings.Repeat("x", 70<<10), ""); got != http.StatusBadRequest {
		t.Errorf("a long note: %d", got)
	}
	if notes := w.project.Notes("guest", n); len(notes) != 1 || notes[0].Body != "from the page" {
		t.Errorf("the notes are %+v", notes)
	}
	resp, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	password, _ := u.User.Password()
	if text := string(data); password == "" || strings.Contains(text, password) || !strings.Contains(text, "<form") {
		t.Errorf("the page is %s", text)
	}
}
