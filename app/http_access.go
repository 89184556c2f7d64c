package app

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
)

// Bounds of wrong tokens, links and cookies. Requests with wrong ones never hold up a
// request with a right one: a token has 130 random bits, and these keep it from being
// guessed, not the wait.
const (
	wrongWait    = time.Second      // before an answer to a wrong token
	wrongAtOnce  = 100              // requests that wait at one time; further ones are sent away at once
	wrongLogEach = 10 * time.Second // at most one line of the log in so long
)

// gate lets in the callers that may come in.
type gate struct {
	doors  *access.Doors
	wait   time.Duration
	wrong  chan struct{} // one for each request that waits
	forged *http.CrossOriginProtection

	mu     sync.Mutex
	missed int       // wrong ones since the log spoke of them
	told   time.Time // when it did
}

// newGate makes the gate of a server.
func (s *Server) newGate() *gate {
	doors, err := access.New(access.Options{Dir: s.o.Access, Own: s.o.Token, Owner: s.o.TokenName})
	if err != nil {
		s.log.Warn("sessions of browsers cannot be read; people sign in once more", "error", err)
	}
	if err := doors.TokensErr(); err != nil {
		s.log.Error(err.Error())
	}
	g := &gate{doors: doors, wait: s.o.WrongWait, wrong: make(chan struct{}, wrongAtOnce), forged: http.NewCrossOriginProtection()}
	if s.o.URL != "" {
		if err := g.forged.AddTrustedOrigin(originOf(s.o.URL)); err != nil {
			s.log.Warn("the server's URL is no origin of a browser", "error", err)
		}
	}
	return g
}

// callerKey is where a request's Caller is kept while it is answered.
const callerKey = "submitqueue.caller"

// open reports whether anybody may ask for a path: a path that checks a separate secret, one
// that shows nothing secret, or the way in.
func (s *Server) open(path string) bool {
	return s.exempt(path) || path == enterPath || path == leavePath || path == docsPath || strings.HasPrefix(path, docsPath+"/") || strings.HasPrefix(path, "/static/")
}

// closed lets a request through only if its caller may read. A new address is closed unless
// open names it.
func (s *Server) closed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if s.open(r.URL.Path) {
			return next(c)
		}
		c.Response().Header().Set("Cache-Control", "no-store")
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if reads && s.o.Public {
			return next(c)
		}
		caller, err := s.caller(c, reads)
		if err != nil {
			return err
		}
		if !caller.Role.May(access.Read) {
			return api.See(&api.Problem{Status: http.StatusForbidden, Text: "This token lets nobody read."}, tokensDoc)
		}
		c.Set(callerKey, caller)
		return next(c)
	}
}

// tokensDoc is the place in the documentation about tokens.
const tokensDoc = "operate#tokens"

// caller returns the caller of a request, by its token. A caller that only reads may have a
// session instead.
func (s *Server) caller(c echo.Context, reads bool) (access.Caller, error) {
	if !s.gate.doors.Any() && !reads {
		return access.Caller{}, api.See(&api.Problem{Status: http.StatusForbidden, Text: "Commands over HTTP are off. Start the server with " + api.TokenVariable +
			" set, or comment /land."}, tokensDoc)
	}
	if secret, sent := bearer(c.Request()); sent {
		caller, ok := s.gate.doors.Bearer(secret, s.o.Now())
		if !ok {
			return caller, s.refuse(c, "The token is wrong, or counts no more. Ask for another: submitqueue token add NAME makes one.")
		}
		return caller, nil
	}
	if reads {
		if n, ok := s.session(c); ok {
			return access.Caller{Name: n.Name, Role: access.Read}, nil
		}
	}
	return access.Caller{}, unknownCaller(c, "The token is missing. Send the header `Authorization: Bearer TOKEN`: submitqueue token add NAME, on the server, makes one.")
}

// bearer returns the token that a request bears.
func bearer(r *http.Request) (secret string, sent bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// session returns the session of a request's browser.
func (s *Server) session(c echo.Context) (access.Session, bool) {
	cookie, err := c.Request().Cookie(s.gate.doors.CookieName())
	if err != nil {
		return access.Session{}, false
	}
	return s.gate.doors.Session(cookie.Value, s.o.Now())
}

// unknownCaller says that the caller is not known.
func unknownCaller(c echo.Context, text string) error {
	c.Response().Header().Set("WWW-Authenticate", `Bearer realm="submitqueue"`)
	return &api.Problem{Status: http.StatusUnauthorized, Text: text}
}

// refuse answers a wrong token, after a wait.
func (s *Server) refuse(c echo.Context, text string) error {
	s.o.Metrics.refused.Inc()
	s.tellOfWrong(c.Request())
	select {
	case s.gate.wrong <- struct{}{}:
		defer func() { <-s.gate.wrong }()
	default:
		c.Response().Header().Set("Retry-After", "2")
		return &api.Problem{Status: http.StatusTooManyRequests, Text: "Too many wrong tokens are being tried at once. Try again in a moment; a right one is not held up."}
	}
	timer := time.NewTimer(s.gate.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.closing:
	case <-c.Request().Context().Done():
	}
	return unknownCaller(c, text)
}

// tellOfWrong logs wrong tokens; many of them share one line.
func (s *Server) tellOfWrong(r *http.Request) {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missed++
	if now := s.o.Now(); g.told.IsZero() || now.Sub(g.told) >= wrongLogEach {
		s.log.Warn("wrong tokens or links", "count", g.missed, "last_from", r.RemoteAddr, "path", api.Tail(r.URL.Path, 100))
		g.missed, g.told = 0, now
	}
}

// still reports whether the caller may still read. Requests that are answered for a long time
// ask it again.
func (s *Server) still(c echo.Context) bool {
	if s.o.Public {
		return true
	}
	if secret, sent := bearer(c.Request()); sent {
		_, ok := s.gate.doors.Bearer(secret, s.o.Now())
		return ok
	}
	_, ok := s.session(c)
	return ok
}

// needs lets a request through only if its caller has a role. what says in an infinitive
// what the caller wants to do.
func (s *Server) needs(role access.Role, what string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if who := callerOf(c); !who.Role.May(role) {
				return api.See(&api.Problem{Status: http.StatusForbidden, Text: "The token of " + who.Name + " has the role " + string(who.Role) + ". To " + what + " takes the role " + string(role) +
					": submitqueue token add NAME --role " + string(role) + " makes such a token."}, tokensDoc)
			}
			return next(c)
		}
	}
}

// callerOf returns the caller of a request.
func callerOf(c echo.Context) access.Caller {
	who, _ := c.Get(callerKey).(access.Caller)
	return who
}

// Link makes a link that opens one session of a browser, for the console, within an hour. It
// is a path of the server.
func (s *Server) Link() (path string) {
	code, _ := s.gate.doors.Link(access.Caller{}, s.o.Now())
	return linkPath(code)
}

// Admit opens a session of the console for a browser. The caller of Admit has checked
// in another way that the browser is the operator's.
func (s *Server) Admit(w http.ResponseWriter, r *http.Request) {
	value, n, err := s.gate.doors.Open(access.Caller{}, s.o.Now())
	s.setCookie(w, r, value, n, err)
}

// apiLink makes a link for the caller of a request.
func (s *Server) apiLink(c echo.Context) error {
	code, until := s.gate.doors.Link(callerOf(c), s.o.Now())
	api.WriteJSON(c.Response(), http.StatusOK, api.Link{URL: s.o.URL, Path: linkPath(code), Until: until, Public: s.o.Public})
	return nil
}
