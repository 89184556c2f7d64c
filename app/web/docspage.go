package web

import (
	"io"

	"github.com/submitqueue/submitqueue/app/docs"
)

// Docs renders a page of the documentation. Its reader need not be signed in.
func (p *Pages) Docs(w io.Writer, d docs.Page) error {
	return p.render(w, "docs", docsModel{page: page{Title: d.Title, Bare: true}, Docs: d, All: docs.All()})
}

// DocsSearch renders the sections of the documentation that have the words of q, which is
// hostile text.
func (p *Pages) DocsSearch(w io.Writer, q string, found []docs.Hit) error {
	q = clean(q)
	return p.render(w, "docs", docsModel{page: page{Title: "Search", Bare: true}, All: docs.All(), Query: q, Hits: found})
}

type docsModel struct {
	page
	Docs  docs.Page   // the page; none where Query is set
	All   []docs.Page // for the list
	Query string
	Hits  []docs.Hit
}
