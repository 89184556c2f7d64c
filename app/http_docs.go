package app

import (
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/docs"
)

// docsPath is where the documentation is, for everybody: it says nothing of this server.
const docsPath = "/docs"

// mostQuery bounds the text of a search, in bytes.
const mostQuery = 200

// docsPage shows a page of the documentation, or what a search for ?q= finds.
func (s *Server) docsPage(c echo.Context) error {
	if q := strings.TrimSpace(c.QueryParam("q")); q != "" {
		q = strings.ToValidUTF8(q[:min(len(q), mostQuery)], "")
		return s.form(c, http.StatusOK, func(w io.Writer) error { return s.pages.DocsSearch(w, q, docs.Search(q)) })
	}
	p, ok := docs.Find(c.Param("page"))
	if !ok {
		return &api.Problem{Status: http.StatusNotFound, Text: "The documentation has no such page. Go to " + docsPath + " for the list."}
	}
	return s.form(c, http.StatusOK, func(w io.Writer) error { return s.pages.Docs(w, p) })
}
