package forgetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Judge checks the server against a description of GitHub's REST and GraphQL
// interfaces. Many requests call its methods at the same time; route is one of Routes.
type Judge interface {
	// Request says why GitHub would not take a request, or nil. The server then
	// answers 422.
	Request(route string, r *http.Request, body []byte) error
	// Answer looks at an answer of the server. Injected faults are not shown to it.
	Answer(route string, r *http.Request, a Answer)
	// Webhook looks at a webhook that the server sends.
	Webhook(event, action string, payload []byte)
	// Query looks at a GraphQL query and the server's answer. Requests that send only
	// the name of a query are not shown to it.
	Query(query string, variables map[string]any, answer []byte)
}

// Answer is the server's answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Routes lists the endpoints of the REST interface, such as
// "GET /repos/{owner}/{repo}/git/ref/{ref...}", sorted.
func Routes() []string {
	var list []string
	for _, r := range routes() {
		list = append(list, r.pattern)
	}
	slices.Sort(list)
	return list
}

func routes() []route {
	return slices.Concat(appRoutes(), repoRoutes(), pullRoutes(), issueRoutes(), checkRoutes(),
		inlineRoutes(), teamRoutes(), installRoutes(), ciRoutes(), stackRoutes())
}

// judged shows the answer to the judge, if there is one.
func (s *web) judged(w http.ResponseWriter, r *http.Request, rt route) (_ http.ResponseWriter, done func()) {
	if s.server.opts.Judge == nil || rt.pattern == "" {
		return w, func() {}
	}
	rec := &recorder{ResponseWriter: w, status: http.StatusOK, keep: true}
	return rec, func() {
		s.server.opts.Judge.Answer(rt.pattern, r, Answer{rec.status, rec.Header(), rec.body})
	}
}

// queried shows a GraphQL query and its answer to the judge, if there is one. It
// returns the request to go on with.
func (s *web) queried(w http.ResponseWriter, r *http.Request) (_ http.ResponseWriter, _ *http.Request, done func()) {
	if s.server.opts.Judge == nil {
		return w, r, func() {}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	r.Body = io.NopCloser(bytes.NewReader(body))
	var in struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	if err != nil || json.Unmarshal(body, &in) != nil || !strings.Contains(in.Query, "{") {
		return w, r, func() {}
	}
	rec := &recorder{ResponseWriter: w, status: http.StatusOK, keep: true}
	return rec, r, func() {
		if rec.status == http.StatusOK {
			s.server.opts.Judge.Query(in.Query, in.Variables, rec.body)
		}
	}
}
