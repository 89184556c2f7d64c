package app

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/docs"
	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
)

// Bounds of a change's page.
const (
	logTail = 16 << 10 // bytes of a build's log

	mostSought = 200    // bytes of a search text
	mostPages  = 10_000 // of a search
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
	v, err := s.api.Named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	return s.queueHTML(c, v)
}

func (s *Server) changePage(c echo.Context) error {
	b, view, err := s.api.ChangeNamed(c.QueryParam("queue"), c.QueryParam("id"))
	if err != nil {
		return err
	}
	q, err := s.api.Named(b.Name)
	if err != nil {
		return err
	}
	page := web.Change{Queue: q, View: view}
	notes, err := s.o.Source.History(c.Request().Context(), q.Name, api.TimelineDepth)
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
		page.Logs = append(page.Logs, web.Log{Build: b.Build.ID, Text: api.Tail(text, logTail), Next: next - int64(held), Done: done})
	}
	return s.page(c, http.StatusOK, func(w io.Writer) error { return s.pages.Change(w, page, s.now()) })
}

// searchPage lists the changes of a queue that have all words of q.
func (s *Server) searchPage(c echo.Context) error {
	v, err := s.api.Named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	look := web.Search{Text: c.QueryParam("q"), Page: 1}
	if text := c.QueryParam("page"); text != "" {
		if look.Page, err = strconv.Atoi(text); err != nil || look.Page < 1 || look.Page > mostPages {
			return &api.Problem{Status: http.StatusBadRequest, Text: "page is a number from 1."}
		}
	}
	if len(look.Text) > mostSought {
		return &api.Problem{Status: http.StatusBadRequest, Text: "That is too long to be searched for: shorten it to " + strconv.Itoa(mostSought) + " characters."}
	}
	return s.page(c, http.StatusOK, func(w io.Writer) error { return s.pages.Search(w, v, look, s.now()) })
}

// page renders a page as a whole before it sends it, so that an error in the middle
// does not send half a page.
func (s *Server) page(c echo.Context, status int, render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.HTMLBlob(status, b.Bytes())
}

// fail answers a request after an error of its handler: as JSON under /api
// and for POST, as a page otherwise. Only problems are shown; other errors are logged.
func (s *Server) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := api.Problem{Status: http.StatusInternalServerError, Text: "Something broke here; the server's log says what. Try again, and tell the operator if it stays."}
	var known *api.Problem
	var ofEcho *echo.HTTPError
	switch {
	case errors.As(err, &known):
		p = *known
	case errors.As(err, &ofEcho) && ofEcho.Code == http.StatusNotFound:
		p = api.Problem{Status: ofEcho.Code, Text: "There is no such page. Go to / for the queues, to /docs for the documentation, or to /api/queues for JSON."}
	case errors.As(err, &ofEcho) && ofEcho.Code == http.StatusMethodNotAllowed:
		p = api.Problem{Status: ofEcho.Code, Text: "This address does not take " + c.Request().Method + " requests."}
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
		out := api.Error{Error: p.Text}
		if place := api.PlaceOf(err); place != "" {
			out.Doc = docs.Address(place)
		}
		api.WriteJSON(c.Response(), p.Status, out)
		return
	}
	if err := s.page(c, p.Status, func(w io.Writer) error { return s.pages.Problem(w, p.Status, p.Text) }); err != nil {
		s.log.Error("the page of a problem cannot be sent", "error", err)
	}
}

func (s *Server) now() queue.Instant { return queue.At(s.o.Now()) }

// queueHTML answers with a queue's page.
func (s *Server) queueHTML(c echo.Context, v queue.QueueView) error {
	b, err := s.api.Shared("page "+v.Name, api.StampOf(v), func(w io.Writer) error { return s.pages.Queue(w, v, s.now()) })
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.HTMLBlob(http.StatusOK, b)
}
