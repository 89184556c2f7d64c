package app

import (
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/web"
)

// logPage shows the whole log of a build as plain text.
func (s *Server) logPage(c echo.Context) error {
	id := c.QueryParam("build")
	data, next, done, ok := s.o.Source.BuildLog(id, 0)
	if !ok {
		return &api.Problem{Status: http.StatusNotFound, Text: "There is no log of such a build: it has not begun, or its log has expired."}
	}
	h := c.Response().Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	c.Response().WriteHeader(http.StatusOK)
	for {
		text, held := web.PlainLog(data, done)
		if _, err := io.WriteString(c.Response(), text); err != nil {
			return nil // the reader hung up
		}
		if done {
			return nil
		}
		after := next - int64(held)
		if data, next, done, ok = s.o.Source.BuildLog(id, after); !ok || next == after && !done {
			// Nobody is left to tell of an error.
			_, _ = io.WriteString(c.Response(), "[submitqueue] the build goes on; load this page again for more\n")
			return nil
		}
	}
}
