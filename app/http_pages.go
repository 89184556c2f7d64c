package app

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
)

// Bounds of a change's page.
const (
	timelineDepth = 2000     // notes of the queue that are searched for the change's
	logTail       = 16 << 10 // bytes of a build's log
)

func (s *Server) homePage(c echo.Context) error {
	names := s.o.Source.Queues()
	if len(names) == 1 {
		if v, ok := s.o.Source.Queue(names[0]); ok {
			return s.queueHTML(c, v)
		}
	}
	views := make([]queue.QueueView, 0, len(names))
	for _, name := range names {
		if v, ok := s.o.Source.Queue(name); ok {
			views = append(views, v)
		}
	}
	return s.page(c, http.StatusOK, func(w io.Writer) error { return s.pages.Queues(w, views, s.now()) })
}

func (s *Server) queuePage(c echo.Context) error {
	v, err := s.named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	return s.queueHTML(c, v)
}

func (s *Server) changePage(c echo.Context) error {
	b, view, err := s.changeNamed(c.QueryParam("queue"), c.QueryParam("id"))
	if err != nil {
		return err
	}
	q, err := s.named(b.Name)
	if err != nil {
		return err
	}
	page := web.Change{Queue: q, View: view}
	notes, err := s.o.Source.History(c.Request().Context(), q.Name, timelineDepth)
	if err != nil {
		// The page is of use without its timeline.
		s.log.Warn("history cannot be read", "queue", q.Name, "error", err)
		page.NoHistory = true
	}
	for _, n := range notes {
		if n.Change == view.Change.ID {
			page.Notes = append(page.Notes, n)
		}
	}
	for _, b := range view.Builds {
		data, next, done, ok := s.o.Source.BuildLog(string(b.Build.ID), -logTail)
		if !ok {
			continue
		}
		text, held := web.PlainLog(data, done)
		page.Logs = append(page.Logs, web.Log{Build: b.Build.ID, Text: tail(text, logTail), Next: next - int64(held), Done: done})
	}
	return s.page(c, http.StatusOK, func(w io.Writer) error { return s.pages.Change(w, page, s.now()) })
}

// page sends a page that has been rendered as a whole, so that an error in the
// middle is not half a page.
func (s *Server) page(c echo.Context, status int, render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.HTMLBlob(status, b.Bytes())
}

// fail answers a request whose handler returned an error: as JSON under /api
// and for POST, as a page otherwise. Only problems are shown; other errors are logged.
func (s *Server) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := problem{Status: http.StatusInternalServerError, Text: "Something broke here; the server's log says what. Try again, and tell the operator if it stays."}
	var known *problem
	var ofEcho *echo.HTTPError
	switch {
	case errors.As(err, &known):
		p = *known
	case errors.As(err, &ofEcho) && ofEcho.Code == http.StatusNotFound:
		p = problem{Status: ofEcho.Code, Text: "There is no such page. Go to / for the queues, or to /api/queues for JSON."}
	case errors.As(err, &ofEcho) && ofEcho.Code == http.StatusMethodNotAllowed:
		p = problem{Status: ofEcho.Code, Text: "This address does not take " + c.Request().Method + " requests."}
	default:
		s.log.Error("a request failed", "route", c.Path(), "error", err)
	}
	r := c.Request()
	if p.Status == http.StatusUnauthorized && wantsPage(r) {
		if err := s.signIn(c, p.Status, web.SignIn{Next: ownPath(r.URL.RequestURI())}); err != nil {
			s.log.Error("the page to sign in cannot be sent", "error", err)
		}
		return
	}
	if strings.HasPrefix(r.URL.Path, "/api/") || r.Method == http.MethodPost || p.Status == http.StatusUnauthorized {
		writeJSON(c.Response(), p.Status, APIError{Error: p.Text})
		return
	}
	if err := s.page(c, p.Status, func(w io.Writer) error { return s.pages.Problem(w, p.Status, p.Text) }); err != nil {
		s.log.Error("the page of a problem cannot be sent", "error", err)
	}
}

// problem is an error that is shown to who asked: what is wrong and what to do.
type problem struct {
	Status int
	Text   string
}

// Error implements error: what is shown.
func (p *problem) Error() string { return p.Text }

// name returns the name of a queue that there is; without one, of the only queue.
func (s *Server) name(name string) (Brief, error) {
	names := s.o.Source.Queues()
	if name == "" {
		if len(names) != 1 {
			return Brief{}, &problem{http.StatusBadRequest, "Say which queue: add ?queue=NAME. /api/queues lists the names."}
		}
		name = names[0]
	}
	b, ok := s.o.Source.Brief(name)
	if !ok {
		return b, noQueue
	}
	return b, nil
}

var noQueue = &problem{http.StatusNotFound, "There is no such queue here. /api/queues lists the names."}

// named returns a queue by name; without one, the only queue.
func (s *Server) named(name string) (queue.QueueView, error) {
	b, err := s.name(name)
	if err != nil {
		return queue.QueueView{}, err
	}
	v, ok := s.o.Source.Queue(b.Name)
	if !ok {
		return v, noQueue
	}
	return v, nil
}

// changeNamed returns a change of a queue, which need not be named where it is the only one.
func (s *Server) changeNamed(name, id string) (Brief, queue.View, error) {
	q, err := s.name(name)
	if err != nil {
		return q, queue.View{}, err
	}
	if id == "" {
		return q, queue.View{}, &problem{http.StatusBadRequest, "Say which change: add &id= with a pull request's number or a change's id."}
	}
	v, ok := s.o.Source.Change(q.Name, id)
	if !ok && q.Away != "" {
		return q, v, &problem{http.StatusServiceUnavailable, "Changes cannot be shown now: " + q.Away + ". Try again in a moment."}
	}
	if !ok {
		text := "This queue knows no such change. It may have ended long ago"
		if s.o.Requests == nil {
			text += "; its pull request still has the last word"
		}
		return q, v, &problem{http.StatusNotFound, text + "."}
	}
	return q, v, nil
}

func (s *Server) now() queue.Instant { return queue.At(s.o.Now()) }

// tail returns the last n bytes of a text, from the beginning of a line where
// there is one.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-n:], "")
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return text
}
