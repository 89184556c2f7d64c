package gitlab

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/forge/forgetest/live"
	"github.com/submitqueue/submitqueue/forge/forgetest/markdown"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"short": func(id string) string { return id[:min(len(id), 10)] }, "blocks": markdown.Blocks}).Parse(markdown.Templates + pageText))

// pageCommits is how many commits the page of a project shows.
const pageCommits = 100

// page is a page for a browser: of a project, one of its merge requests, or a commit.
type page struct {
	Title   string
	Project string
	Path    string // of the project's page
	List    []pageRow
	Commits []pageCommit
	One     *pageRow
	Body    string
	Notes   []Note
	Text    string // of a commit
	Player  string // the account that a person plays; empty: nobody plays
}

type pageRow struct {
	Number                               int
	Title, Author, State, Source, Target string
	Head                                 string
}

type pageCommit struct{ ID, Subject string }

// servePage answers a browser: projects, merge requests and commits, to read. Where a person
// plays, merge requests take notes.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		s.servePlay(w, r)
		return
	case r.URL.Path == live.Path:
		live.Serve(w, r)
		return
	}
	pg, ok := s.page(r.URL.Path)
	if !ok || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, pg); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes())
}

// page makes the page of a path: GROUP/NAME, and below that -/merge_requests/N, commit/ID
// and -/commit/ID.
func (s *Server) page(path string) (page, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path = strings.Trim(path, "/")
	for _, p := range s.projects {
		rest, ok := strings.CutPrefix(path, p.path)
		if !ok || rest != "" && rest[0] != '/' || p.gone {
			continue
		}
		pg := page{Project: p.path, Path: "/" + p.path, Title: p.path}
		if p.player != nil {
			pg.Player = p.player.Name
		}
		kind, what, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(rest, "/"), "-/"), "/")
		switch n, _ := strconv.Atoi(what); {
		case rest == "", kind == "merge_requests" && what == "":
			for _, mr := range p.sorted() {
				pg.List = append([]pageRow{mr.row()}, pg.List...)
			}
			pg.Commits = p.line()
		case kind == "merge_requests" && p.mrs[n] != nil:
			mr := p.mrs[n]
			row := mr.row()
			pg.One, pg.Body, pg.Title = &row, mr.body, "!"+what+" "+mr.title
			for _, note := range mr.notes {
				if !note.system {
					pg.Notes = append(pg.Notes, note.look())
				}
			}
		case kind == "commit" && p.has(what):
			text, err := p.git(nil, "show", "--stat", "--format=fuller", "--first-parent", what)
			if err != nil {
				return pg, false
			}
			pg.Text, pg.Title = text, what
		default:
			return pg, false
		}
		return pg, true
	}
	return page{}, false
}

func (mr *mergeRequest) row() pageRow {
	return pageRow{Number: mr.iid, Title: mr.title, Author: mr.author.Name, State: mr.state, Source: mr.source, Target: mr.target, Head: mr.head()}
}

// line lists the newest commits of the default branch.
func (p *Project) line() (list []pageCommit) {
	out, err := p.git(nil, "log", "--first-parent", "-n", strconv.Itoa(pageCommits), "--format=%H %s", "refs/heads/"+p.main)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(out) {
		id, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		list = append(list, pageCommit{id, subject})
	}
	return list
}
