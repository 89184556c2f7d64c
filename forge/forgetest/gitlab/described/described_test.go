package described_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab/described"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// spy is a test that collects what is said of it.
type spy struct {
	testing.TB
	said []string
}

func (s *spy) Helper() {}
func (s *spy) Errorf(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func TestJudge(t *testing.T) {
	storetest.Need(t, "gitlab-contracts", described.There())
	for _, c := range []struct {
		method, path, body, want string
	}{
		{"POST", "statuses/abc", `{"state":"running","name":"x","ref":"y","description":"z"}`, ""},
		{"POST", "statuses/abc", `{"state":"neutral"}`, "none of"},
		{"POST", "statuses/abc", `{"name":"x"}`, `"state" is required`},
		{"POST", "statuses/abc", `{"state":"running","titel":"x"}`, `no member "titel"`},
		{"PUT", "merge_requests/1/merge", `{"squash":"yes"}`, "should be a boolean"},
		{"GET", "merge_requests?stat=opened", "", `no query parameter "stat"`},
		{"GET", "merge_requests?state=open", "", "none of"},
		{"PATCH", "merge_requests", "", "no such method"},
		{"GET", "nobody/describes/that", "", ""},
	} {
		s := &spy{TB: t}
		described.Judge(s)(gitlab.Exchange{Request: httptest.NewRequest(c.method, "/api/v4/projects/1/"+c.path, http.NoBody), Body: []byte(c.body), Status: 200})
		if got := strings.Join(s.said, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s %s: %q, want %q", c.method, c.path, c.body, got, c.want)
		}
	}
	s := &spy{TB: t}
	answer, _ := json.Marshal(map[string]any{"iid": 1, "titel": "x"})
	described.Judge(s)(gitlab.Exchange{Request: httptest.NewRequest("GET", "/api/v4/projects/1/merge_requests/1", http.NoBody), Status: 200, Answer: answer})
	if len(s.said) != 1 || !strings.Contains(s.said[0], "titel") {
		t.Errorf("of an answer: %q", s.said)
	}
}
