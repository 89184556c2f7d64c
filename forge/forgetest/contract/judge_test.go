package contract_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// record is a test that takes down what is wrong.
type record struct {
	testing.TB
	said []string
}

func (r *record) Helper() {}

func (r *record) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *record) heard(t *testing.T, what, want string) {
	t.Helper()
	said := strings.Join(r.said, "\n")
	if want == "" && said != "" || !strings.Contains(said, want) || want != "" && said == "" {
		t.Errorf("%s: said %q, want %q", what, said, want)
	}
	r.said = nil
}

func TestRequestsMustFit(t *testing.T) {
	storetest.Need(t, "contracts", contract.There())
	r := &record{TB: t}
	j := contract.For(r)
	for _, c := range []struct{ route, path, body, wrong string }{
		{"POST /repos/{owner}/{repo}/check-runs", "", `{"name":"q","head_sha":"x","status":"in_progress","output":{"title":"t","summary":"s"}}`, ""},
		{"POST /repos/{owner}/{repo}/check-runs", "", `{"name":"q"}`, "head_sha"},
		{"POST /repos/{owner}/{repo}/check-runs", "", `{"name":"q","head_sha":"x","status":"doing"}`, "status"},
		{"POST /repos/{owner}/{repo}/check-runs", "", `{"name":"q","head_sha":"x","output":{"title":"t","summary":"s","sumary":"s"}}`, "no member .output.sumary"},
		{"POST /repos/{owner}/{repo}/issues/{number}/comments", "number=7", `{"body":"x"}`, ""},
		{"POST /repos/{owner}/{repo}/issues/{number}/comments", "number=seven", `{"body":"x"}`, "issue_number"},
		{"POST /repos/{owner}/{repo}/issues/{number}/comments", "number=7", `{"body":"x","bodyy":"y"}`, "no member .bodyy"},
		{"POST /repos/{owner}/{repo}/issues/{number}/labels", "number=7", `["a"]`, ""},
		{"POST /app/installations/{id}/access_tokens", "id=7", `null`, ""},
		{"GET /repos/{owner}/{repo}/pulls", "?state=all", "", ""},
		{"GET /repos/{owner}/{repo}/pulls", "?state=merged", "", "state"},
		{"GET /repos/{owner}/{repo}/pulls", "?stat=all", "", `no query parameter "stat"`},
		{"GET /repos/{owner}/{repo}/merge-queue", "", "", "no such endpoint"},
	} {
		method, _, _ := strings.Cut(c.route, " ")
		req := httptest.NewRequest(method, "http://x/", nil)
		req.SetPathValue("owner", "o")
		req.SetPathValue("repo", "r")
		if query, ok := strings.CutPrefix(c.path, "?"); ok {
			req.URL.RawQuery = query
		} else if name, value, ok := strings.Cut(c.path, "="); ok {
			req.SetPathValue(name, value)
		}
		err := j.Request(c.route, req, []byte(c.body))
		if (err == nil) != (c.wrong == "") {
			t.Errorf("%s %s: %v", c.route, c.body, err)
		}
		r.heard(t, c.route+" "+c.body, c.wrong)
	}
}

func TestAnswersMustFit(t *testing.T) {
	storetest.Need(t, "contracts", contract.There())
	r := &record{TB: t}
	j := contract.For(r)
	const problem = `{"message":"m","documentation_url":"d","status":"500"}`
	ref := func(more string) string {
		return `{"ref":"refs/heads/x","node_id":"n","url":"http://x/","object":{"type":"commit","sha":"` + strings.Repeat("a", 40) + `"` + more
	}
	for _, c := range []struct {
		status      int
		body, wrong string
	}{
		{200, ref(`,"url":"http://x/"}}`), ""},
		{200, ref(`}}`), "url"},
		{200, ref(`,"url":"http://x/","odd":1}}`), "no member .object.odd"},
		{201, ref(`,"url":"http://x/"}}`), "not documented"},
		{301, `{"message":"m","url":"http://x/new"}`, ""},
		{301, `{"message":"m","url":"http://x/other"}`, "its body says"},
		{301, "", "JSON"},
		{304, "", ""},
		{304, "{}", "no body"},
		{404, problem, ""},
		{500, problem, ""},
		{500, `{"message":7}`, "message"},
		{429, `<html>`, "invalid character"},
	} {
		req := httptest.NewRequest("GET", "http://x/", nil)
		for _, name := range []string{"owner", "repo", "ref"} {
			req.SetPathValue(name, "x")
		}
		j.Answer("GET /repos/{owner}/{repo}/git/ref/{ref...}", req, forgetest.Answer{
			Status: c.status, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Location": {"http://x/new"}}, Body: []byte(c.body)})
		r.heard(t, fmt.Sprint(c.status, " ", c.body), c.wrong)
	}
}

// TestWrongRequests: where requests are wrong on purpose, the server must see it.
func TestWrongRequests(t *testing.T) {
	storetest.Need(t, "contracts", contract.There())
	r := &record{TB: t}
	s, err := forgetest.New(forgetest.Options{Judge: contract.Wrong(r)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	repo, err := s.AddRepository("o", "r", "main")
	if err != nil {
		t.Fatal(err)
	}
	n := repo.OpenIssue("o", "talk")
	ask := func(method, path, body string) int {
		req := httptest.NewRequest(method, s.APIURL()+path, strings.NewReader(body))
		req.RequestURI = ""
		req.Header.Set("Authorization", "Bearer "+s.UserToken("o"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	if got := ask("POST", fmt.Sprintf("repos/o/r/issues/%d/comments", n), `{"text":"x"}`); got != 422 {
		t.Errorf("answered %d", got)
	}
	r.heard(t, "a member that the server refuses", "")
	ask("GET", "repos/o/r/pulls?sate=all", "")
	r.heard(t, "a parameter that the server lets pass", "which GitHub refuses")
}

func TestWebhooksMustFit(t *testing.T) {
	storetest.Need(t, "contracts", contract.There())
	r := &record{TB: t}
	j := contract.For(r)
	for _, c := range []struct{ event, action, payload, wrong string }{
		{"check_run", "finished", `{}`, "no such event"},
		{"star", "created", `{}`, "add it there"},
		{"ping", "", `{"zen":"z","hook_id":1,"hook":{"type":"App"}}`, "hook"},
		{"delete", "", `{"ref":"x","ref_type":"branch","pusher_type":"user","odd":1}`, "no member .odd"},
	} {
		j.Webhook(c.event, c.action, []byte(c.payload))
		r.heard(t, c.event+" "+c.payload, c.wrong)
	}
}
