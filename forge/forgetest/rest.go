package forgetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// call is one REST request while it is answered.
type call struct {
	s    *Server
	r    *http.Request
	who  identity
	repo *Repository // nil outside /repos/
	next http.Header // headers to answer with
}

// answer is a body with a status other than 200.
type answer struct {
	status int
	body   any
}

// problem is an error in GitHub's shape.
type problem struct {
	status  int
	message string
	errors  []obj
	url     string // of a redirect
}

func (p *problem) Error() string { return p.message }

func notFound() error { return &problem{status: 404, message: "Not Found"} }
func invalid(errs ...obj) error {
	return &problem{status: 422, message: "Validation Failed", errors: errs}
}
func refused(message string) error { return &problem{status: 403, message: message} }

// endpoint answers a request with s.mu held, unless the route is slow.
type endpoint func(*call) (any, error)

func (s *web) handler() http.Handler {
	rt := newRouter(routes())
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v3/", func(w http.ResponseWriter, r *http.Request) {
		s.server.byName(r)
		s.rest(w, r, rt.find(r))
	})
	mux.HandleFunc("/api/graphql", s.graphQL)
	mux.HandleFunc("GET /_logs/{owner}/{name}/{id}", s.serveLog)
	repositories, pages := http.NewServeMux(), s.pages()
	repositories.HandleFunc("/{owner}/{name}/{rest...}", s.serveGit)
	s.server.App.manifestPages(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if part := strings.SplitN(r.URL.Path, "/", 4); len(part) == 4 && strings.HasSuffix(part[2], ".git") {
			repositories.ServeHTTP(w, r)
		} else {
			pages.ServeHTTP(w, r)
		}
	})
	return s.withFaults(mux)
}

// keptRequests bounds the list of Requests; beyond it the older half is dropped.
const keptRequests = 100_000

// withFaults applies injected faults and keeps the list of requests.
func (s *web) withFaults(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api/v3")
		s.server.mu.Lock()
		if s.server.closed {
			s.server.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		s.server.active.Add(1)
		defer s.server.active.Done()
		f := s.fault(r.Method, path)
		s.server.mu.Unlock()
		// It is listed before it is answered, so that a client with the answer finds it in
		// the list.
		rec := &recorder{ResponseWriter: w, status: 200}
		list := sync.OnceFunc(func() { s.list(Request{r.Method, path, rec.status}) })
		rec.answering = list
		if f == nil {
			next.ServeHTTP(rec, r)
		} else {
			rec.status = f.Status
			list()
			failWith(w, r, next, f)
		}
		list()
		s.server.log.Debug("request", "method", r.Method, "path", path, "status", rec.status)
	})
}

func (s *web) list(r Request) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if len(s.server.requests) == keptRequests {
		s.server.requests = append(s.server.requests[:0], s.server.requests[keptRequests/2:]...)
	}
	s.server.requests = append(s.server.requests, r)
}

func failWith(w http.ResponseWriter, r *http.Request, next http.Handler, f *Fault) {
	switch {
	case f.Hang:
		io.Copy(io.Discard, r.Body) // otherwise, the end of the connection would not be noticed
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case f.HangFor > 0:
		io.Copy(io.Discard, r.Body)
		select {
		case <-time.After(f.HangFor):
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case f.Truncate:
		truncated(w, r, next)
	case f.Until != nil:
		late(w, r, next, f.Until)
		return
	case f.After:
		next.ServeHTTP(&recorder{ResponseWriter: discard{http.Header{}}}, r)
	}
	if f.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), f.Header)
	writeProblem(w, &problem{status: f.Status, message: f.Message})
}

// late gives the right answer when until is closed, or cuts the connection when the
// client gives up.
func late(w http.ResponseWriter, r *http.Request, next http.Handler, until <-chan struct{}) {
	whole := answered(w, r, next)
	select {
	case <-until:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(whole.status)
	w.Write(whole.body)
}

// answered carries out a request, and holds back the body of its answer.
func answered(w http.ResponseWriter, r *http.Request, next http.Handler) *recorder {
	whole := &recorder{ResponseWriter: discard{w.Header()}, status: http.StatusOK, keep: true}
	next.ServeHTTP(whole, r)
	return whole
}

// truncated answers with the first half of the right body.
func truncated(w http.ResponseWriter, r *http.Request, next http.Handler) {
	whole := answered(w, r, next)
	w.Header().Set("Content-Length", strconv.Itoa(len(whole.body)))
	w.WriteHeader(whole.status)
	w.Write(whole.body[:len(whole.body)/2])
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

type recorder struct {
	http.ResponseWriter
	status    int
	answering func() // called before the first byte of the answer; may be nil
	keep      bool   // the body too
	body      []byte
}

// Unwrap lets an http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	r.status = status
	if r.answering != nil {
		r.answering()
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.answering != nil {
		r.answering()
	}
	if r.keep {
		r.body = append(r.body, b...)
	}
	return r.ResponseWriter.Write(b)
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header       { return d.h }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// rest answers one request of the REST interface.
func (s *web) rest(w http.ResponseWriter, r *http.Request, rt route) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 10<<20))
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w, done := s.judged(w, r, rt)
	defer done()
	c := &call{s: s.server, r: r, next: w.Header()}
	s.server.mu.Lock()
	result, err := s.admit(c, rt)
	if err == nil && s.server.opts.Judge != nil && rt.pattern != "" {
		s.server.mu.Unlock()
		if wrong := s.server.opts.Judge.Request(rt.pattern, r, body); wrong != nil {
			err = invalid(obj{"resource": "Request", "code": "custom", "message": wrong.Error()})
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.server.mu.Lock()
	}
	if err == nil {
		if rt.slow {
			s.server.mu.Unlock()
			result, err = rt.f(c)
			s.server.mu.Lock()
		} else {
			result, err = rt.f(c)
		}
	}
	if err == nil && r.Method != http.MethodGet {
		s.server.touch()
	}
	s.server.mu.Unlock()

	var p *problem
	if errors.As(err, &p) {
		writeProblem(w, p)
		return
	} else if err != nil {
		writeProblem(w, &problem{status: 500, message: err.Error()})
		return
	}
	status := http.StatusOK
	if a, ok := result.(answer); ok {
		status, result = a.status, a.body
	}
	if writeJSON(w, r, status, result) == http.StatusNotModified {
		s.server.mu.Lock()
		s.unspend(c.who, "core") // such an answer is free
		s.server.mu.Unlock()
	}
}

// admit checks credentials, the rate limit and permissions.
func (s *web) admit(c *call, rt route) (any, error) {
	var ok bool
	c.who, ok = s.server.identify(c.r.Header)
	jwt := c.who.app && strings.Count(c.r.Header.Get("Authorization"), ".") == 2
	switch {
	case jwt && s.server.App.deleted:
		return nil, &problem{status: 404, message: noIntegration}
	case jwt && !ok:
		return nil, &problem{status: 401, message: noJWT}
	case !ok:
		return nil, &problem{status: 401, message: "Bad credentials"}
	}
	if err := s.limit(c.next, c.who, "core", s.server.opts.RateLimit, strings.HasSuffix(c.r.URL.Path, "/rate_limit")); err != nil {
		return nil, err
	}
	if owner := c.r.PathValue("owner"); owner != "" {
		c.repo = s.server.repos[strings.ToLower(owner+"/"+c.r.PathValue("repo"))]
		if c.repo == nil {
			if to := s.server.movedTo(owner, c.r.PathValue("repo")); to != nil {
				return nil, s.redirect(c, to)
			}
			return nil, notFound()
		}
	}
	if err := s.server.App.admitted(c.who.installed()); err != nil {
		return nil, err
	}
	switch {
	case rt.need == "":
	case rt.need == "app":
		if !c.who.app {
			return nil, &problem{status: 401, message: "A JSON web token could not be decoded"}
		}
	case c.who.app:
		return nil, &problem{status: 401, message: "This endpoint requires an installation token"}
	case !s.server.may(c.who, c.repo, "metadata:read"):
		return nil, notFound()
	case c.who.user == nil && !strings.HasSuffix(rt.need, ":read"):
		return nil, &problem{status: 401, message: "Requires authentication"}
	case !s.server.may(c.who, c.repo, rt.need):
		if c.who.installation() {
			c.next.Set("X-Accepted-GitHub-Permissions", strings.NewReplacer(":", "=", "|", "; ").Replace(rt.need))
			return nil, refused("Resource not accessible by integration")
		}
		return nil, refused("Must have write access to the repository.")
	}
	return nil, s.create(c, rt)
}

func writeProblem(w http.ResponseWriter, p *problem) {
	body := obj{"message": p.message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(p.status)}
	if p.errors != nil {
		body["errors"] = p.errors
	}
	if p.url != "" {
		body["url"] = p.url
	}
	data, _ := json.Marshal(body) // strings only
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(p.status)
	w.Write(data)
}

// writeJSON answers, with a 304 if the client has the same body, and returns the
// status.
func writeJSON(w http.ResponseWriter, r *http.Request, status int, body any) int {
	if body == nil {
		w.WriteHeader(status)
		return status
	}
	data, err := json.Marshal(body)
	if err != nil {
		writeProblem(w, &problem{status: 500, message: err.Error()})
		return http.StatusInternalServerError
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	if r.Method == http.MethodGet && status == http.StatusOK {
		etag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(data))
		h.Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			status, data = http.StatusNotModified, nil
		}
	}
	w.WriteHeader(status)
	w.Write(data)
	return status
}

// read decodes the request's body, refusing members that into does not have.
func (c *call) read(into any) error {
	dec := json.NewDecoder(c.r.Body)
	dec.DisallowUnknownFields()
	switch err := dec.Decode(into); {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case strings.Contains(err.Error(), "unknown field"):
		return invalid(obj{"resource": "Request", "code": "custom", "message": err.Error()})
	default:
		if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
			return invalid(obj{"resource": "Request", "code": "custom", "message": err.Error()})
		}
		return &problem{status: 400, message: "Problems parsing JSON"}
	}
}

// number reads a number from the path.
func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.r.PathValue(name), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// paged cuts one page out of a list and sets the Link header.
func paged[T any](c *call, list []T) []T {
	q := c.r.URL.Query()
	per, page := 30, 1
	if n, err := strconv.Atoi(q.Get("per_page")); err == nil && n > 0 {
		per = min(n, 100)
	}
	if n, err := strconv.Atoi(q.Get("page")); err == nil && n > 0 {
		page = n
	}
	last := max(1, (len(list)+per-1)/per)
	link := func(page int, rel string) string {
		q := maps.Clone(q)
		q.Set("page", strconv.Itoa(page))
		return fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.s.url, c.r.URL.Path, url.Values(q).Encode(), rel)
	}
	var links []string
	if page > 1 {
		links = append(links, link(page-1, "prev"), link(1, "first"))
	}
	if page < last {
		links = append(links, link(page+1, "next"), link(last, "last"))
	}
	if links != nil {
		c.next.Set("Link", strings.Join(links, ", "))
	}
	from := min((page-1)*per, len(list))
	return list[from:min(from+per, len(list))]
}
