package app

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/web"
)

// The way in and out:
//
//	GET  /enter            asks for a token
//	GET  /enter?code=C     asks to go in by a link; previews of links use nothing up
//	POST /enter            opens the session of a token or a code
//	GET  /leave            asks to sign out
//	POST /leave            ends the session
const (
	enterPath = "/enter"
	leavePath = "/leave"
)

// maxForm bounds the body of a form.
const maxForm = 16 << 10

func linkPath(code string) string { return enterPath + "?" + url.Values{"code": {code}}.Encode() }

// enterPage asks the visitor for a token, or lets the visitor in by a link.
func (s *Server) enterPage(c echo.Context) error {
	code := c.QueryParam("code")
	if s.o.Public {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	if code == "" {
		if _, ok := s.session(c); ok {
			return c.Redirect(http.StatusSeeOther, "/")
		}
		return s.signIn(c, http.StatusOK, web.SignIn{})
	}
	if !s.gate.doors.Opens(code, s.o.Now()) {
		if err := s.refuse(c, ""); statusOf(err) == http.StatusTooManyRequests {
			return err
		}
		return s.signIn(c, http.StatusForbidden, web.SignIn{Problem: usedLink})
	}
	return s.form(c, http.StatusOK, func(w io.Writer) error { return s.pages.Enter(w, code) })
}

const usedLink = "This link has opened a session already, or is more than an hour old, or the server has started again since. Each link is good once."

// enter opens a session.
func (s *Server) enter(c echo.Context) error {
	r := c.Request()
	if err := s.gate.forged.Check(r); err != nil {
		return &api.Problem{Status: http.StatusForbidden, Text: "This form was not sent from a page of this server. Open " + enterPath + " and sign in there."}
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &api.Problem{Status: http.StatusBadRequest, Text: "This is not the form of " + enterPath + "."}
	}
	next := ownPath(r.PostForm.Get("next"))
	var value string
	var n access.Session
	var ok bool
	var err error
	wrong := usedLink
	if code := r.PostForm.Get("code"); code != "" {
		value, n, ok, err = s.gate.doors.Redeem(code, s.o.Now())
	} else {
		wrong = "This token is wrong, or counts no more."
		value, n, ok, err = s.gate.doors.SignIn(strings.TrimSpace(r.PostForm.Get("token")), s.o.Now())
	}
	if !ok {
		if err := s.refuse(c, ""); statusOf(err) == http.StatusTooManyRequests {
			return err
		}
		return s.signIn(c, http.StatusUnauthorized, web.SignIn{Next: next, Problem: wrong})
	}
	s.setCookie(c.Response(), r, value, n, err)
	return c.Redirect(http.StatusSeeOther, next)
}

// leavePage asks whether to sign out.
func (s *Server) leavePage(c echo.Context) error {
	n, ok := s.session(c)
	if !ok {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	return s.form(c, http.StatusOK, func(w io.Writer) error { return s.pages.Leave(w, n.Name) })
}

// leave ends a session.
func (s *Server) leave(c echo.Context) error {
	r := c.Request()
	if err := s.gate.forged.Check(r); err != nil {
		return &api.Problem{Status: http.StatusForbidden, Text: "This form was not sent from a page of this server. Open " + leavePath + " and sign out there."}
	}
	if cookie, err := r.Cookie(s.gate.doors.CookieName()); err == nil {
		if err := s.gate.doors.SignOut(cookie.Value); err != nil {
			s.log.Warn("the end of a session cannot be written down; it counts again after a restart", "error", err)
		}
	}
	http.SetCookie(c.Response(), s.cookie(r, "", -1))
	return c.Redirect(http.StatusSeeOther, enterPath)
}

// setCookie gives a browser its session. kept is why the session cannot be written down.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, n access.Session, kept error) {
	if kept != nil {
		s.log.Warn("a session cannot be written down; it ends with the server", "error", kept)
	}
	s.log.Info("a browser has signed in", "name", n.Name, "from", r.RemoteAddr)
	http.SetCookie(w, s.cookie(r, value, int(access.SessionLife.Seconds())))
}

// cookie is that of a session. Links from other sites, such as a pull request's, bring it
// along; forms of other sites do not.
func (s *Server) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{Name: s.gate.doors.CookieName(), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: s.encrypted(r), MaxAge: age}
}

// encrypted reports whether a browser reaches the server by https. A proxy says so in its
// headers; a client that forges them misleads only itself.
func (s *Server) encrypted(r *http.Request) bool {
	if u, err := url.Parse(s.o.URL); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return u.Scheme == "https"
	}
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// signIn shows how to sign in, and nothing else of the server.
func (s *Server) signIn(c echo.Context, status int, p web.SignIn) error {
	return s.form(c, status, func(w io.Writer) error { return s.pages.SignIn(w, p) })
}

// form sends a page with a form for the server itself.
func (s *Server) form(c echo.Context, status int, render func(io.Writer) error) error {
	h := c.Response().Header()
	h.Set("Content-Security-Policy", policy("'self'"))
	h.Set("Referrer-Policy", "same-origin") // with none, a browser does not say where a form is from
	return s.page(c, status, render)
}

// ownPath returns a path of this server that a form names, or the first page.
func ownPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.ContainsAny(path, "\\\r\n\t") || strings.HasPrefix(u.Path, enterPath) || strings.HasPrefix(u.Path, leavePath) {
		return "/"
	}
	return path
}

// wantsPage reports whether a request without a session comes from a person. That person is
// then shown how to sign in.
func wantsPage(r *http.Request) bool {
	_, sent := bearer(r)
	return !sent && strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/api/") &&
		(r.Method == http.MethodGet || r.Method == http.MethodHead)
}

func statusOf(err error) int {
	if p := (*api.Problem)(nil); errors.As(err, &p) {
		return p.Status
	}
	return 0
}

// originOf returns the origin of a URL, as browsers say it.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}
