package forgetest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

func TestSuiteSaysHowItEnded(t *testing.T) {
	s := mustServer(t, forgetest.Options{Permissions: map[string]string{"metadata": "read", "checks": "read"}})
	r := mustRepository(t, s)
	r.CI.SetCI(t, func(forgetest.CIPush) []forgetest.CIJob {
		return []forgetest.CIJob{{Name: "unit", Conclusion: "failure"}, {Name: "slow"}, {Name: "lint", App: "linter", Conclusion: "success"}}
	})
	head := mustCommit(t, r, "o", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "1"}})
	n := mustPull(t, r, "o", "topic")
	c := installed(t, s, "null")
	suites := func() string {
		out := ""
		for _, x := range c.want(200, "GET", "/repos/o/r/commits/"+head+"/check-suites", "")["check_suites"].([]any) {
			x := x.(map[string]any)
			out += fmt.Sprint(x["app"].(map[string]any)["slug"], " ", x["status"], " ", x["conclusion"], " ", len(x["pull_requests"].([]any)), "; ")
		}
		return out
	}
	if got, want := suites(), "linter completed success 0; github-actions in_progress <nil> 1; "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.CI.FinishCI("topic", "slow", "success")
	r.ClosePull("o", n)
	if got, want := suites(), "linter completed success 0; github-actions completed failure 0; "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// There is one record of statuses, whoever asks.
func TestStatusesAreSeenByAll(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	head := mustCommit(t, r, "o", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "1"}})
	n := mustPull(t, r, "o", "topic")
	r.CI.PostStatus(head, "ci/unit", "pending")
	r.CI.PostStatus(head, "CI/unit", "failure")
	r.CI.PostStatus(head, "style", "success")
	c := rest{t, s, s.UserToken("o")}
	got := c.want(200, "GET", "/repos/o/r/commits/"+head+"/status", "")
	if got["state"] != "failure" || got["total_count"] != 2.0 {
		t.Errorf("%v %v", got["state"], got["total_count"])
	}
	answer := c.graphQL(`{"query":"query Unmet(","variables":{"owner":"o","name":"r","number":%d,"branch":"main","checks":true}}`, n)
	if want := "[map[__typename:StatusContext context:style state:SUCCESS] map[__typename:StatusContext context:CI/unit state:FAILURE]]"; answer != want {
		t.Errorf("got %s, want %s", answer, want)
	}
}

// graphQL returns what has run on the head of a pull request.
func (c rest) graphQL(body string, number int) string {
	c.Helper()
	_, answer := c.post("/api/graphql", fmt.Sprintf(body, number))
	var at any
	if err := json.Unmarshal([]byte(answer), &at); err != nil {
		c.Fatal(err)
	}
	for _, name := range []any{"data", "repository", "pullRequest", "commits", "nodes", 0, "commit", "statusCheckRollup", "contexts", "nodes"} {
		switch name := name.(type) {
		case string:
			at = at.(map[string]any)[name]
		case int:
			at = at.([]any)[name]
		}
	}
	return fmt.Sprint(at)
}

// post asks outside of the REST interface.
func (c rest) post(path, body string) (*http.Response, string) {
	c.Helper()
	req, err := http.NewRequest("POST", c.s.URL()+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return resp, string(data)
}
