package forgetest

import (
	"net/http"
	"path"
	"strings"
	"time"
)

// Fault makes requests fail.
type Fault struct {
	// Method to match; empty: any.
	Method string
	// Path to match as path.Match does, without "/api/v3": "/repos/*/*/pulls/7",
	// "/o/r.git/git-receive-pack". A final "**" matches any rest.
	Path string
	// Status to answer with. 0: the connection is cut.
	Status int
	// Skip is how many matching requests are answered as usual before the fault begins.
	Skip int
	// Times is how often the fault happens; 0 means once.
	Times int
	// Header to add, such as Retry-After.
	Header http.Header
	// Message in the body.
	Message string
	// After lets the request take effect; only its answer is lost.
	After bool
	// Until holds the right answer back: the request takes effect, and is answered when
	// Until is closed. Status does not count then.
	Until <-chan struct{}
	// Truncate answers as usual and cuts the connection in the middle of the body;
	// Status does not count then.
	Truncate bool
	// Hang gives no answer until the client gives up.
	Hang bool
	// HangFor gives no answer for this time, and then cuts the connection.
	HangFor time.Duration
}

// Faults returns how many uses are left of all faults.
func (s *Server) Faults() (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		left += f.Times
	}
	return left
}

// Heal ends all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Fail makes the next matching requests fail. Faults are tried oldest first.
func (s *Server) Fail(f Fault) {
	if f.Times == 0 {
		f.Times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// fault takes one use of the first fault that matches, or one of an outage.
func (s *web) fault(method, p string) *Fault {
	for _, f := range s.server.faults {
		if f.Times > 0 && (f.Method == "" || f.Method == method) && matches(f.Path, p) {
			if f.Skip > 0 {
				f.Skip--
				continue
			}
			f.Times--
			return f
		}
	}
	return s.server.outage.fault()
}

func matches(pattern, p string) bool {
	if head, ok := strings.CutSuffix(pattern, "**"); ok {
		// As many elements of p as the head has, then anything.
		n := strings.Count(head, "/")
		parts := strings.SplitAfterN(p, "/", n+1)
		if len(parts) <= n {
			return false
		}
		pattern, p = head, strings.Join(parts[:n], "")
	}
	ok, err := path.Match(pattern, p)
	return err == nil && ok
}

// Request is one request the server answered.
type Request struct {
	Method string
	Path   string // without "/api/v3"
	Status int    // 0: the connection was cut
}

// Requests lists the requests answered so far that match a method ("" is any) and a
// path (as in Fault).
func (s *Server) Requests(method, pattern string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Request
	for _, r := range s.requests {
		if (method == "" || r.Method == method) && matches(pattern, r.Path) {
			list = append(list, r)
		}
	}
	return list
}
