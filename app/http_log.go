package app

import (
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/web"
)

// logPage shows the whole log of a build: to browsers as a page, with raw=1 and to all
// else as plain text.
func (s *Server) logPage(c echo.Context) error {
	id := c.QueryParam("build")
	data, next, done, ok := s.o.Source.BuildLog(id, 0)
	if !ok {
		return &api.Problem{Status: http.StatusNotFound, Text: "There is no log of such a build here: it has not begun, its log has expired, or another server ran it."}
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	var out io.Writer = c.Response()
	if wantsPage(c.Request()) && c.QueryParam("raw") == "" {
		h.Set("Content-Type", "text/html; charset=utf-8")
		page, err := s.pages.Log(c.Response(), id)
		if err != nil {
			return err
		}
		defer func() { _ = page.Close() }() // the reader may have hung up
		out = page
	} else {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		c.Response().WriteHeader(http.StatusOK)
	}
	for {
		text, held := web.PlainLog(data, done)
		if _, err := io.WriteString(out, text); err != nil {
			return nil // the reader hung up
		}
		if done {
			return nil
		}
		after := next - int64(held)
		// Where the log has nothing beyond what was held back, that is read once more only when
		// somebody loads the page again.
		if data, next, done, ok = s.o.Source.BuildLog(id, after); !ok || next <= after+int64(held) && !done {
			// Nobody is left to tell of an error.
			_, _ = io.WriteString(out, "[submitqueue] the build goes on; load this page again for more\n")
			return nil
		}
	}
}
