package forgetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Judge holds the server to a description of GitHub's REST and GraphQL interfaces. Its
// methods are called by many requests at the same time; route is one of Routes.
type Judge interface {
	// Request says why GitHub would not take a request, or nil. The server then
	// answers 422.
	Request(route string, r *http.Request, body []byte) error
	// Answer looks at what the server answers. Injected faults are not shown to it.
	Answer(route string, r *http.Request, a Answer)
	// Webhook looks at what the server sends.
	Webhook(event, action string, payload []byte)
	// Query looks at a question in GraphQL and what the server answers, but for
	// questions of which only the name is sent.
	Query(query string, variables map[string]any, answer []byte)
}

// Answer is what the server answered to a request.
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

// judged shows the judge, if there is one, what is answered.
func (s *web) judged(w http.ResponseWriter, r *http.Request, rt route) (_ http.ResponseWriter, done func()) {
	if s.server.opts.Judge == nil || rt.pattern == "" {
		return w, func() {}
	}
	rec := &recorder{ResponseWriter: w, status: http.StatusOK, keep: true}
	return rec, func() {
		s.server.opts.Judge.Answer(rt.pattern, r, Answer{rec.status, rec.Header(), rec.body})
	}
}

// queried shows the judge, if there is one, what is asked and answered in GraphQL. It
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
