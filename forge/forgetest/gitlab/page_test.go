package gitlab_test

import (
	"io"
	"net/http"
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
	for path, want := range map[string][]string{
		"/group/sub/r":                                  {"&lt;script&gt;1", `href="/group/sub/r/-/merge_requests/1"`, "Begin"},
		"/group/sub/r/-/merge_requests/":                {"&lt;script&gt;1"},
		"/group/sub/r/-/merge_requests/1":               {"&lt;img src=x&gt;", "&lt;b&gt;note"},
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
		if (resp.StatusCode == 200) != (want != nil) || strings.Contains(text, "<script>") || strings.Contains(text, "<img") || strings.Contains(text, "<b>note") {
			t.Errorf("%s: %d: %s", path, resp.StatusCode, text)
		}
		for _, part := range want {
			w.contains(text, part)
		}
	}
}
