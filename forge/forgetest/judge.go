package forgetest

import (
	"net/http"
	"slices"
)

// Judge holds the server to a description of GitHub's REST interface. Its
// methods are called by many requests at the same time; route is one of Routes.
type Judge interface {
	// Request says why GitHub would not take a request, or nil. The server then
	// answers 422.
	Request(route string, r *http.Request, body []byte) error
	// Answer looks at what the server answers. Injected faults are not shown to it.
	Answer(route string, r *http.Request, a Answer)
	// Webhook looks at what the server sends.
	Webhook(event, action string, payload []byte)
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
		inlineRoutes(), teamRoutes(), installRoutes(), ciRoutes())
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
