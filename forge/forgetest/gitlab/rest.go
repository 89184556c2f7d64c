package gitlab

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
)

// refused is an answer with an error.
type refused struct {
	status int
	body   any // a string is plain text
}

func notFound(what string) *refused {
	return &refused{404, obj{"message": "404 " + what + " Not Found"}}
}

// call is one request to the REST interface.
type call struct {
	s      *Server
	r      *http.Request
	header http.Header // of the answer
	who    *User
	token  string
	p      *Project // the project that the path names
	vars   map[string]string
	params map[string]any // of the query, and of the body
	status int            // of success; 0: 200
}

func (c *call) text(name string) string {
	switch v := c.params[name].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func (c *call) given(name string) bool { _, ok := c.params[name]; return ok }

func (c *call) number(name string) int { n, _ := strconv.Atoi(c.text(name)); return n }

func (c *call) id(name string) int { n, _ := strconv.Atoi(c.vars[name]); return n }

func itoa(n int) string { return strconv.Itoa(n) }

// endpoint is an endpoint of the REST interface; pattern follows /api/v4/.
type endpoint struct {
	method, pattern string
	level           int // the least level in the project for calling it
	f               func(*call) (any, *refused)
}

// serve answers all requests.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/v4/"), r.URL.Path == graphQL:
		s.serveREST(w, r)
	case strings.Contains(r.URL.Path, ".git/"):
		s.serveGit(w, r)
	default:
		s.servePage(w, r)
	}
}

func (s *Server) serveREST(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	if err != nil {
		return // the client is gone
	}
	rec := httptest.NewRecorder()
	s.mu.Lock()
	at := len(s.requests)
	s.requests = append(s.requests, Request{Method: r.Method, Path: r.URL.EscapedPath()})
	s.work()
	fault := s.fault(r)
	if fault == nil || fault.Done || fault.Half {
		s.answer(rec, r, body)
	}
	if fault == nil || fault.Half {
		s.requests[at].Status = rec.Code
	} else if !fault.Cut {
		s.requests[at].Status = fault.Status
	}
	s.mu.Unlock()
	if fault != nil {
		fault.hang(r.Context())
		if fault.Cut || fault.Half {
			half(w, rec, fault)
		}
		rec = httptest.NewRecorder()
		for k, v := range fault.Header {
			rec.Header()[k] = v
		}
		rec.WriteHeader(fault.Status)
		if fault.Body == "" {
			fault.Body = `{"message":"` + itoa(fault.Status) + ` planned"}`
		}
		rec.WriteString(fault.Body)
	}
	s.log.Debug("REST", "method", r.Method, "path", r.URL.EscapedPath(), "status", rec.Code)
	if s.opts.Judge != nil && fault == nil && r.URL.Path != graphQL {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.opts.Judge(Exchange{r, body, rec.Code, rec.Body.Bytes()})
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// half ends a connection without an answer, or in the middle of it.
func half(w http.ResponseWriter, answer *httptest.ResponseRecorder, f *Fault) {
	if f.Half {
		body := answer.Body.Bytes()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", itoa(len(body)))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}

// answer answers a request. The caller holds the lock.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	c := &call{s: s, r: r, header: w.Header(), vars: map[string]string{}, params: map[string]any{}}
	c.token = r.Header.Get("Private-Token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		c.token = bearer
	}
	c.header.Set("Date", s.now().Format(http.TimeFormat))
	c.who = s.holder(c.token)
	out, no := c.run(body)
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	if no != nil {
		status, out = no.status, no.body
	}
	if text, plain := out.(string); plain {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_ = json.NewEncoder(w).Encode(out)
	}
}

func (c *call) run(body []byte) (any, *refused) {
	if c.r.URL.Path == graphQL {
		return c.graph(body)
	}
	e, segments := find(c.r, c.vars)
	if e == nil {
		return nil, &refused{404, obj{"error": "404 Not Found"}}
	}
	if c.who == nil {
		return nil, &refused{401, obj{"message": "401 Unauthorized"}}
	}
	if no := c.scope(); no != nil {
		return nil, no
	}
	for name, v := range c.r.URL.Query() {
		c.params[strings.TrimSuffix(name, "[]")] = v[len(v)-1]
		if strings.HasSuffix(name, "[]") {
			c.params[strings.TrimSuffix(name, "[]")] = strings.Join(v, ",")
		}
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &c.params); err != nil {
			return nil, &refused{400, obj{"error": "The provided content-type or body is not supported"}}
		}
	}
	if segments[0] == "projects" {
		name := c.vars["project"]
		c.p = c.s.project(name)
		if c.p == nil || c.p.level(c.who) == 0 {
			return nil, notFound("Project")
		}
		if _, err := strconv.Atoi(name); err != nil && !strings.EqualFold(name, c.p.path) { // it is a former path
			if c.r.Method != http.MethodGet {
				return nil, &refused{405, obj{"message": "Non GET methods are not allowed for moved projects"}}
			}
			rest := strings.SplitN(strings.TrimPrefix(c.r.URL.EscapedPath(), "/api/v4/"), "/", 3)
			to := "/api/v4/projects/" + itoa(c.p.id)
			if len(rest) == 3 {
				to += "/" + rest[2]
			}
			c.header.Set("Location", c.s.url+to+"?"+c.r.URL.RawQuery)
			return nil, &refused{301, obj{"message": "Moved"}}
		}
		if c.p.level(c.who) < e.level {
			return nil, &refused{403, obj{"message": "403 Forbidden"}}
		}
		if c.p.archived && c.r.Method != http.MethodGet {
			return nil, &refused{403, obj{"message": "403 Forbidden"}}
		}
	}
	return e.f(c)
}

// project finds a project by its number, its path, or a former path.
func (s *Server) project(name string) *Project {
	id, _ := strconv.Atoi(name)
	for _, p := range s.projects {
		if !p.gone && (p.id == id || strings.EqualFold(p.path, name)) {
			return p
		}
	}
	for _, p := range s.projects {
		for _, former := range p.formerly {
			if !p.gone && strings.EqualFold(former, name) {
				return p
			}
		}
	}
	return nil
}

// find finds the endpoint of a request, and reads the variables of its path.
func find(r *http.Request, vars map[string]string) (*endpoint, []string) {
	have := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/api/v4/"), "/")
	for i := range endpoints {
		e := &endpoints[i]
		want := strings.Split(e.pattern, "/")
		if e.method != r.Method || len(want) != len(have) {
			continue
		}
		ok := true
		for j, part := range want {
			if name, is := strings.CutPrefix(part, ":"); is {
				v, err := url.PathUnescape(have[j])
				ok = ok && err == nil
				vars[name] = v
			} else if part != have[j] {
				ok = false
			}
		}
		if ok {
			return e, have
		}
	}
	return nil, have
}

// page returns the page of a list that the request asks for.
func (c *call) page(list []any) (any, *refused) {
	per := c.number("per_page")
	if per == 0 {
		per = 20
	}
	per = min(per, 100)
	at := max(c.number("page"), 1)
	h := c.header
	h.Set("X-Page", itoa(at))
	h.Set("X-Per-Page", itoa(per))
	h.Set("X-Total", itoa(len(list)))
	h.Set("X-Next-Page", "")
	if at*per < len(list) {
		h.Set("X-Next-Page", itoa(at+1))
	}
	from := min((at-1)*per, len(list))
	out := append([]any{}, list[from:min(from+per, len(list))]...)
	return out, nil
}

// Routes lists the endpoints, as "METHOD projects/:project/...".
func Routes() (list []string) {
	for _, e := range endpoints {
		list = append(list, e.method+" "+e.pattern)
	}
	return list
}
